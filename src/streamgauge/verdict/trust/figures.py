"""The figures of a result with their intervals: what each can have been without the instrument, and what is left of it.

Latencies have intervals from bounds of each message (the table `bounds`); counts are exact unless the fate of messages
is unknown; what a failing check of the instrument takes has none.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from streamgauge.domain.latency.percentiles import PERCENTILES
from streamgauge.domain.text.numbers import milliseconds, whole
from streamgauge.result.model.delivery import DeliverySection
from streamgauge.result.model.latency import LatencyFigures, LatencySection, ScheduleDelay
from streamgauge.result.model.pipeline import PipelineSection, PipelineStage
from streamgauge.result.model.pressure import LagFigures, LagSection, RecoveryScore
from streamgauge.result.model.throughput import ThroughputSection
from streamgauge.result.model.trust import FigureTrust
from streamgauge.verdict.check import Check
from streamgauge.verdict.checks.machine import FELL_BEHIND
from streamgauge.verdict.evidence import Evidence, Row
from streamgauge.verdict.trust import limits, unbounded
from streamgauge.verdict.trust.calibrated import floor_ms
from streamgauge.verdict.trust.causes import LIMITED_RATES, SLOWED_LOAD, STARVED_CONSUMERS, Taken, failing

Figures = dict[str, FigureTrust]

RATES: Final = ("sent", "acked", "received", "processed")
LATENCY_FIGURES: Final = (*PERCENTILES, "mean", "min", "max")
STAGES: Final = "pipeline.stages."
_STAGE_FIGURES: Final = ("mean", "min", "p50", "p90", "p99", "max")
_OWN: Final = ("poll", "batch", "flush_wait", "throttle", "own_schedule_delay")
"""Durations of what the load itself does: how long they took is not in doubt, only why."""
_TIMES: Final = ("latency.", STAGES)
_PATHS: Final = ("ack", "end_to_end", "processing")
_KINDS: Final = ("response", "service")
_MAY_BE_UNKNOWN: Final = ("delivered_once", "undelivered", "lost", "expired", "unrecorded")
FEW: Final = 100.0
"""Messages by which a lag may be off without being told so."""
_FOLLOWS: Final = "the rate follows from how fast messages are answered, and so from the instrument, too"
_ANALYSED_BEFORE: Final = "it was analysed by a version that knew no bounds; `streamgauge analyse` finds them"
_NO_BOUND: Final = "it is not known of every message how much the instrument added"


def figures(
    run: Evidence,
    checks: Sequence[Check],
    *,
    throughput: ThroughputSection,
    latency: LatencySection,
    delivery: DeliverySection,
    lag: LagSection | None,
    recovery: Sequence[RecoveryScore],
    pipeline: PipelineSection | None,
    schedule_delay: ScheduleDelay | None,
) -> Figures:
    """Every figure by its path in the result."""
    found = {
        **dict(_rates(run, throughput)),
        **dict(_latencies(run, latency)),
        **dict(_own(latency, schedule_delay)),
        **dict(_stages(run, pipeline)),
        **dict(_counts(run, delivery)),
        **dict(_lags(run, lag)),
        **dict(_recoveries(recovery)),
    }
    bounded = {f"{path}." for path, metric in _metrics(latency) if _is_known(run, metric)}
    bounded |= {f"latency.{name}." for name in _OWN}
    bounded |= {f"{STAGES}{place}." for place, stage in _known_stages(pipeline) if _is_known(run, stage.stage)}
    taken = failing(checks)
    if (share := run.received_share) is not None and share < FELL_BEHIND:
        taken += [(check, STARVED_CONSUMERS) for check, _ in taken if check.name == "worker_cpu"]
    if not run.has_schedule:
        taken += [(check, LIMITED_RATES) for check, _ in taken if check.name == "cpu_quota"]
    taken += [(check, SLOWED_LOAD) for check, _ in taken if check.name in {"worker_cpu", "cpu_quota"}]
    seconds, here = unbounded.of_latency(run), unbounded.of_place(run)
    left = {path: _less(path, figure, taken, seconds, tuple(bounded)) for path, figure in found.items()}
    return {path: _placed(path, figure, here) for path, figure in left.items()}


def _placed(path: str, figure: FigureTrust, here: Sequence[unbounded.Seconds]) -> FigureTrust:
    """A latency that may be this machine's says so."""
    because = [each.because for each in here if path.startswith(_TIMES) and each.takes(path.rsplit(".", 1)[-1])]
    return figure.model_copy(update={"place": "; ".join(because)}) if because else figure


def _less(
    path: str,
    figure: FigureTrust,
    taken: Sequence[tuple[Check, Taken]],
    seconds: Sequence[unbounded.Seconds],
    bounded: tuple[str, ...],
) -> FigureTrust:
    """A figure after what failing checks, and seconds without a bound, take from it."""
    has_bounds = path.startswith(bounded) if bounded else False
    causes = [check.evidence for check, takes in taken if takes.names(path) and not (takes.bounded and has_bounds)]
    if path.startswith(_TIMES):
        causes += [each.because for each in seconds if each.takes(path.rsplit(".", 1)[-1])]
    return _disbelieved(figure, causes) if causes else figure


