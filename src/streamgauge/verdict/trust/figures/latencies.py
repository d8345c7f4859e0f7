"""Latencies and stages of a pipeline, with intervals from bounds of each message (the table `bounds`)."""

from collections.abc import Iterator, Sequence
from typing import Final

from streamgauge.domain.latency.percentiles import PERCENTILES
from streamgauge.domain.text.numbers import milliseconds
from streamgauge.result.model.latency import LatencyFigures, LatencySection, ScheduleDelay
from streamgauge.result.model.pipeline import PipelineSection, PipelineStage
from streamgauge.result.model.throughput import StepResult
from streamgauge.result.model.trust import FigureTrust
from streamgauge.verdict import during
from streamgauge.verdict.checks.record import RECORD_TIME_MS
from streamgauge.verdict.evidence import Evidence, Row
from streamgauge.verdict.trust import limits
from streamgauge.verdict.trust.calibrated import floor, told
from streamgauge.verdict.trust.figures.interval import ANALYSED_BEFORE, StepFigure, disbelieved, exact
from streamgauge.verdict.trust.starvation import explained, of_workers

LATENCY_FIGURES: Final = (*PERCENTILES, "mean", "min", "max")
STAGES: Final = "pipeline.stages."
_STAGE_FIGURES: Final = ("mean", "min", "p50", "p90", "p99", "max")
_OWN: Final = ("poll", "poll_per_record", "batch", "flush_wait", "throttle", "own_schedule_delay")
"""Durations of what the load itself does: how long they took is not in doubt, only why."""
_PATHS: Final = ("ack", "end_to_end", "processing")
_KINDS: Final = ("response", "service")
_SINCE_RECORD_TIME: Final = "since_record_time"
_VARIANCE: Final = "variance_ms2"
_NO_BOUND: Final = "for some messages it is not known how much the instrument added"


def _metrics(latency: LatencySection) -> Iterator[tuple[str, str]]:
    """Paths of the latencies that a run has, and their metrics."""
    for path in _PATHS:
        for kind in _KINDS:
            if getattr(getattr(latency, path), kind) is not None:
                yield f"latency.{path}.{kind}", f"{path}_{kind}"
    if latency.since_record_time is not None:
        yield f"latency.{_SINCE_RECORD_TIME}", _SINCE_RECORD_TIME


def _at(latency: LatencySection, path: str) -> LatencyFigures:
    found: LatencyFigures | LatencySection = latency
    for name in path.split(".")[1:]:
        found = getattr(found, name)
    assert isinstance(found, LatencyFigures)
    return found


def _is_known(run: Evidence, metric: str) -> bool:
    return bool((_bounds_of(run, metric) or {}).get("known"))


def _bounds_of(run: Evidence, metric: str, second: int | None = None) -> Row | None:
    """The ends of a metric in the measure phase, or in the step of the load that begins at a second."""
    return run.one("bounds", metric=metric, second=second)


def bounded(run: Evidence, latency: LatencySection, pipeline: PipelineSection | None) -> Iterator[str]:
    """How the paths begin of figures whose bounds hold what late sends and polls did."""
    yield from (f"{path}." for path, metric in _metrics(latency) if _is_known(run, metric))
    yield from (f"latency.{name}." for name in _OWN)
    yield from (f"{STAGES}{place}." for place, stage in _known_stages(pipeline) if _is_known(run, stage.stage))


def latencies(run: Evidence, latency: LatencySection) -> Iterator[tuple[str, FigureTrust]]:
    """Latencies of messages by their paths."""
    for path, metric in _metrics(latency):
        shown, bounds = _at(latency, path), _bounds_of(run, metric)
        if bounds is None or not bounds["known"]:
            yield from ((name, disbelieved(exact(value), [_no_bound(run)])) for name, value in _values(path, shown))
            continue
        yield from _bounded(run, path, shown, bounds, _punctual(run, latency, path) or shown)


def of_steps(run: Evidence, steps: Sequence[StepResult], path: str) -> Iterator[StepFigure]:
    """Latencies of steps, which are those of a `path` like `end_to_end`; none where no step has bounds of its own."""
    for place, step in enumerate(steps):
        for kind in _KINDS:
            shown: LatencyFigures | None = getattr(step, kind)
            bounds = _bounds_of(run, f"{path}_{kind}", step.from_second)
            if shown is None or bounds is None:
                continue
            own, of_run = f"steps.{place}.{kind}", f"latency.{path}.{kind}"
            found = (
                _bounded(run, own, shown, bounds, _sent_when_due(run, kind, step.response) or shown)
                if bounds["known"]
                else ((name, disbelieved(exact(value), [_NO_BOUND])) for name, value in _values(own, shown))
            )
            yield from (StepFigure(name, of_run + name.removeprefix(own), step, figure) for name, figure in found)


