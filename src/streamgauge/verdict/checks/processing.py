"""The check of processing: whether it took its configured time."""

import math
from typing import Final

from streamgauge.domain.text.numbers import listed, milliseconds, percent, whole
from streamgauge.verdict.check import Check, passed, unknown
from streamgauge.verdict.evidence import Evidence, Row

DELAY_WARN: Final = 0.02
DELAY_FAIL: Final = 0.10
STANDARD_ERRORS: Final = 3
"""A mean of random values may differ by this many standard errors from the configured mean."""


def processing_delay(run: Evidence) -> Check | None:
    """Whether processing took its configured time on average.

    A consumer that is too slow by its own fault causes lag that is not the system's.

    Data: the mean processing time and the configured mean, for each of the consecutive delays. A difference of up to
    {STANDARD_ERRORS} standard errors of the mean is attributed to chance and subtracted.
    Warns when: a mean differs by more than {DELAY_WARN:.0%}; about the system if the scenario stopped a consumer.
    Fails when: a mean differs by more than {DELAY_FAIL:.0%}.
    Remedy: give the consumers more CPU or more processes (consume.processes), or use a longer delay.
    """
    processing = run.profile.processing
    if processing is None or processing.function:
        return None
    rows = [row for row in run.rows("processing") if row["phase"] is not None and row["target_ms"] is not None]
    if not rows:
        missing = "the processing time is not known"
        return unknown("processing_delay", "instrument", missing, "Nothing was processed in the measure phase.")
    judged = [row for row in rows if row["processed"] and row["target_ms"]]
    if not judged:
        return None
    worst = max(judged, key=_off)
    off, processed = _off(worst), whole(worst["processed"])
    evidence = f"processing took {milliseconds(worst['mean_ms'])} on average, target {milliseconds(worst['target_ms'])}"
    evidence += f"; {percent(off)} off, {processed} messages"
    if off <= DELAY_WARN:
        return passed("processing_delay", "instrument", evidence)
    if stopped := run.stopped("consumer"):
        evidence += f"; the scenario stopped {listed(stopped)}"
        return Check("processing_delay", "system", "warn", evidence, "Buffered messages took longer meanwhile.")
    advice = "Give the consumers more CPU or more processes (consume.processes), or use a longer delay."
    return Check("processing_delay", "instrument", "fail" if off > DELAY_FAIL else "warn", evidence, advice)


def _off(row: Row) -> float:
    """Relative difference of the mean, without what chance explains."""
    mean_ms, target_ms, stddev_ms = (float(row[name] or 0) for name in ("mean_ms", "target_ms", "target_stddev_ms"))
    by_chance_ms = STANDARD_ERRORS * stddev_ms / math.sqrt(row["processed"])
    return max(0.0, abs(mean_ms - target_ms) - by_chance_ms) / target_ms
