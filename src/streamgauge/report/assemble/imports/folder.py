"""The run folder of a run that another tool measured: run.json, result.json, tables, logs, and the file itself."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.arrow import arrow_schema
from streamgauge.domain.clock import NS_PER_SECOND, local_stamp, utc_text
from streamgauge.domain.folder.facts import BrokerFacts, Phase, RunFacts, RunFolder
from streamgauge.domain.tables.latency import CDF, METRICS, PERCENTILE_CURVE
from streamgauge.domain.tables.pressure import LAG_SAMPLES
from streamgauge.domain.tables.schema import Schema
from streamgauge.domain.text.secrets import masked
from streamgauge.foreign.results.formats.hlog import LEGEND
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import IntervalLog, Measured, MeasuredLatency
from streamgauge.report.assemble.imports.imported import cdf_of, imported_result, points_at
from streamgauge.report.assemble.result import keep_result
from streamgauge.report.files import whole
from streamgauge.result import Result
from streamgauge.scenario.profile.model import Profile

_UNIT_WORDS: Final = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds"}
_HALVINGS: Final = 24
"""A curve ends where the remaining share was halved so many times."""
_PER_HALVING: Final = 10
_MONOTONIC_NS: Final = NS_PER_SECOND
"""When the measurement began on its own clock; any time would do."""


def run_id(run: Measured, now_ns: int) -> str:
    """The name of the folder of an imported run: when it was measured, or imported, and what it is called."""
    return f"{local_stamp(_wall_ns(run, now_ns))}-{_safe(run.name)}"


def _safe(name: str) -> str:
    """A name that every file system takes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "imported"


def _wall_ns(run: Measured, now_ns: int) -> int:
    return now_ns if run.started_s is None else round(run.started_s * NS_PER_SECOND)


def write_imported(
    folder: RunFolder, run: Measured, files: Sequence[ForeignFile], command: Sequence[str], now_ns: int, version: str
) -> Result:
    """Write the run folder of an imported run, without its report; raises AnalysisError where it cannot be written."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.content)
        kept = folder.root / "imported" / _safe(Path(file.name).name)
        with whole(kept) as unfinished:
            unfinished.write_bytes(file.content)
    facts = _facts(folder.root.name, run, command, now_ns, digest.digest(), version)
    with whole(folder.facts) as unfinished:
        unfinished.write_text(facts.model_dump_json(indent=2, exclude={"cells"}) + "\n", encoding="utf-8")
    result = imported_result(facts, run, ", ".join(file.name for file in files), digest.hexdigest())
    for schema, rows in ((PERCENTILE_CURVE, _curves(run)), (CDF, _cdf(run)), (LAG_SAMPLES, _lag(run))):
        _write_table(folder, schema, list(rows))
    for each in run.latencies:
        if each.log:
            _write_log(folder, each, each.log)
    keep_result(folder, result)
    return result


def _facts(
    name: str, run: Measured, command: Sequence[str], now_ns: int, digest: bytes, version: str
) -> RunFacts:  # fmt: skip
    measured = round((run.seconds or 0) * NS_PER_SECOND)
    wall_ns = _wall_ns(run, now_ns)
    begin = _MONOTONIC_NS
    profile = Profile(
        load=None, consume=None, pipeline=None, backpressure=None, connections=(), lag_every_ns=None, fault_count=0,
        partitions=run.scenario.get("topic", {}).get("partitions"), start_at=None, verify_every=None, expect={},
    )  # fmt: skip
    return RunFacts(
        id=name,
        name=run.name,
        tag=int.from_bytes(digest[:4], "big"),
        imported=run.tool,
        created=utc_text(wall_ns),
        wall_ns=wall_ns,
        monotonic_ns=begin,
        command=list(command),
        scenario=_known(
            {"name": run.name, **run.scenario, "imported": {"tool": run.tool, **masked(_scalars(run.settings))}}
        ),
        profile=profile.model_dump(mode="json"),
        versions={"streamgauge": version, **run.versions},
        machine=dict(run.machine),
        broker=BrokerFacts(embedded=False, bootstrap=run.broker or ""),
        topics=[],
        groups=[],
        phases=[Phase(name="measure", from_ns=begin, to_ns=begin + measured)] if measured else [],
        ending="finished",
    )


def _scalars(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by which runs can differ; names in a cluster are none."""
    plain = {key: value for key, value in settings.items() if isinstance(value, str | int | float | bool)}
    return {key: value for key, value in plain.items() if key not in {"topic", "group"}}


