"""What no bound of a message covers: seconds in which all stood still, and gaps beyond a timeout.

A bound says what the instrument added to a message. Where all processes stood still together, it is not known what the
system would have done.
"""

from collections.abc import Sequence
from statistics import median
from typing import Final

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.text.numbers import milliseconds
from streamgauge.verdict.evidence import Evidence, Row, largest
from streamgauge.verdict.trust import limits
from streamgauge.verdict.trust.seconds import RECEIVED, Seconds, looks, seconds

_BY_TIMEOUTS: Final = (
    "deliveries", "timed_out", "unanswered", "duplicates", "overtaken", "dead", "dead_after_success", "archived",
    "open", "deliveries_per_message", "dead_share",
)  # fmt: skip
"""What changes where messages come again that nobody let fail."""


def of_latency(run: Evidence) -> list[Seconds]:
    """Seconds that leave latency without a bound.

    A consumer that is silent for too long loses its partitions. Its own wait is in the bounds of messages; how long
    they waited for the consumer that got them instead is the instrument's doing as well, and in none.
    """
    found = [seconds(run, "all processes stood still together", rows)] if (rows := _frozen(run)) else []
    if silent := _silent(run):
        because = "a consumer did not poll for longer than it may without losing its partitions"
        found.append(seconds(run, because, silent, RECEIVED))
    return found


def of_counts(run: Evidence) -> dict[str, str]:
    """Counts of the delivery that a gap of the instrument's own puts in doubt, with the reason.

    A producer that does not run cannot send before a message's timeout, a consumer that does not poll loses its
    partitions, and others get its messages again.
    """
    found: dict[str, str] = {}
    timeout_ms = run.profile.load.message_timeout_ms if run.profile.load else None
    silence_ms = run.profile.consume.longest_silence_ms if run.profile.consume else None
    if timeout_ms and (gap_ms := _longest_gap(run, "producer")) > timeout_ms:
        because = f"a producer did not poll for {milliseconds(gap_ms)}, longer than a message's timeout"
        found |= dict.fromkeys(("failed", "expired", "unknown", "duplicate_producer"), because)
    if silence_ms and (gap_ms := _longest_gap(run, "consumer")) > silence_ms:
        because = (
            f"a consumer did not poll for {milliseconds(gap_ms)}, longer than it may without losing its partitions"
        )
        found["duplicate_consumer"] = because
    return found


def of_redeliveries(run: Evidence) -> dict[str, str]:
    """Counts of redeliveries that a gap of the instrument's own puts in doubt, with the reason.

    A message that is not acknowledged in time comes again. Where its consumer did not poll for so long, it may have
    come again for that reason alone. A function of the user's may have taken so long, which is what it was to do.
    """
    consume = run.profile.consume
    timeout_ms = consume.acknowledge.timeout_ms if consume and consume.acknowledge else None
    if consume and consume.processing and consume.processing.function:
        return {}
    if not timeout_ms or (gap_ms := _longest_gap(run, "consumer")) <= timeout_ms:
        return {}
    because = f"a consumer did not poll for {milliseconds(gap_ms)}, longer than messages wait to be acknowledged"
    return dict.fromkeys(_BY_TIMEOUTS, because)


def _silent(run: Evidence) -> list[Row]:
    """Intervals from the begin of each gap of a consumer's own by which it lost its partitions until it was told.

    Of a consumer that is slow on purpose a gap may be what it was to do.
    """
    silence_ms = run.profile.consume.longest_silence_ms if run.profile.consume and not run.is_held_back else None
    gaps = [(row, row.get("poll_gap_ms") or 0.0) for row in looks(run, "consumer") if not run.is_stopped(row)]
    return [
        {**row, "duration_ns": row["duration_ns"] + round(gap_ms * NS_PER_MS)}
        for row, gap_ms in gaps
        if silence_ms and gap_ms > silence_ms
    ]


def _longest_gap(run: Evidence, role: str) -> float:
    """Without what the scenario stopped."""
    looks = [row for row in run.matching("resources", scope="interval", role=role) if not run.is_stopped(row)]
    return largest(looks, "poll_gap_ms") or 0.0


def _frozen(run: Evidence) -> list[Row]:
    """The intervals whose sample was late while no worker polled.

    The sampler looks at regular times, so that the median of its intervals is what it was to keep to: half a second, in
    older runs a whole one. What stood still between two looks, and for no longer, has made none of them late.
    """
    seen = looks(run, "host")
    usual_ns = median(row["duration_ns"] for row in seen) if seen else 0
    late = [row for row in seen if row["duration_ns"] >= usual_ns + limits.FROZEN_MS * NS_PER_MS]
    polls = _pollers(run)
    return [row for row in late if _is_frozen([each for each in polls if _meets(each, row)])]


def _pollers(run: Evidence) -> list[Row]:
    """Samples of processes that poll all the time: producers, or consumers where nobody sends.

    Consumers that are slow on purpose leave gaps that say nothing, and so do processes that the scenario stopped.
    """
    if not run.sends and run.is_held_back:
        return []
    return [row for row in looks(run, "producer" if run.sends else "consumer") if not run.is_stopped(row)]


def _is_frozen(polls: Sequence[Row]) -> bool:
    """Whether each process has a long gap, in these samples of theirs."""
    gaps: dict[str, float] = {}
    for each in polls:
        gaps[each["process"]] = max(gaps.get(each["process"], 0.0), each.get("poll_gap_ms") or 0.0)
    return bool(gaps) and min(gaps.values()) >= limits.FROZEN_MS


def _meets(look: Row, other: Row) -> bool:
    """Whether two samples belong together: gaps are told up to a second later."""
    return abs(float(look["second"]) - float(other["second"])) <= 1.5