def _disbelieved(figure: FigureTrust, causes: Sequence[str]) -> FigureTrust:
    """A figure of which nobody knows what it would have been."""
    because = [*figure.because, *causes]
    return figure.model_copy(update={"low": None, "high": None, "trust": "not_believed", "because": because})


def exact(value: float) -> FigureTrust:
    """A figure that the instrument cannot have moved."""
    return FigureTrust(value=value, low=value, high=value, trust="believed", because=[])


def at_least(value: float, because: str) -> FigureTrust:
    """A rate that would have been higher, had the instrument been faster."""
    return FigureTrust(value=value, low=value, high=None, trust="bounded", because=[because])


def _rates(run: Evidence, throughput: ThroughputSection) -> Iterator[tuple[str, FigureTrust]]:
    names = [f"{name}_per_second" for name in RATES] + ["sent_mb_per_second", "received_mb_per_second"]
    for name in names:
        if (value := getattr(throughput, name)) is None:
            continue
        if run.sends and (run.is_throttled or not run.has_schedule):
            yield f"throughput.{name}", at_least(value, _FOLLOWS)
        else:
            yield f"throughput.{name}", exact(value)


def _metrics(latency: LatencySection) -> Iterator[tuple[str, str]]:
    """Paths of the latencies that a run has, and their metrics."""
    for path in _PATHS:
        for kind in _KINDS:
            if getattr(getattr(latency, path), kind) is not None:
                yield f"latency.{path}.{kind}", f"{path}_{kind}"
    if latency.since_record_time is not None:
        yield "latency.since_record_time", "since_record_time"


def _at(latency: LatencySection, path: str) -> LatencyFigures:
    found: LatencyFigures | LatencySection = latency
    for name in path.split(".")[1:]:
        found = getattr(found, name)
    assert isinstance(found, LatencyFigures)
    return found


def _is_known(run: Evidence, metric: str) -> bool:
    return bool((run.one("bounds", metric=metric) or {}).get("known"))


def _latencies(run: Evidence, latency: LatencySection) -> Iterator[tuple[str, FigureTrust]]:
    for path, metric in _metrics(latency):
        shown, bounds = _at(latency, path), run.one("bounds", metric=metric)
        if bounds is None or not bounds["known"]:
            for name in (*LATENCY_FIGURES, "stddev", "mad"):
                if (value := shown.ms(name)) is not None:
                    yield f"{path}.{name}_ms", _disbelieved(exact(value), [_no_bound(run)])
            continue
        yield from _bounded(run, path, shown, bounds, _punctual(run, latency, path) or shown)


def _no_bound(run: Evidence) -> str:
    return _NO_BOUND if "bounds" in run.tables else _ANALYSED_BEFORE


def _punctual(run: Evidence, latency: LatencySection, path: str) -> LatencyFigures | None:
    """What a service time would be at most, had each message been sent when it was due: the response time.

    None for others, without a schedule, and where messages waited for the system or a policy before they were sent.
    """
    if not path.endswith(".service") or run.is_held_up or run.is_throttled:
        return None
    response: LatencyFigures | None = getattr(latency, path.split(".")[1]).response
    return response


def _bounded(
    run: Evidence, path: str, shown: LatencyFigures, bounds: Row, most: LatencyFigures
) -> Iterator[tuple[str, FigureTrust]]:
    sampled = {row["percentile"]: row for row in run.matching("sampling", metric=bounds["metric"])}
    for name in LATENCY_FIGURES:
        value, low, chance = shown.ms(name), bounds[f"{name}_ms"], sampled.get(name)
        if value is None or low is None:
            continue
        figure = _of_latency(run, value, *_widened(run, f"{path}.{name}", value, low, most.ms(name) or value))
        ends = {"sample_low": chance["low_ms"], "sample_high": chance["high_ms"]} if chance else {}
        yield f"{path}.{name}_ms", figure.model_copy(update=ends)
    if (stddev := shown.stddev_ms) is not None:
        spread = bounds["rms_width_ms"]
        yield f"{path}.stddev_ms", _of_latency(run, stddev, max(0.0, stddev - spread), stddev + spread)
    if (mad := shown.mad_ms) is not None:
        punctual = (
            bounds if most is shown else run.one("bounds", metric=bounds["metric"].replace("service", "response"))
        )
        mads = [row[name] for row in (bounds, punctual or bounds) for name in ("mad_low_ms", "mad_high_ms")]
        yield f"{path}.mad_ms", _of_latency(run, mad, min(mads), max(mads))


def _widened(run: Evidence, path: str, value: float, low: float, high: float) -> tuple[float, float]:
    """An interval that is at least as wide as the instrument was wrong when it was calibrated."""
    error = floor_ms(run.facts.calibration, path.removeprefix("latency."))
    return min(low, value - max(0.0, error)), max(high, value - min(0.0, error))


def _of_latency(run: Evidence, value: float, low: float, high: float) -> FigureTrust:
    trust = limits.of_latency(value, low, high)
    because = [] if trust == "believed" else _why_wide(run, high - low)
    return FigureTrust(value=value, low=min(low, value), high=max(high, value), trust=trust, because=because)