def _values(path: str, shown: LatencyFigures) -> Iterator[tuple[str, float]]:
    """All figures of a latency by their paths."""
    names = (*(f"{name}_ms" for name in (*LATENCY_FIGURES, "stddev", "mad")), _VARIANCE)
    yield from ((f"{path}.{name}", value) for name in names if (value := getattr(shown, name)) is not None)
    for name, value in shown.delivered or ():
        if value is not None:
            yield f"{path}.delivered.{name}", value


def _no_bound(run: Evidence) -> str:
    return _NO_BOUND if "bounds" in run.tables else ANALYSED_BEFORE


def _punctual(run: Evidence, latency: LatencySection, path: str) -> LatencyFigures | None:
    """What a service time would be at most, had each message been sent when it was due: the response time.

    None for others, without a schedule, and where messages waited for the system or a policy before they were sent.
    """
    _, name, *kind = path.split(".")
    return _sent_when_due(run, kind[0], getattr(latency, name).response) if kind else None


def _sent_when_due(run: Evidence, kind: str, response: LatencyFigures | None) -> LatencyFigures | None:
    return response if kind == "service" and not run.makes_messages_wait else None


def _bounded(
    run: Evidence, path: str, shown: LatencyFigures, bounds: Row, most: LatencyFigures
) -> Iterator[tuple[str, FigureTrust]]:
    sampled = _sampled_of(run, bounds)
    for name in LATENCY_FIGURES:
        value, low = shown.ms(name), bounds[f"{name}_ms"]
        if value is None:
            continue
        if low is None:
            yield f"{path}.{name}_ms", disbelieved(exact(value), [_no_bound(run)])
            continue
        figure = _calibrated(run, bounds["metric"], value, low, most.ms(name) or value)
        yield f"{path}.{name}_ms", figure.model_copy(update=sampled.get(name, {}))
    yield from _delivered(run, path, shown, bounds, most)
    since_due = bounds["metric"].replace("service", "response")
    punctual = bounds if most is shown else _bounds_of(run, since_due, bounds.get("second"))
    for name in ("stddev", "mad"):
        if (value := shown.ms(name)) is None:
            continue
        ends = [row[f"{name}_{end}_ms"] for row in (bounds, punctual or bounds) for end in ("low", "high")]
        figure = _of_latency(run, value, min(ends), max(ends))
        yield f"{path}.{name}_ms", figure
        if name == "stddev" and shown.variance_ms2 is not None:
            squared = {end: found**2 for end in ("low", "high") if (found := getattr(figure, end)) is not None}
            yield f"{path}.{_VARIANCE}", figure.model_copy(update={**squared, "value": shown.variance_ms2})


def _delivered(
    run: Evidence, path: str, shown: LatencyFigures, bounds: Row, most: LatencyFigures
) -> Iterator[tuple[str, FigureTrust]]:
    """Percentiles of delivered messages only."""
    sampled = _sampled_of(run, bounds)
    for name, value in shown.delivered or ():
        if value is None:
            continue
        low, high = bounds.get(f"delivered_{name}"), getattr(most.delivered, name, None) or value
        if low is None:
            yield f"{path}.delivered.{name}", disbelieved(exact(value), [_no_bound(run)])
            continue
        ends = sampled.get(f"delivered_{name.removesuffix('_ms')}", {})
        figure = _calibrated(run, bounds["metric"], value, low, high)
        yield f"{path}.delivered.{name}", figure.model_copy(update=ends)


def _sampled_of(run: Evidence, bounds: Row) -> dict[str, dict[str, float | None]]:
    """The same of what some bounds are of: for a step of the load nobody draws samples."""
    return _sampled(run, bounds["metric"]) if bounds.get("second") is None else {}


def _sampled(run: Evidence, metric: str) -> dict[str, dict[str, float | None]]:
    """The ends by chance of each percentile of a metric."""
    return {
        row["percentile"]: {"sample_low": row["low_ms"], "sample_high": row["high_ms"]}
        for row in run.matching("sampling", metric=metric)
    }


