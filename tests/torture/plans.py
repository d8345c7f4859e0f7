"""Endings of a run: what is done, to whom, and when. A seed draws one, and draws the same one again."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

Moment = Literal["start", "load", "drain", "analysis", "report", "again"]
"""Parts of a run; `again` is a program of its own that analyses a run that is over."""
Action = Literal[
    "kill", "term", "stop", "interrupt", "interrupt twice", "hang up", "disk full", "disk full for 2 s", "clock step",
    "throttle", "analyse", "second run",
]  # fmt: skip
Missed = Literal["early", "late"]
"""Why an ending was done to nobody."""
Target = Literal["supervisor", "producer", "consumer", "sampler", "broker", "proxy", "spark", "machine"]

SPANS: Final[dict[Moment, float]] = {
    "start": 8.0, "load": 4.0, "drain": 0.5, "analysis": 8.0, "report": 2.0, "again": 8.0,
}  # fmt: skip
"""How long after the begin of a moment, in seconds, something may be done."""
_PROCESSES: Final[dict[Moment, tuple[Target, ...]]] = {
    "start": ("supervisor", "broker"),
    "load": ("supervisor", "producer", "consumer", "sampler", "broker"),
    # Producers have nothing left to send when the drain begins, and leave at once.
    "drain": ("supervisor", "consumer", "sampler", "broker"),
    "analysis": ("supervisor", "spark"),
    "report": ("supervisor",),
    "again": ("supervisor", "spark"),
}
"""Processes that are there. The supervisor is the program itself: later it is who analyses and reports."""
_TO_PROCESSES: Final[tuple[Action, ...]] = ("kill", "term", "stop")
_TO_THE_MACHINE: Final[dict[Action, tuple[Moment, ...]]] = {
    "interrupt": ("start", "load", "drain", "analysis", "report", "again"),
    "interrupt twice": ("start", "load", "drain", "analysis", "again"),
    "hang up": ("start", "load", "drain", "analysis", "report", "again"),
    "disk full": ("start", "load", "drain", "analysis", "report", "again"),
    "disk full for 2 s": ("start", "load", "drain", "analysis", "report", "again"),
    "clock step": ("start", "load", "analysis"),
    "throttle": ("load",),
    "analyse": ("load", "drain", "analysis", "report"),
    "second run": ("load",),
}
_OF_THREE: Final[dict[Moment, tuple[Target, ...]]] = {
    "start": ("supervisor", "broker", "proxy"),
    "load": ("supervisor", "producer", "consumer", "sampler", "broker", "proxy"),
    "drain": ("supervisor", "consumer", "broker", "proxy"),
}
"""Processes of a run on three brokers, whose links lead through proxies."""
_ENDS_A_RUN: Final[tuple[Action, ...]] = ("interrupt", "interrupt twice", "hang up")
LANDED: Final = "ending"
"""Under this name a test tells which ending it carried out."""
NEEDS_ROOT: Final[frozenset[Action]] = frozenset({"disk full", "disk full for 2 s", "throttle"})
"""A disk of a size of its own is mounted, a quota is set: both need root, and a system that can do it."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Something that is done to somebody at some moment."""

    moment: Moment
    action: Action
    target: Target = "machine"

    def __str__(self) -> str:
        return f"{self.action}: {self.target}, {self.moment}"


