"""Checks of the measure phase: whether warm-up was long enough, and whether there are enough samples."""

from typing import Final

from streamgauge.domain.latency.percentiles import SAMPLES_NEEDED
from streamgauge.domain.text.numbers import milliseconds, whole
from streamgauge.verdict.check import Check, passed, unknown
from streamgauge.verdict.checks.pace import MOVED_MS
from streamgauge.verdict.evidence import Evidence, largest

TRANSIENT: Final = 2.0
"""Factor by which the percentile of the whole phase exceeds that of its later half, if the start dominates it."""
WINDOWS_NEEDED: Final = 5

_METRICS: Final = ("end_to_end_response", "end_to_end_service", "ack_response", "ack_service")


def start_transient(run: Evidence) -> Check | None:
    """Whether no percentile is determined by the first seconds of the measure phase alone.

    If a percentile of the whole phase is twice that of every second of the later half, it comes from the start; random
    stalls stay below that in the long run. A single stall can do it to p99.9, which only warns. Not checked if load or
    processing change during the measure phase.

    Data: percentiles of the measure phase and of each second of its later half; at least {WINDOWS_NEEDED} seconds are
    needed.
    Warns when: the p99.9 is more than {TRANSIENT:g} times the highest latency of the later half, and {MOVED_MS:g} ms
    above it.
    Fails when: the p99 is more than {TRANSIENT:g} times the highest p99 of a second of the later half, and {MOVED_MS:g}
    ms above it.
    Remedy: warm up for longer (phases.warmup).
    """
    metric = next((name for name in _METRICS if run.latency(name).get("p99_ms") is not None), None)
    if metric is None or not run.profile.is_steady:
        return None
    windows = [row for row in run.matching("latency", metric=metric, scope="window") if run.is_measured(row)]
    if len(windows) < WINDOWS_NEEDED:
        seen = f"{whole(len(windows))} windows of one second, {WINDOWS_NEEDED} are needed"
        return unknown("start_transient", "instrument", seen, "Measure for longer: phases.measure of at least 5s.")
    later = [row for row in windows if 2 * row["second"] >= len(windows)]
    if largest(later, "max_ms") is None:
        return unknown(
            "start_transient", "instrument", "no messages of the later half were delivered", "See the delivery."
        )
    total = run.latency(metric)
    p99, later_p99 = total["p99_ms"], largest(later, "p99_ms") or 0.0
    p99_9, later_max = total.get("p99_9_ms"), largest(later, "max_ms") or 0.0
    advice = "The start lies inside the window: warm up for longer (phases.warmup)."
    words = f"{metric.rsplit('_', 1)[0].replace('_', '-')} "
    text = f"{words}p99 {milliseconds(p99)}; highest p99 of a second in the later half {milliseconds(later_p99)}"
    if _dominates(p99, later_p99):
        return Check("start_transient", "instrument", "fail", text, advice)
    if p99_9 is not None and _dominates(p99_9, later_max):
        text = f"{words}p99.9 {milliseconds(p99_9)}; highest of the later half {milliseconds(later_max)}"
        return Check("start_transient", "instrument", "warn", text, advice)
    return passed("start_transient", "instrument", text)


def _dominates(whole_ms: float, later_ms: float) -> bool:
    return whole_ms > TRANSIENT * later_ms and whole_ms - later_ms > MOVED_MS


def samples(run: Evidence) -> Check | None:
    """Whether there are enough messages for the reported percentiles.

    Data: the number of messages of each latency.
    Warns when: it is less than a p99.9 needs: {SAMPLES_NEEDED[p99_9]:,}.
    Remedy: measure for longer (phases.measure), or use lower percentiles.
    """
    if not run.sends:
        return None
    counts = [
        row["count"] + row["censored"] for name in _METRICS if (row := run.latency(name)) and not row.get("reason")
    ]
    if not counts:
        return unknown("samples", "instrument", "no latency was measured", "See the checks of delivery.")
    fewest = min(counts)
    evidence = f"{whole(fewest)} messages measured"
    lacking = [name.replace("_", ".") for name, needed in SAMPLES_NEEDED.items() if fewest < needed]
    if "p99.9" not in lacking:
        return passed("samples", "instrument", evidence)
    advice = "Measure for longer (phases.measure), or use lower percentiles."
    missing = f"; {' and '.join(lacking)} need {whole(SAMPLES_NEEDED['p99_9'])} and more"
    return Check("samples", "instrument", "warn", evidence + missing, advice)
