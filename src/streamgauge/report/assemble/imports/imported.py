"""result.json of a run that another tool measured: what its file says, and null with a reason for the rest."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamgauge.domain.clock import NS_PER_SECOND, utc_text
from streamgauge.domain.folder.facts import RunFacts
from streamgauge.domain.latency.percentiles import CDF_EDGES_MS, PERCENTILES, SAMPLES_NEEDED, too_few
from streamgauge.domain.text.secrets import masked
from streamgauge.foreign.results.measured import MS_PER, Measured, MeasuredLatency, PercentPoint
from streamgauge.report.assemble.nulls import made, with_reasons
from streamgauge.result import FORMAT, Result
from streamgauge.result.model.delivery import DeliveryCounts, DeliverySection
from streamgauge.result.model.latency import LatencyFigures
from streamgauge.result.model.run import RunSection
from streamgauge.result.model.throughput import ThroughputSection

NOT_THERE: Final = "the imported file does not say it"
_GRID: Final = (50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.99, 99.999)
"""Percentiles that stand for a histogram where points do."""
_TIMELINE: Final = (
    "sent_per_second", "acked_per_second", "received_per_second", "processed_per_second", "outstanding", "errors",
)  # fmt: skip
_COUNTS: Final = ("outstanding", "errors")
_RATES: Final = tuple(name for name in ThroughputSection.model_fields if name not in {"measured_seconds", "reasons"})


def imported_result(facts: RunFacts, run: Measured, source: str, sha256: str) -> Result:
    """The result of an imported run."""
    placed = {each.path: each for each in run.latencies if each.path}
    document: dict[str, Any] = {
        "format": FORMAT,
        "run": RunSection.model_validate(facts.model_dump(mode="json", exclude={"format", "cells"})),
        "verdict": {"valid": None, "checks": []},
        "expectations": [],
        "imported": _imported(run, source, sha256),
        "throughput": with_reasons(
            {"measured_seconds": run.seconds, **{name: run.throughput.get(name) for name in _RATES}}, _why
        ),
        "latency": {
            **{path: {kind: _at(placed, path, kind) for kind in ("response", "service")}
               for path in ("ack", "end_to_end", "processing")},
            "poll": _figures(found) if (found := placed.get("latency.poll")) else None,
            "batch": _figures(found) if (found := placed.get("latency.batch")) else None,
        },
        "schedule_delay": None,
        "delivery": _delivery(run),
        "lag": _lag(run),
        "resources": {"processes": [], "host": None, "garbage_collection": None, "polls": []},
        "timeline": list(_timeline(run)),
    }  # fmt: skip
    nulls = [name for name in ("schedule_delay", "lag") if document[name] is None]
    return Result.model_validate(document | {"reasons": dict.fromkeys(nulls, NOT_THERE)})


def _why(_key: str) -> str:
    return NOT_THERE


def _imported(run: Measured, source: str, sha256: str) -> dict[str, Any]:
    return {
        "tool": run.tool,
        "format": run.form,
        "source": source,
        "sha256": sha256,
        "started": None if run.started_s is None else utc_text(round(run.started_s * NS_PER_SECOND)),
        "interval_s": run.interval_s,
        "latencies": [_imported_latency(each) for each in run.latencies],
        "defects": [
            {"figure": e.figure, "defect": e.defect, "action": e.action, "written": e.written, "value": e.value}
            for e in run.defects
        ],
        "notes": list(run.notes),
        "settings": masked(dict(run.settings)),
        "figures": dict(run.figures),
    }


def _imported_latency(latency: MeasuredLatency) -> dict[str, Any]:
    return {
        "name": latency.name,
        "place": latency.path,
        "kind": latency.kind,
        "unit": latency.unit,
        "resolution": latency.resolution,
        "count": latency.count,
        "mean_ms": latency.mean_ms,
        "max_ms": latency.max_ms,
        "exact": latency.spread is not None,
        "points": [{"percent": e.percent, "low_ms": e.low_ms, "high_ms": e.high_ms} for e in points_of(latency)],
    }


def points_of(latency: MeasuredLatency) -> Sequence[PercentPoint]:
    """The percentiles of a latency: the tool's own, or of all values those that are usually asked for."""
    return points_at(latency, _GRID) if latency.spread is not None else latency.points


def points_at(latency: MeasuredLatency, percents: Sequence[float]) -> list[PercentPoint]:
    """These percentiles of all values; none where there are no values."""
    factor, found = MS_PER[latency.unit], []
    for percent in percents if latency.spread is not None and latency.spread.total else ():
        low, high = (each * factor for each in latency.spread.at(percent))  # type: ignore[union-attr]
        found.append(PercentPoint(percent, high, low, high))
    return found


