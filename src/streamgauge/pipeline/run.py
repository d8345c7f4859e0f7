"""From a run folder to its tables: the only place of the pipeline that reads and writes files."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streamgauge.arrow import arrow_schema
from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFacts, RunFolder, parse_facts
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.domain.text.address import is_this_machine
from streamgauge.pipeline.pressure.lag import GROUP
from streamgauge.pipeline.read.bronze import Bronze, look
from streamgauge.pipeline.read.traits import span_of, traits_of
from streamgauge.pipeline.spark.session import SESSIONS, WornOutError, first_line
from streamgauge.pipeline.spark.settings import Sizing, sizing
from streamgauge.pipeline.steps.plan import STEPS
from streamgauge.pipeline.steps.step import Inputs, Tables, carry_out, keeping
from streamgauge.pipeline.writing import write_tables
from streamgauge.processes.patience import Progress
from streamgauge.verdict import checks

_MANY = {"latency_buckets", "percentiles", "heat", "lag_heat", "client", "topics", "workers", "outstanding", "verdict"}
JUDGED_BY_ROWS = tuple(name for name in TABLES if name not in _MANY)
"""Tables that the verdict looks at; buckets may be millions, and their percentiles stand in `latency`."""


def analyse(folder: RunFolder, *, master: str | None = None, progress: Progress = lambda _: None) -> None:
    """Answer from the rows of a run folder: read run.json and events, write every table of `domain.tables.schemas`.

    A run that was interrupted or failed is answered too; parts that cannot be read are set aside with the reason.
    `master` names a Spark cluster; without it Spark runs in this machine. Raises AnalysisError when there is no answer.
    """
    facts = _facts(folder)
    bronze = look(folder)
    rows = sum(bronze.rows(kind) for kind in ("sent", "received", "polls", "appended"))
    progress(f"analysing {rows:,} rows with Spark")
    size = sizing(rows, os.cpu_count() or 1)
    try:
        found = _with_spark(folder, facts, bronze, size, master)
    except WornOutError as error:
        progress(f"{error}; analysing once more in a new session")
        found = _with_spark(folder, facts, bronze, size, master)
    progress("writing tables")
    written = {name: _arrow(name, rows) for name, rows in found.items()}
    judged = checks(facts, {name: _judged(name, written[name]) for name in JUDGED_BY_ROWS})
    written["verdict"] = _arrow("verdict", [asdict(check) for check in judged])
    write_tables(folder, written)


def _judged(name: str, table: pa.Table) -> list[dict[str, Any]]:
    """The rows that the verdict looks at; of lag those of whole groups, without every partition."""
    looked_at = table.filter(pc.equal(table.column("scope"), GROUP)) if name == "lag" else table
    return list(looked_at.to_pylist())


def _facts(folder: RunFolder) -> RunFacts:
    try:
        return parse_facts(folder.facts.read_bytes())
    except OSError as error:
        raise AnalysisError(f"{folder.facts} cannot be read: {error.strerror}; is {folder.root} a run?") from error
    except ValueError as error:
        raise AnalysisError(f"{folder.facts}: {error}") from error


def _with_spark(folder: RunFolder, facts: RunFacts, bronze: Bronze, size: Sizing, master: str | None) -> Tables:
    """All tables but the verdict. A part whose pages are damaged shows only here, and is then set aside."""
    log = folder.logs / "spark.log"
    gc_logs = {process: _lines(folder.gc_log(process)) for process in facts.broker.processes}
    with SESSIONS.session(size, master, log) as spark:
        try:
            return _answers(spark, facts, bronze, gc_logs, size)
        except (PySparkException, Py4JError) as error:
            if SESSIONS.has_ended():
                # `session` tells of it.
                raise
            readable = look(folder, thoroughly=True)
            if readable.parts == bronze.parts:
                raise AnalysisError(f"Spark failed: {first_line(error)}; its log is {log}") from error
        try:
            return _answers(spark, facts, readable, gc_logs, size)
        except (PySparkException, Py4JError) as error:
            raise AnalysisError(f"Spark failed: {first_line(error)}; its log is {log}") from error


def _answers(
    spark: SparkSession, facts: RunFacts, bronze: Bronze, gc_logs: Mapping[str, Sequence[str]], size: Sizing
) -> Tables:
    with keeping(small=size.is_small, local=is_this_machine(spark.sparkContext.master)) as keep:
        span = span_of(facts, bronze)
        inputs = Inputs(spark, facts, bronze, traits_of(facts, bronze), span, gc_logs, keep, size.is_small)
        return carry_out(STEPS, inputs, size.threads, spark.sparkContext.cancelAllJobs)


def _lines(path: Path) -> list[str]:
    """The lines of a log; none where there is no log."""
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []


def _arrow(name: str, rows: pa.Table | list[dict[str, Any]]) -> pa.Table:
    """A table in the schema that `domain.tables.schemas` gives it."""
    schema = arrow_schema(TABLES[name])
    if isinstance(rows, list):
        return pa.Table.from_pylist(rows, schema=schema)
    return rows.select(schema.names).cast(schema)