def _calibrated(run: Evidence, metric: str, value: float, low: float, high: float) -> FigureTrust:
    """A latency with an interval that is at least as wide as the instrument was wrong when it was calibrated.

    What is no latency below zero without it is none with it.
    """
    stamped_ms = RECORD_TIME_MS if metric == _SINCE_RECORD_TIME else 0.0
    plain = _of_latency(run, value, low, high, stamped_ms)
    calibration = run.facts.calibration
    found = floor(calibration, _dotted(metric), value)
    wide = found.widened(value, low, high)
    if calibration is None or wide == (low, high):
        return plain
    figure = _of_latency(run, value, *wide, stamped_ms)
    if figure.trust == "believed":
        return figure
    # What the run itself did explains only what would have been wide without the calibration.
    because = [_off(value, *wide), *plain.because[1:]] if found.below_ms else plain.because
    because = [*because, told(calibration, found)]
    return figure.model_copy(update={"because": because})


def _dotted(metric: str) -> str:
    """A metric as the path of its latency: `end_to_end_response` is `end_to_end.response`."""
    path, _, kind = metric.rpartition("_")
    return f"{path}.{kind}" if kind in _KINDS else metric


def _of_latency(run: Evidence, value: float, low: float, high: float, stamped_ms: float = 0.0) -> FigureTrust:
    """A latency; `stamped_ms` is by how much its begin is rounded down."""
    trust = limits.of_stamped(value, low, high, stamped_ms)
    because = [] if trust == "believed" else _why_wide(run, _off(value, low, high))
    return FigureTrust(value=value, low=min(low, value), high=max(high, value), trust=trust, because=because)


def _off(value: float, low: float, high: float) -> str:
    more = f", or up to {milliseconds(high - value)} more" if high > value else ""
    return f"without the instrument it may have been up to {milliseconds(max(0.0, value - low))} less{more}"


def _why_wide(run: Evidence, off: str) -> list[str]:
    """What made an interval wide, as far as that is known of the whole run; `off` says how wide."""
    late = (run.schedule_delay or {}).get("p99_ms") if run.has_schedule else None
    found = [off]
    if late is not None:
        found.append(f"schedule delay p99 {milliseconds(late)}")
    gaps = [row for row in run.matching("resources", scope="interval") if row.get("poll_gap_ms")]
    if gaps:
        longest = max(gaps, key=lambda row: float(row["poll_gap_ms"]))
        within = during.of_stretches(run, [(longest["second"] - 1, longest["second"])])
        found.append(
            f"longest gap between polls {milliseconds(longest['poll_gap_ms'])}{f', {within}' if within else ''}"
        )
    waited = of_workers(run)
    if waited.share >= limits.TOLD_SHARE:
        found.append(explained(waited))
    return found


def own(latency: LatencySection, schedule_delay: ScheduleDelay | None) -> Iterator[tuple[str, FigureTrust]]:
    """Durations of the load's own calls, and its schedule delay, by their paths."""
    for name in _OWN:
        shown: LatencyFigures | None = getattr(latency, name)
        if shown is not None:
            yield from ((path, exact(value)) for path, value in _values(f"latency.{name}", shown))
    for each in ("p50", "p99", "p99_9", "max"):
        if schedule_delay is not None and (value := getattr(schedule_delay, f"{each}_ms")) is not None:
            yield f"schedule_delay.{each}_ms", exact(value)


def _known_stages(pipeline: PipelineSection | None) -> Iterator[tuple[int, PipelineStage]]:
    """The stages that have figures, with their places in the result."""
    stages = pipeline.stages if pipeline else ()
    return ((place, stage) for place, stage in enumerate(stages) if stage.p50_ms is not None)


def stages(run: Evidence, pipeline: PipelineSection | None) -> Iterator[tuple[str, FigureTrust]]:
    """Both ends of a stage are rounded, and may have been passed earlier: it may have been shorter, or longer."""
    for place, stage in _known_stages(pipeline):
        bounds, sampled = _bounds_of(run, stage.stage), _sampled(run, stage.stage)
        for name in _STAGE_FIGURES:
            path, value = f"{STAGES}{place}.{name}_ms", getattr(stage, f"{name}_ms")
            if bounds is None or not bounds["known"]:
                yield path, disbelieved(exact(value), [_no_bound(run)])
                continue
            low, high = bounds[f"{name}_ms"], bounds[f"{name}_high_ms"]
            trust = limits.of_latency(value, low, high)
            because = [] if trust == "believed" else ["begin and end of the stage are not known that exactly"]
            found = FigureTrust(value=value, low=min(low, value), high=max(high, value), trust=trust, because=because)
            yield path, found.model_copy(update=sampled.get(name, {}))