def _at(placed: Mapping[str, MeasuredLatency], path: str, kind: str) -> LatencyFigures | None:
    found = placed.get(f"latency.{path}.{kind}")
    return _figures(found) if found else None


def _figures(latency: MeasuredLatency) -> LatencyFigures:
    """A latency in the places of ours: a percentile that the file does not have is null."""
    out: dict[str, Any] = {
        "count": latency.count,
        "censored": None,
        "selected_by": None,
        "min_ms": latency.min_ms,
        "mean_ms": latency.mean_ms,
        "stddev_ms": latency.stddev_ms,
        "variance_ms2": None if latency.stddev_ms is None else latency.stddev_ms**2,
        "mad_ms": latency.mad_ms,
    }
    own = {each.percent: each for each in latency.points}
    few: dict[str, str] = {}
    for name, rank in PERCENTILES.items():
        needed = SAMPLES_NEEDED.get(name, 1)
        point = own.get(rank / 100) or next(iter(points_at(latency, [rank / 100])), None)
        if latency.spread is not None and latency.spread.total < needed:
            few[f"{name}_ms"], point = too_few(needed, latency.spread.total), None
        out[f"{name}_ms"] = None if point is None else point.ms
        if point is not None and point.high_ms is None:
            # As with messages that never arrived: it is this, or more without bound.
            out[f"{name}_hi_ms"] = None
            few[f"{name}_hi_ms"] = "the tool recorded longer latencies as this one"
    out |= {"max_ms": latency.max_ms, "cdf": [{"le_ms": edge, "share": share} for edge, share in cdf_of(latency)]}
    return made(LatencyFigures, out, lambda key: few.get(key, NOT_THERE))


def cdf_of(latency: MeasuredLatency) -> Iterator[tuple[float, float]]:
    """Shares of values within edges in ms: those of the file, or of a histogram; nothing of points alone."""
    if latency.spread is None:
        yield from latency.cdf
        return
    spread, factor = latency.spread, MS_PER[latency.unit]
    for edge in CDF_EDGES_MS:
        yield edge, float(spread.count[spread.high * factor <= edge].sum() / spread.total)


def _delivery(run: Measured) -> DeliverySection:
    names = [name for name in DeliveryCounts.model_fields if name != "reasons"]
    required = [name for name in names if DeliveryCounts.model_fields[name].is_required()]
    counts = with_reasons({name: run.delivery.get(name) for name in required}, _why)
    return DeliverySection.model_validate({**counts, "measure": counts, "groups": []})


def _lag(run: Measured) -> dict[str, Any] | None:
    if run.lag is None or not run.lag.samples:
        return None
    samples = run.lag.samples
    most_at, most = max(samples, key=lambda each: each[1])
    totals = [total for _, total in samples]
    out: dict[str, Any] = {
        "committed": {"max": most, "max_second": most_at, "final": totals[-1], "mean": sum(totals) / len(totals)},
        "samples": len(samples),
        "groups": [],
        **dict.fromkeys(("position", "outstanding", "time_lag", "every_ms", "failed", "failed_share", "cpu_cores")),
    }
    return with_reasons(out, _why)


def _timeline(run: Measured) -> Iterator[dict[str, Any]]:
    """Every second has the values of its interval; counts are those of its first second only."""
    seconds: dict[int, dict[str, float]] = {}
    for span in run.spans:
        first = int(span.from_s + 1e-3)
        for second in range(first, max(first + 1, round(span.to_s))):
            kept = {key: value for key, value in span.values.items() if second == first or key != "errors"}
            seconds[second] = seconds.get(second, {}) | kept
    for at, total in run.lag.samples if run.lag else ():
        seconds.setdefault(int(at // 1), {})["committed_lag"] = total
    for second, values in sorted(seconds.items()):
        row: dict[str, Any] = {"second": second, **{name: values.get(name) for name in _TIMELINE}}
        row |= {name: int(row[name]) for name in _COUNTS if row[name] is not None}
        if "committed_lag" in values:
            row["committed_lag"] = int(values["committed_lag"])
        for path in ("ack", "end_to_end"):
            row[path] = {kind: _second(values, f"{path}.{kind}") for kind in ("response", "service")}
        yield row


def _second(values: Mapping[str, float], key: str) -> dict[str, float | None] | None:
    found = {f"{name}_ms": values.get(f"{key}.{name}_ms") for name in ("p50", "p99", "max")}
    return found if any(each is not None for each in found.values()) else None
