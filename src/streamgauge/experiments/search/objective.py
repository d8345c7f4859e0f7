"""Objectives: a figure of a result, a bound, and perhaps the windows in each of which it has to hold."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadValue, Fault
from streamgauge.domain.latency.percentiles import PERCENTILES
from streamgauge.domain.text.numbers import per_second, whole
from streamgauge.domain.text.quantities import parse_duration_ns
from streamgauge.scenario.model.expectations import Bound

_FORM: Final = "Write one like 'p99 <= 20 ms', 'p99 <= 20 ms over 10s' or 'throughput.acked_per_second >= 5000'"
_OBJECTIVE: Final = re.compile(
    r"\s*(?P<figure>[a-z][\w.]*)\s*(?P<sign><=|>=|<|>)\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>us|ms|s|/s)?"
    r"(?:\s+over\s+(?P<window>\S+))?\s*"
)
_SHORT: Final = re.compile(r"p\d+([._]\d+)?|max")
_LATENCY: Final = re.compile(r"latency\.(?P<metric>\w+)\.(?P<kind>response|service)\.(?P<figure>p\d+(_\d+)?|max)_ms")
_MS: Final = {"us": 0.001, "ms": 1.0, "s": 1000.0}
BEYOND: Final = 10
"""So many messages have to lie beyond a percentile before it is known."""


@dataclass(frozen=True, slots=True)
class Objective:
    """What has to hold at a rate."""

    text: str
    """As it was written."""
    path: str
    """Of result.json."""
    bound: Bound
    window_seconds: int | None = None
    """It has to hold in each full window of this length; None for the whole measure phase."""

    @property
    def metric(self) -> str:
        """The latency metric of the tables, for an objective over windows."""
        found = _LATENCY.fullmatch(self.path)
        assert found
        return f"{found['metric']}_{found['kind']}"

    @property
    def latency(self) -> str:
        """The latency of an objective over windows by its path, like `end_to_end.response`."""
        return self.path.removeprefix("latency.").rpartition(".")[0]

    @property
    def figure(self) -> str:
        """The figure of a latency, like `p99_9`; empty for other paths."""
        found = _LATENCY.fullmatch(self.path)
        return found["figure"] if found else ""

    def needed_messages(self) -> int:
        """How many messages the figure has to be of, in the phase or in each window."""
        rank = PERCENTILES.get(self.figure)
        return 1 if rank is None else math.ceil(BEYOND * 10_000 / (10_000 - rank))

    @property
    def least_rate(self) -> float:
        """Messages a second from which on a window has as many as its figure needs; 0 without windows."""
        return self.needed_messages() / self.window_seconds if self.window_seconds else 0.0

    def longer_window(self, rate: float) -> str:
        """A longer window that has enough messages at a rate, as an objective has it."""
        seconds, own = math.ceil(self.needed_messages() / rate), self.window_seconds or 0
        return f"over {seconds if seconds > own else 2 * own}s"


def response_of(*, consumes: bool) -> str:
    """The latency that `p99` alone is of."""
    return f"latency.{'end_to_end' if consumes else 'ack'}.response"


def parse_objective(text: str, response: str = response_of(consumes=True)) -> Objective:
    """The objective that a text says; `p99` alone is that of `response`. Raises BadValue."""
    found = _OBJECTIVE.fullmatch(text)
    if found is None:
        raise BadValue("not an objective", _FORM)
    figure, unit = found["figure"], found["unit"]
    is_short = _SHORT.fullmatch(figure) is not None
    path = f"{response}.{figure.replace('.', '_')}_ms" if is_short else figure
    if "." not in path or ((unit == "/s") != path.endswith("_per_second") and unit is not None):
        raise BadValue("not an objective" if "." not in path else f"{path} is not in {unit}", _FORM)
    if unit in _MS and not path.endswith("_ms"):
        raise BadValue(f"{path} is not in {unit}", _FORM)
    known = _LATENCY.fullmatch(path)
    if known and known["figure"] != "max" and known["figure"] not in PERCENTILES:
        raise BadValue("a percentile that results do not have", f"Use one of {', '.join(PERCENTILES)}")
    window = None if found["window"] is None else _window(found["window"])
    if window is not None and not known:
        raise BadValue("only percentiles and maxima of latencies are known by window", "Leave the window out")
    return Objective(
        text.strip(), path, Bound(found["sign"], float(found["number"]) * _MS.get(unit or "", 1.0)), window
    )


def _window(text: str) -> int:
    window_ns = parse_duration_ns(text)
    if window_ns < NS_PER_SECOND or window_ns % NS_PER_SECOND:
        raise BadValue("a window is no whole number of seconds", "Write one like 10s")
    return window_ns // NS_PER_SECOND


def step_seconds(objectives: Sequence[Objective], rate: float | None, asked_seconds: float) -> float:
    """How long a step has to be: as long as was asked for, or longer where a percentile or a window needs it.

    Without a `rate` nobody knows how many messages there will be.
    """
    needed = [asked_seconds]
    for each in objectives:
        if each.window_seconds:
            # One window alone says nothing of the others.
            needed.append(3.0 * each.window_seconds)
        elif rate:
            needed.append(each.needed_messages() / rate)
    return float(math.ceil(max(needed)))


def thin_windows(objectives: Sequence[Objective], rate: float) -> list[Fault]:
    """Objectives whose windows have too few messages at a rate to tell a percentile, and the window that has enough."""
    return [
        Fault(
            "--objective",
            f"{each.text}: at {per_second(rate)} a window has {whole(int(rate * each.window_seconds))} messages, and"
            f" {each.figure.replace('_', '.')} needs {whole(each.needed_messages())}",
            f"Write a longer window, like {each.longer_window(rate)}",
        )
        for each in objectives
        if each.window_seconds and rate < each.least_rate
    ]