def _why_wide(run: Evidence, width_ms: float) -> list[str]:
    """What made an interval wide, as far as that is known of the whole run."""
    late = (run.schedule_delay or {}).get("p99_ms") if run.has_schedule else None
    found = [f"without the instrument it may have been up to {milliseconds(width_ms)} less"]
    if late is not None:
        found.append(f"schedule delay p99 {milliseconds(late)}")
    gaps = [row["poll_gap_ms"] for row in run.matching("resources", scope="interval") if row.get("poll_gap_ms")]
    if gaps:
        found.append(f"longest gap between polls {milliseconds(max(gaps))}")
    return found


def _own(latency: LatencySection, schedule_delay: ScheduleDelay | None) -> Iterator[tuple[str, FigureTrust]]:
    for name in _OWN:
        shown: LatencyFigures | None = getattr(latency, name)
        for each in (*LATENCY_FIGURES, "stddev", "mad"):
            if shown is not None and (value := shown.ms(each)) is not None:
                yield f"latency.{name}.{each}_ms", exact(value)
    for each in ("p50", "p99", "p99_9", "max"):
        if schedule_delay is not None and (value := getattr(schedule_delay, f"{each}_ms")) is not None:
            yield f"schedule_delay.{each}_ms", exact(value)


def _known_stages(pipeline: PipelineSection | None) -> Iterator[tuple[int, PipelineStage]]:
    """The stages that have figures, with their places in the result."""
    stages = pipeline.stages if pipeline else ()
    return ((place, stage) for place, stage in enumerate(stages) if stage.p50_ms is not None)


def _stages(run: Evidence, pipeline: PipelineSection | None) -> Iterator[tuple[str, FigureTrust]]:
    """Both ends of a stage are rounded, and may have been passed earlier: it may have been shorter, or longer."""
    for place, stage in _known_stages(pipeline):
        bounds = run.one("bounds", metric=stage.stage)
        for name in _STAGE_FIGURES:
            path, value = f"{STAGES}{place}.{name}_ms", getattr(stage, f"{name}_ms")
            if bounds is None or not bounds["known"]:
                yield path, _disbelieved(exact(value), [_no_bound(run)])
                continue
            low, high = bounds[f"{name}_ms"], bounds[f"{name}_high_ms"]
            trust = limits.of_latency(value, low, high)
            because = [] if trust == "believed" else [f"its ends are known to within {milliseconds(high - low)}"]
            yield (
                path,
                FigureTrust(value=value, low=min(low, value), high=max(high, value), trust=trust, because=because),
            )


def _counts(run: Evidence, delivery: DeliverySection) -> Iterator[tuple[str, FigureTrust]]:
    doubted = unbounded.of_counts(run)
    for prefix, counts in (("delivery", delivery), ("delivery.measure", delivery.measure)):
        unknown = (counts.unknown or 0) + (counts.fate_unknown or 0)
        for name, value in counts:
            if not isinstance(value, int) or isinstance(value, bool):
                continue
            high = value + unknown if name in _MAY_BE_UNKNOWN else value
            because = [f"the fate of {whole(unknown)} messages is unknown"] if high > value else []
            trust = limits.of_count(value, high)
            figure = FigureTrust(value=value, low=value, high=high, trust=trust, because=because)
            # What did not happen, a gap has not caused.
            is_doubted = name in doubted and value > 0
            yield f"{prefix}.{name}", _disbelieved(figure, [doubted[name]]) if is_doubted else figure


def _lags(run: Evidence, lag: LagSection | None) -> Iterator[tuple[str, FigureTrust]]:
    """A lag that was sampled is that of some time between question and answer: the rate times that is in doubt."""
    if lag is None:
        return
    rate = (run.measured or {}).get("acked", 0) / (run.measured_seconds or 1)
    took_ms = max((row.get("took_ms") or 0.0 for row in run.matching("lag", scope="group")), default=0.0)
    for name in ("committed", "position", "outstanding"):
        shown: LagFigures | None = getattr(lag, name)
        for each in ("max", "mean", "final"):
            if shown is None or (value := getattr(shown, each)) is None:
                continue
            moved = 0.0 if name == "outstanding" or each == "final" else rate * took_ms / 1_000
            low, high = max(0.0, value - moved), value + moved
            # A few messages are no matter.
            trust = "believed" if moved <= FEW else limits.of_rate(value, low, high)
            because = [] if trust == "believed" else [f"a sample took up to {milliseconds(took_ms)}"]
            yield f"lag.{name}.{each}", FigureTrust(value=value, low=low, high=high, trust=trust, because=because)


def _recoveries(recovery: Sequence[RecoveryScore]) -> Iterator[tuple[str, FigureTrust]]:
    """The time to drain is that of a sample: off by at most the time between two."""
    for place, score in enumerate(recovery):
        if (value := score.time_to_drain_s) is not None:
            off = score.interval_ms / 1_000
            yield (
                f"recovery.{place}.time_to_drain_s",
                FigureTrust(value=value, low=max(0.0, value - off), high=value, trust="believed", because=[]),
            )