@dataclass(frozen=True, slots=True)
class Plan:
    """An ending, and what else a case needs to know."""

    ending: Ending
    delay_seconds: float
    """After the begin of the moment."""
    given: bool = False
    """Whether the run uses a broker that it did not start."""
    brokers: int = 1
    """How many brokers the run starts; three have links through proxies, and faults."""
    record_only: bool = False
    """Whether the program leaves the analysis to who looks at what it left: it takes most of the time of a case."""
    too_early: float = 0.0
    """The latest delay at which nobody was there yet."""
    too_late: float | None = None
    """The earliest at which nobody was there any more."""

    def missed(self, *, is_over: bool) -> "Missed":
        """Why there was nobody: those it was meant for had not begun, or had ended."""
        # Workers are there when the load begins, and leave during the drain.
        return "late" if is_over or self.ending.moment in {"load", "drain"} else "early"

    def moved(self, missed: "Missed") -> "Plan":
        """The same at another moment: between what was too early and what was too late, or else a part later."""
        too_early, too_late = self.too_early, self.too_late
        if missed == "early":
            too_early = self.delay_seconds
        else:
            too_late = self.delay_seconds
        later = self.delay_seconds + SPANS[self.ending.moment] / 4
        delay_seconds = later if too_late is None else (too_early + too_late) / 2
        return replace(self, delay_seconds=delay_seconds, too_early=too_early, too_late=too_late)


def endings() -> list[Ending]:
    """Every ending there is."""
    to_the_machine = [Ending(moment, action) for action, moments in _TO_THE_MACHINE.items() for moment in moments]
    return _to_processes(_PROCESSES) + to_the_machine


def _to_processes(there: Mapping[Moment, Sequence[Target]]) -> list[Ending]:
    return [
        Ending(moment, action, target)
        for moment, targets in there.items()
        for target in targets
        for action in _TO_PROCESSES
    ]


def draw(seed: int, cannot: Iterable[Action] = ()) -> Plan:
    """The plan of a seed, on a machine that `cannot` do some things.

    Each kind of action is as likely as another; where, to whom and when is drawn afterwards.
    """
    drawn, impossible = random.Random(seed), frozenset(cannot)
    possible = [each for each in endings() if each.action not in impossible]
    action = drawn.choice(sorted({each.action for each in possible}))
    ending = drawn.choice([each for each in possible if each.action == action])
    delay = drawn.uniform(0.0, SPANS[ending.moment])
    return Plan(ending, delay, given=ending.target != "broker" and drawn.random() < 0.4)


def endings_of_three() -> list[Ending]:
    """Every ending of a run on three brokers: what its analysis goes through, it goes through with one as well."""
    return _to_processes(_OF_THREE) + [Ending(moment, action) for moment in _OF_THREE for action in _ENDS_A_RUN]


def draw_of_three(seed: int) -> Plan:
    """The plan of a seed for a run on three brokers, each ending as likely as another."""
    drawn = random.Random(seed)
    ending = drawn.choice(endings_of_three())
    # Three need longer to start than one.
    span = SPANS[ending.moment] * (2 if ending.moment == "start" else 1)
    return Plan(ending, drawn.uniform(0.0, span), brokers=3, record_only=True)


FIXED: Final[tuple[Plan, ...]] = (
    Plan(Ending("start", "term", "supervisor"), 4.5),
    Plan(Ending("start", "kill", "broker"), 3.5),
    Plan(Ending("load", "kill", "supervisor"), 2.0),
    Plan(Ending("load", "kill", "supervisor"), 3.1, given=True),
    Plan(Ending("load", "kill", "producer"), 1.7, given=True, record_only=True),
    Plan(Ending("load", "stop", "producer"), 1.5, given=True, record_only=True),
    Plan(Ending("load", "kill", "broker"), 2.5, record_only=True),
    Plan(Ending("load", "interrupt twice"), 1.8, given=True),
    Plan(Ending("load", "hang up"), 2.2, given=True, record_only=True),
    Plan(Ending("load", "analyse"), 1.2, given=True, record_only=True),
    Plan(Ending("analysis", "kill", "supervisor"), 4.0, given=True),
    Plan(Ending("analysis", "kill", "spark"), 5.0, given=True),
)
"""Those of every build: twelve that need no root and find most. Runs that are ended while they analyse do analyse."""
FIXED_OF_THREE: Final[tuple[Plan, ...]] = (
    Plan(Ending("load", "kill", "proxy"), 2.0, brokers=3, record_only=True),
    Plan(Ending("load", "kill", "supervisor"), 2.5, brokers=3, record_only=True),
)
"""Those of every build on three brokers, in the middle of a fault of links and of one of brokers."""
