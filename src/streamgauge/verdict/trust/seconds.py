"""Seconds of the measure phase in which something happened to processes, and the share of the messages in them."""

import math
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.latency.percentiles import PERCENTILES
from streamgauge.domain.text.numbers import percent
from streamgauge.verdict import during
from streamgauge.verdict.evidence import Evidence, Row

TIMES: Final = ("latency.", "pipeline.stages.")
"""How the paths of latencies begin."""
RECEIVED: Final = ("latency.end_to_end.", "latency.processing.", "latency.since_record_time.", "pipeline.stages.")
"""Those of latencies that end when a message is received, or later."""
_BESIDE: Final = 0.1
_NOT_OF_RANKS: Final = ("max_ms", "mean_ms", "stddev_ms", "variance_ms2")
_RANKS: Final = {f"{name}_ms": rank / 10_000 for name, rank in PERCENTILES.items()} | {"mad_ms": 0.5}


class Seconds(NamedTuple):
    """Seconds of the measure phase that something happened in."""

    because: str
    share: float
    """Share of the messages that were due in them; sent without a schedule, received where nothing is sent."""

    begins: tuple[str, ...] = TIMES
    """How the paths of figures begin that it happened to."""
    by_second: Mapping[int, tuple[float, float]] = MappingProxyType({})
    """The messages of each second, and how many of them were due while it happened."""

    def within(self, begin: int, end: int) -> "Seconds":
        """The same of a part of the phase, from one second to before another.

        What had piled up in the second before is worked off in the part.
        """
        total = sum(messages for second, (messages, _) in self.by_second.items() if begin <= second < end)
        inside = sum(inside for second, (_, inside) in self.by_second.items() if begin - 1 <= second < end)
        return self._replace(share=min(1.0, inside / total) if total else float(inside > 0))

    def takes(self, path: str) -> bool:
        """Whether a latency may be decided by these messages: they may all be among the slowest."""
        figure = path.rsplit(".", 1)[-1]
        is_decided = figure in _NOT_OF_RANKS or _RANKS.get(figure, 0.0) > 1.0 - self.share
        return is_decided and path.startswith(self.begins)


def seconds(run: Evidence, because: str, rows: Iterable[Row], begins: tuple[str, ...] = TIMES) -> Seconds:
    """The share of the messages in these intervals, or of the time if the run has none, and their seconds in words."""
    stretches = _merged(sorted((row["second"] - row["duration_ns"] / NS_PER_SECOND, row["second"]) for row in rows))
    windows = [row for row in run.matching("throughput", scope="window") if run.is_measured(row)]
    # Without a schedule nothing is due, and where somebody else sends, nothing is sent.
    of = next((name for name in ("due", "sent", "received") if any(row.get(name) for row in windows)), "due")
    has_messages = run.sends or run.consumes
    counts = {int(row["second"]): float(row.get(of) or 0) if has_messages else 1.0 for row in windows}
    by_second = {
        second: (count, sum(count * max(0.0, min(end, second + 1) - max(begin, second)) for begin, end in stretches))
        for second, count in counts.items()
    }
    inside = sum(each for _, each in by_second.values())
    share = min(1.0, inside / total) if (total := sum(counts.values())) else 1.0
    named = ", ".join(_named(*stretch) for stretch in stretches[:3])
    more = f" and {len(stretches) - 3} times more" if len(stretches) > 3 else ""
    of_what = f"{percent(share)} of the {'messages' if has_messages else 'time'}"
    within = during.of_stretches(run, stretches)
    because = f"{because} (second {named}{more}; {of_what}{f'; {within}' if within else ''})"
    return Seconds(because, share, begins, by_second)


def _named(begin: float, end: float) -> str:
    """A stretch in whole seconds, at least one; a sample begins and ends some milliseconds beside them."""
    first = math.floor(max(0.0, begin) + _BESIDE)
    return f"{first} to {max(first + 1, math.ceil(end - _BESIDE))}"


def looks(run: Evidence, role: str) -> list[Row]:
    """The samples of a role in the measure phase."""
    ends = run.measured_seconds or 0.0
    found = run.matching("resources", scope="interval", role=role)
    return [row for row in found if row.get("second") is not None and 0 < row["second"] <= ends]


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