def _known(part: dict[str, Any]) -> dict[str, Any]:
    """A part of a scenario without what is not known."""
    found = {key: _known(value) if isinstance(value, dict) else value for key, value in part.items()}
    return {key: value for key, value in found.items() if value not in (None, {})}


def _write_table(folder: RunFolder, schema: Schema, rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        return
    filled = [dict.fromkeys(schema.names) | row for row in rows]
    with whole(folder.table(schema.name)) as unfinished:
        pq.write_table(pa.Table.from_pylist(filled, arrow_schema(schema)), unfinished, compression="zstd")


def _placed(run: Measured) -> Iterator[tuple[str, MeasuredLatency]]:
    return ((each.metric, each) for each in run.latencies if each.metric in METRICS)  # type: ignore[misc]


def _curves(run: Measured) -> Iterator[dict[str, Any]]:
    """A curve of all values, or the percentiles that the tool gives."""
    for metric, each in _placed(run):
        points = points_at(each, list(_percents(each.count or 0))) if each.spread else each.points
        for point in points:
            yield {"metric": metric, "percent": point.percent, "value_ms": point.ms, "hi_ms": point.high_ms,
                   "censored": point.high_ms is None}  # fmt: skip


def _percents(count: int) -> Iterator[float]:
    """Ten points each time that the remaining share halves, while there is a value left, and the end."""
    for halving in range(_HALVINGS):
        left = 100 / 2**halving
        if count * left < 100:
            break
        yield from (100 - left + left / 2 * step / _PER_HALVING for step in range(_PER_HALVING))
    yield 100.0


def _cdf(run: Measured) -> Iterator[dict[str, Any]]:
    for metric, each in _placed(run):
        yield from ({"metric": metric, "le_ms": edge, "share": share} for edge, share in cdf_of(each))


def _lag(run: Measured) -> Iterator[dict[str, Any]]:
    for at, total in run.lag.samples if run.lag else ():
        yield {"second": at, "scope": "group", "group": 0, "committed_lag": total}


def _write_log(folder: RunFolder, latency: MeasuredLatency, log: IntervalLog) -> None:
    """The histograms as they were in the file: nothing is recorded again."""
    with whole(folder.hlog / f"{latency.metric or _safe(latency.name)}.hlog") as unfinished:
        unfinished.write_text("\n".join(log_lines(latency.name, log)) + "\n", encoding="utf-8")


def log_lines(name: str, log: IntervalLog) -> Iterator[str]:
    """An interval log with legend and times; reading it gives the same log again."""
    yield f"#[Imported: {_safe(name)}]"
    yield "#[Histogram log format version 1.3]"
    yield f"#[Values in {_UNIT_WORDS[log.unit]}]"
    if log.base_s:
        yield f"#[StartTime: {log.base_s:.3f} (seconds since epoch), {utc_text(round(log.base_s * NS_PER_SECOND))}]"
        yield f"#[BaseTime: {log.base_s:.3f} (seconds since epoch)]"
    yield LEGEND
    for each in log.intervals:
        tag = "" if each.tag is None else f"Tag={each.tag},"
        largest = int(each.spread.high[-1]) if each.spread.total else 0
        yield f"{tag}{each.start_s:.3f},{each.length_s:.3f},{largest},{each.encoded}"
