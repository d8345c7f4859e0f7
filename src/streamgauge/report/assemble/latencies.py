"""The latencies of result.json: moments, percentiles as intervals, and why a figure is null."""

from collections.abc import Iterable, Iterator
from typing import Final

from streamgauge.domain.latency.percentiles import INFINITE, NOTHING, PERCENTILES, SAMPLES_NEEDED, too_few
from streamgauge.domain.tables.latency import DELIVERED_PERCENTILES
from streamgauge.report.assemble.nulls import OLDER, Values, made, missing
from streamgauge.result.model.latency import LatencyFigures, LatencySection, RecordAge
from streamgauge.verdict.checks.record import RECORD_TIME_MS
from streamgauge.verdict.evidence import Evidence, Row

_MOMENTS: Final = ("min_ms", "mean_ms", "stddev_ms", "variance_ms2", "mad_ms")

_PATHS: Final = ("ack", "end_to_end", "processing")

KINDS: Final = ("response", "service")

_SINCE_RECORD_TIME: Final = "since_record_time"

_LATER: Final = ("poll_per_record", "batch", "flush_wait", "throttle", "own_schedule_delay", _SINCE_RECORD_TIME)
"""Latencies that few runs have, or that older versions did not tell."""


def latencies(run: Evidence) -> LatencySection:
    """Every latency of the measure phase; null where its table is missing."""
    paths = {path: {kind: _latency_of(run, f"{path}_{kind}") for kind in KINDS} for path in _PATHS}
    singles = {
        "poll": _latency_of(run, "poll"),
        **{name: _only_present(run, name) for name in _LATER},
    }
    found: Values = {**paths, **singles, "topics": list(_of_topics(run))}
    return made(LatencySection, found, lambda name: _why_no_latency(run, name))


def _of_topics(run: Evidence) -> Iterator[Values]:
    """The latencies of each of several topics."""
    names = {topic.id: topic.name for topic in run.facts.topics}
    rows = {(row["topic"], row["metric"]): row for row in run.matching("latency", scope="topic")}
    for topic in dict.fromkeys(topic for topic, _ in rows):
        pairs = {
            path: {kind: latency(row, ()) if (row := rows.get((topic, f"{path}_{kind}"))) else None for kind in KINDS}
            for path in ("ack", "end_to_end")
        }
        yield {"topic": names.get(topic, str(topic)), **pairs}


def _only_present(run: Evidence, metric: str) -> LatencyFigures | None:
    """A latency that few runs have; null where this one has it not."""
    found = None if run.latency(metric).get("reason") else _latency_of(run, metric)
    if found is None or metric != _SINCE_RECORD_TIME:
        return found
    return RecordAge.model_validate(found.model_dump(exclude_unset=True) | _of_record_time(run))


def _of_record_time(run: Evidence) -> Values:
    """Whose clock the time of records was read from, and how far it may be off."""
    row = run.latency(_SINCE_RECORD_TIME)
    error = f"a record's time is exact to {RECORD_TIME_MS:g} ms"
    if not run.facts.broker.embedded:
        error += "; the clock offset between the hosts is not known"
    return {"clock": row["clock"], "negative": row["negative"], "error_ms": RECORD_TIME_MS, "error": error}


def _why_no_latency(run: Evidence, metric: str) -> str:
    if "latency" not in run.tables:
        return missing("latency")
    return str(run.latency(metric).get("reason") or OLDER)


def _latency_of(run: Evidence, metric: str) -> LatencyFigures | None:
    row = run.latency(metric)
    return latency(row, run.matching("cdf", metric=metric)) if row else None


def latency(row: Row, cdf: Iterable[Row]) -> LatencyFigures:
    """One latency: moments of what was delivered, percentiles as intervals where messages never came."""
    out: Values = {name: row[name] for name in ("count", "censored", "selected_by", *_MOMENTS)}
    for name in PERCENTILES:
        out[f"{name}_ms"] = row[f"{name}_ms"]
        if row[f"{name}_censored"]:
            out[f"{name}_hi_ms"] = row[f"{name}_hi_ms"]
    if row["censored"] and row["delivered_p50_ms"] is not None:
        out["delivered"] = {f"{name}_ms": row[f"delivered_{name}_ms"] for name in DELIVERED_PERCENTILES}
    out["max_ms"] = row["max_ms"]
    out["cdf"] = list(cdf)
    return made(LatencyFigures, out, lambda key: _why_no_figure(row, key))


def _why_no_figure(row: Row, key: str) -> str:
    if row["reason"]:
        return str(row["reason"])
    if key.endswith("_hi_ms"):
        return INFINITE
    population = row["count"] + row["censored"]
    needed = SAMPLES_NEEDED.get(key.removesuffix("_ms"), 0)
    if population == 0:
        return NOTHING
    return too_few(needed, population) if population < needed else "no message was delivered"
