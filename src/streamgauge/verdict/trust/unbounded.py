"""What no bound of a message covers: seconds in which all stood still, or the machine decided; gaps beyond a timeout.

A bound says what the instrument added to a message. Where all processes stood still together, it is not known what the
system would have done. Where only the broker had no core, because the load or others took it, it is known what this
machine did, and not what the system does elsewhere: such a figure is named, and keeps its trust.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.latency.percentiles import PERCENTILES
from streamgauge.domain.text.numbers import milliseconds, percent
from streamgauge.verdict.evidence import Evidence, Row, largest

STARVED_SHARE: Final = 0.5
"""A broker is starved in a second in which its threads waited for a core for so much of the time, and longer than they
ran."""
FROZEN_MS: Final = 100.0
"""All processes stood still if each producer stopped polling, and the sampler was late, by so much."""
THROTTLED_SHARE: Final = 0.05
"""A CPU quota stopped the broker if its cgroup was stopped for so much of a second."""
TOLD_SHARE: Final = 0.001
"""A broker that waits for a core for less explains no p99.9."""
_NOT_OF_RANKS: Final = ("max_ms", "mean_ms", "stddev_ms")
_RANKS: Final = {f"{name}_ms": rank / 10_000 for name, rank in PERCENTILES.items()} | {"mad_ms": 0.5}


class Seconds(NamedTuple):
    """Seconds of the measure phase that something happened in."""

    because: str
    share: float
    """Share of the messages that were due in them."""

    def takes(self, figure: str) -> bool:
        """Whether a figure of a latency may be decided by these messages: they may all be among the slowest."""
        return figure in _NOT_OF_RANKS or _RANKS.get(figure, 0.0) > 1.0 - self.share


def of_latency(run: Evidence) -> list[Seconds]:
    """Seconds that leave latency without a bound."""
    rows = _frozen(run)
    return [_seconds(run, "all processes stood still together", rows)] if rows else []


def of_place(run: Evidence) -> list[Seconds]:
    """Seconds in which latency was this machine's: a broker beside the load had no core."""
    found = {"the broker had no core for long": _starved(run), "a CPU quota stopped the broker": _throttled(run)}
    return [_seconds(run, because, rows) for because, rows in found.items() if rows]


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


def _longest_gap(run: Evidence, role: str) -> float:
    """Without what the scenario stopped."""
    looks = [row for row in run.matching("resources", scope="interval", role=role) if not run.is_stopped(row)]
    return largest(looks, "poll_gap_ms") or 0.0


def place(run: Evidence) -> str | None:
    """How much of the tail a broker on this machine can explain by waiting for a core; None where that is next to none.

    Threads that waited for a share of the time may have touched this share of the messages, and what queued behind.
    """
    shares = [row.get("run_delay_share") for row in run.processes("broker")]
    share = min(1.0, sum(each for each in shares if each is not None))
    if share < TOLD_SHARE:
        return None
    waited = f"the broker's threads waited for a core for {percent(share)} of the time"
    explained = f"this can explain the slowest {percent(share)} of the messages, and what queued behind them"
    return "; ".join([f"{waited}: {explained}", *(each.because for each in of_place(run))])


def _starved(run: Evidence) -> list[Row]:
    return [
        row
        for row in _looks(run, "broker")
        if (waited := row.get("run_delay_share") or 0.0) >= STARVED_SHARE and waited > (row.get("cpu_cores") or 0.0)
    ]


def _throttled(run: Evidence) -> list[Row]:
    if not run.facts.broker.processes:
        return []
    return [row for row in _looks(run, "host") if (row.get("throttled_share") or 0.0) >= THROTTLED_SHARE]


def _frozen(run: Evidence) -> list[Row]:
    producers = _looks(run, "producer")
    late = [row for row in _looks(run, "host") if row["duration_ns"] >= NS_PER_SECOND + FROZEN_MS * NS_PER_MS]
    return [row for row in late if _is_frozen([each for each in producers if _meets(each, row)])]


def _is_frozen(producers: Sequence[Row]) -> bool:
    """Whether each producer has a long gap, in these samples of theirs."""
    gaps: dict[str, float] = {}
    for each in producers:
        gaps[each["process"]] = max(gaps.get(each["process"], 0.0), each.get("poll_gap_ms") or 0.0)
    return bool(gaps) and min(gaps.values()) >= FROZEN_MS


def _meets(look: Row, other: Row) -> bool:
    """Whether two samples belong together: gaps are told up to a second later."""
    return abs(float(look["second"]) - float(other["second"])) <= 1.5


def _looks(run: Evidence, role: str) -> list[Row]:
    """The samples of a role in the measure phase."""
    seconds = run.measured_seconds or 0.0
    looks = run.matching("resources", scope="interval", role=role)
    return [row for row in looks if row.get("second") is not None and 0 < row["second"] <= seconds]


def _seconds(run: Evidence, because: str, rows: Iterable[Row]) -> Seconds:
    """The share of the messages in these intervals, and their seconds in words."""
    stretches = _merged(sorted((row["second"] - row["duration_ns"] / NS_PER_SECOND, row["second"]) for row in rows))
    windows = [row for row in run.matching("throughput", scope="window") if run.is_measured(row)]
    of = "due" if any(row.get("due") for row in windows) else "sent"
    counts = {int(row["second"]): float(row.get(of) or 0) for row in windows}
    inside = sum(
        count * max(0.0, min(end, second + 1) - max(begin, second))
        for second, count in counts.items()
        for begin, end in stretches
    )
    share = min(1.0, inside / total) if (total := sum(counts.values())) else 1.0
    named = ", ".join(f"{max(0.0, begin):.0f} to {end:.0f}" for begin, end in stretches[:3])
    more = f" and {len(stretches) - 3} times more" if len(stretches) > 3 else ""
    return Seconds(f"{because} (second {named}{more}; {percent(share)} of the messages)", share)


def _merged(stretches: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Stretches that touch each other as one."""
    return list(_joined(stretches))


def _joined(stretches: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """One stretch after the other; those that begin before the last has ended belong to it."""
    begun: tuple[float, float] | None = None
    for begin, end in stretches:
        if begun is not None and begin <= begun[1] + 0.1:
            begun = (begun[0], max(begun[1], end))
            continue
        if begun is not None:
            yield begun
        begun = (begin, end)
    if begun is not None:
        yield begun
