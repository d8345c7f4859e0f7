"""Questions in SQL about runs and experiments: which folders are meant, and what Spark answers."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.shown import one_line
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.processes.scratch import scratch_faults
from streamgauge.runs.experiment.folder import many_of
from streamgauge.runs.request.options import checked_java

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Questioned:
    """The folders that a question is about."""

    runs: tuple[RunFolder, ...]
    experiments: tuple[ExperimentFolder, ...]
    """Experiments and searches."""


def questioned(paths: Sequence[Path]) -> Questioned:
    """Runs, those of experiments and searches, and those of folders; raises BadInput with all that are neither."""
    runs: dict[Path, RunFolder] = {}
    experiments: list[ExperimentFolder] = []
    faults: list[Fault] = []
    if not paths:
        faults.append(Fault("RUN", "there is none", "Name a run folder"))
    for path in dict.fromkeys(paths):
        found = [RunFolder(path)] if RunFolder(path).facts.exists() else []
        if many := many_of(path):
            experiments.append(many)
            found = _runs_in(many.runs)
        elif not found:
            found = _runs_in(path)
        if not found:
            faults.append(Fault(f"RUN {one_line(str(path))}", "there is no run in it", "Name a run folder"))
        runs |= {each.root.absolute(): each for each in found}
    if faults:
        raise BadInput(faults)
    return Questioned(tuple(runs.values()), tuple(experiments))


def _runs_in(path: Path) -> list[RunFolder]:
    try:
        return [RunFolder(each) for each in sorted(path.iterdir()) if RunFolder(each).facts.exists()]
    except OSError:
        return []


def sql(paths: str | Path | Sequence[str | Path], query: str) -> "pa.Table":
    """Answer a query in Spark SQL about runs and experiments, as an Arrow table; the same as `streamgauge sql`.

    `paths` are folders of runs, experiments or searches, or folders with runs in them. Tables and recorded rows are
    views. An active Spark session of the caller is used, and keeps the views that it has. The answer is in memory.

    Raises BadInput for a folder without runs, and for a query that cannot be understood; AnalysisError where it cannot
    be answered.
    """
    given = [paths] if isinstance(paths, str | Path) else paths
    return answer_sql(questioned([Path(each) for each in given]), query)


def answer_sql(asked: Questioned, query: str) -> "pa.Table":
    """What Spark answers to a query over the views of these folders.

    Raises BadInput for a query that cannot be understood, AnalysisError where it cannot be answered.
    """
    # Spark is heavy, and no other command needs it.
    from streamgauge.pipeline.many.views import answer, known_views, labelled, make_views, named_in, views_kept

    names = named_in(query) or list(known_views())
    runs = list(labelled(asked.runs))
    with _session(asked, names) as spark, views_kept(spark, names):
        make_views(spark, runs, [each.tables for each in asked.experiments], names)
        return answer(spark, query)


@contextmanager
def _session(asked: Questioned, names: Sequence[str]) -> "Iterator[SparkSession]":
    """A session for as many rows as there are recorded ones in the views."""
    from streamgauge.pipeline.many.views import EVENTS_OF
    from streamgauge.pipeline.read.bronze import look
    from streamgauge.pipeline.spark.session import SESSIONS
    from streamgauge.pipeline.spark.settings import sizing

    checked_java()
    if faults := scratch_faults():
        raise BadInput(faults)
    kinds = [name.removeprefix(EVENTS_OF) for name in names if name.startswith(EVENTS_OF)]
    rows = sum(found.rows(kind) for found in map(look, asked.runs) for kind in kinds) if kinds else 0
    size = sizing(rows, os.cpu_count() or 1)
    with (
        tempfile.TemporaryDirectory(prefix="streamgauge-sql-") as place,
        SESSIONS.session(size, None, Path(place) / "spark.log") as spark,
    ):
        yield spark
