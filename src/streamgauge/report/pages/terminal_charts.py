"""What a terminal is drawn: the rate over time, and the distribution of a latency."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.text.bars import Signs, bar, line
from streamgauge.domain.text.numbers import closely, percent, significant
from streamgauge.result import Result
from streamgauge.result.model.latency import CdfPoint, LatencyFigures

LINE_CELLS: Final = 48
BAR_CELLS: Final = 40
MOST_ROWS: Final = 8
FEWEST_ROWS: Final = 3
"""Fewer bars show no distribution."""
FEWEST_SECONDS: Final = 3
NEARLY: Final = 0.01
"""What a second may lack and still count as whole, in seconds."""
NEARLY_NONE: Final = 1e-9
_RATES: Final = {"received": "received_per_second", "sent": "sent_per_second"}
_PATHS: Final = {"end_to_end": "end-to-end", "ack": "ack"}


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: up to which latency, how long, and for which share of the messages."""

    upto: str
    bar: str
    share: str


@dataclass(frozen=True, slots=True)
class Charts:
    """The rate over time in one line, and the bars of a latency under their head; both may be empty."""

    rates: str
    histogram: Sequence[Bar]


NONE: Final = Charts("", ())


def drawn(result: Result, signs: Signs, room: int) -> Charts:
    """What can be drawn in so many lines: the rate first, then the histogram under an empty line."""
    rates = rate_line(result, signs) if room > 0 else ""
    rows = room - bool(rates) - 2
    return Charts(rates, histogram(result, signs, min(rows, MOST_ROWS)) if rows >= FEWEST_ROWS else ())


def rate_line(result: Result, signs: Signs) -> str:
    """The rate of each second of the measure phase, from 0, and between what it lay; empty where that is not known."""
    length = result.throughput.measured_seconds
    if not length:
        return ""
    # The last second may be cut, and would look like a fall.
    within = [each for each in result.timeline if 0 <= each.second <= length - 1 + NEARLY]
    for stage, key in _RATES.items():
        rates = [getattr(each, key) for each in within]
        known = [rate for rate in rates if rate is not None]
        if len(known) >= FEWEST_SECONDS and getattr(result.throughput, key) is not None:
            ends = dict.fromkeys([significant(min(known)), significant(max(known))])
            return f"{stage} {line(rates, LINE_CELLS, signs)} {' to '.join(ends)}/s"
    return ""


def histogram(result: Result, signs: Signs, most: int = MOST_ROWS) -> list[Bar]:
    """A bar for each range of the latency that counts most, under a head; empty where none can be drawn."""
    for path, words in _PATHS.items():
        for kind, figures in getattr(result.latency, path).kinds.items():
            if figures and figures.cdf:
                trust = result.trust.get(f"latency.{path}.{kind}.p50_ms")
                doubt = ", not believed" if trust and trust.trust == "not_believed" else ""
                head = Bar("ms", f"{words} {kind} time{doubt}", "messages")
                return [head, *_rows(_shares(figures, most), signs)]
    return []


def _shares(figures: LatencyFigures, most: int) -> list[tuple[str, float]]:
    """The share of messages in each range; the rest is those that took longer than all, and those that never came."""
    points: Sequence[CdfPoint] = figures.cdf
    below = [0.0, *(point.share for point in points)]
    shares = [(f"<= {closely(point.le_ms)}", point.share - below[at]) for at, point in enumerate(points)]
    never = (figures.censored or 0) / (((figures.count or 0) + (figures.censored or 0)) or 1)
    rest = [(f"> {closely(points[-1].le_ms)}", 1.0 - below[-1] - never), ("never", never)]
    return _fewer([*_without_ends(shares), *(each for each in rest if each[1] > NEARLY_NONE)], most)


def _without_ends(shares: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Without the ranges before the first message and after the last one."""
    filled = [at for at, (_, share) in enumerate(shares) if share > 0]
    return shares[filled[0] : filled[-1] + 1] if filled else []


def _fewer(shares: list[tuple[str, float]], most: int) -> list[tuple[str, float]]:
    """At most so many: the lowest ranges are joined while they are too many, for the tail is what one looks at."""
    surplus = len(shares) - most
    if surplus <= 0:
        return shares
    joined, rest = shares[: surplus + 1], shares[surplus + 1 :]
    return [(joined[-1][0], sum(share for _, share in joined)), *rest]


def _rows(shares: Sequence[tuple[str, float]], signs: Signs) -> list[Bar]:
    most = max((share for _, share in shares), default=0.0)
    return [Bar(upto, bar(share / most, BAR_CELLS, signs), percent(share)) for upto, share in shares]
