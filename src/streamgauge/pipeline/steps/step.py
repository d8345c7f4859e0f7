"""What a step is, and what carries steps out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from streamgauge.domain.folder.facts import RunFacts
from streamgauge.domain.tables.schema import Schema
from streamgauge.pipeline.audit.words import Keep
from streamgauge.pipeline.read.bronze import Bronze
from streamgauge.pipeline.read.gaps import with_gaps
from streamgauge.pipeline.read.rows import Rows
from streamgauge.pipeline.read.silver import Span
from streamgauge.pipeline.read.traits import RunTraits

Tables = dict[str, pa.Table | Rows]

CUT_BYTES: Final = 1 << 28
"""How much of what is held may be written a second time: findings seldom have more, whole runs have."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What every step may read: one run."""

    spark: SparkSession
    facts: RunFacts
    bronze: Bronze
    traits: RunTraits
    span: Span
    gc_logs: Mapping[str, Sequence[str]]
    """The lines of the log of each process that collects garbage."""
    keep: Keep
    is_small: bool
    """Whether the time of the analysis goes into starting up."""

    def frame(self, kind: str) -> DataFrame:
        """The rows of a kind of event."""
        return with_gaps(self.bronze.frame(self.spark, kind), kind, self.bronze)


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a function of the inputs and of what the steps that it needs gave, in that order."""

    name: str
    needs: tuple[str, ...]
    """Names of earlier steps."""
    work: Callable[..., Any]
    tables: tuple[Schema, ...] = ()
    """What it gives: the rows of its one table, those of several by name, or without any a value for later steps."""


def carry_out(steps: Iterable[Step], inputs: Inputs, threads: int, cancel: Callable[[], object]) -> Tables:
    """Every table of the steps.

    When a thread is free the first of them begins that has what it needs. After an error nothing begins any more, and
    `cancel` stops what the others wait for.
    """
    steps = tuple(steps)
    waiting, given = list(steps), dict[str, Any]()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="step")
    begun: dict[Future[Any], str] = {}
    try:
        while waiting or begun:
            ready = [step for step in waiting if given.keys() >= set(step.needs)]
            for step in ready[: threads - len(begun)]:
                waiting.remove(step)
                begun[pool.submit(step.work, inputs, *(given[name] for name in step.needs))] = step.name
            for ended in wait(begun, return_when=FIRST_COMPLETED).done:
                given[begun.pop(ended)] = ended.result()
        return {name: rows for step in steps for name, rows in _tables(step, given[step.name]).items()}
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        cancel()
        raise
    finally:
        pool.shutdown()


def _tables(step: Step, given: Any) -> Tables:
    names = [schema.name for schema in step.tables]
    return {names[0]: given} if len(names) == 1 else {name: given[name] for name in names}


@contextmanager
def keeping(*, small: bool = False, local: bool = False) -> Iterator[Keep]:
    """Works frames out and holds their rows on disk, until the end of the block.

    In a `local` session, of one process, what is asked of a frame begins at its rows: Spark no longer plans, with every
    question, all that led to them, which takes longer than to answer where frames are made of the same frames several
    times. A block that is lost cannot be made again then. Of a `small` run that is done at once. Of another one Spark
    is to know first how many bytes the rows are, by which it plans joins; more than `CUT_BYTES` are not written twice.
    """
    kept: list[Callable[[], object]] = []

    def cut(frame: DataFrame, *, at_once: bool) -> DataFrame:
        held = frame.localCheckpoint(eager=at_once, storageLevel=StorageLevel.DISK_ONLY)
        kept.append(lambda: held._jdf.logicalPlan().rdd().unpersist(False))
        return held

    def keep(frame: DataFrame) -> DataFrame:
        if small and local:
            return cut(frame, at_once=True)
        held = frame.persist(StorageLevel.DISK_ONLY)
        kept.append(held.unpersist)
        # Counting makes Spark hold every row, and know their size.
        held.count()
        return cut(held, at_once=False) if local and _bytes_of(held) <= CUT_BYTES else held

    try:
        yield keep
    finally:
        while kept:
            kept.pop()()


def _bytes_of(frame: DataFrame) -> int:
    """How many bytes Spark takes the rows of a frame for."""
    return int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
