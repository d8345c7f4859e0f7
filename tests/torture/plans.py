"""Endings of a run: what is done, to whom, and when. A seed draws one, and draws the same one again."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

Ground = Literal["own", "given", "linked", "kept", "standing", "mounted"]
"""What a run stands on: a broker of its own, or one that somebody else started; or three brokers. Links between those
that are `linked` lead through proxies. With --keep-broker they are `kept`; `broker start` started those that are
`standing`. A log directory of one that is `mounted` passes through FUSE."""
OfThree = Literal["linked", "kept", "standing", "mounted"]
Moment = Literal["start", "load", "outage", "drain", "analysis", "report", "again"]
"""Parts of a run: while a fault has taken a broker that is standing, `outage`; `again` is a program of its own that
analyses a run that is over."""
Action = Literal[
    "kill", "term", "stop", "interrupt", "interrupt twice", "hang up", "disk full", "disk full for 2 s", "clock step",
    "throttle", "analyse", "second run",
]  # fmt: skip
Missed = Literal["early", "late"]
"""Why an ending was done to nobody."""
Target = Literal["supervisor", "producer", "consumer", "sampler", "broker", "proxy", "mount", "spark", "machine"]
Heir = Literal["status", "start", "run"]
"""Who comes next: `broker status`, `broker start` of another broker, or another run on the cluster."""

SPANS: Final[dict[Moment, float]] = {
    "start": 8.0, "load": 4.0, "outage": 2.0, "drain": 0.5, "analysis": 8.0, "report": 2.0, "again": 8.0,
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
_WORKERS: Final[tuple[Target, ...]] = ("producer", "consumer", "sampler")
_OF_THREE: Final[dict[OfThree, dict[Moment, tuple[Target, ...]]]] = {
    "linked": {
        "start": ("supervisor", "broker", "proxy"),
        "load": ("supervisor", *_WORKERS, "broker", "proxy"),
        "drain": ("supervisor", "consumer", "broker", "proxy"),
    },
    "kept": {
        "start": ("supervisor", "broker"),
        "load": ("supervisor", *_WORKERS, "broker"),
        "drain": ("supervisor", "consumer", "broker"),
    },
    # Its brokers are not the run's, and there before it starts.
    "standing": {
        "start": ("supervisor",),
        "load": ("supervisor", *_WORKERS),
        "outage": ("supervisor", "producer", "consumer"),
        "drain": ("supervisor", "consumer"),
    },
    "mounted": {
        "start": ("supervisor", "broker", "mount"),
        "load": ("supervisor", *_WORKERS, "broker", "mount"),
        "drain": ("supervisor", "consumer", "broker", "mount"),
    },
}
"""Processes of a run on three brokers."""
HARMS: Final[dict[OfThree, tuple[str, ...]]] = {
    "linked": ("delay, kill, cut",),
    "standing": ("kill", "stop", "pause"),
    "mounted": ("dir-fails", "dir-unreadable", "dir-full", "dir-slow"),
}
"""Faults that are on when something else ends the run."""
_START_SPANS: Final[dict[OfThree, float]] = {"linked": 16.0, "kept": 16.0, "standing": 4.0, "mounted": 16.0}
"""Three need longer to start than one; a run on brokers that are there needs less."""
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
    on: Ground = "own"
    harm: str | None = None
    """The kind of the fault that is on meanwhile; of brokers that are linked, several are."""
    heir: Heir | None = None
    """Who looks after brokers that are standing; of others nobody needs to."""
    record_only: bool = False
    """Whether the program leaves the analysis to who looks at what it left: it takes most of the time of a case."""
    too_early: float = 0.0
    """The latest delay at which nobody was there yet."""
    too_late: float | None = None
    """The earliest at which nobody was there any more."""

    @property
    def title(self) -> str:
        """The ending, and on what: what is told of a case."""
        return f"{self.ending}" if self.on == "own" else f"{self.ending}, {self.on}"

    @property
    def is_of_three(self) -> bool:
        """Whether the run has three brokers."""
        return self.on not in {"own", "given"}

    def missed(self, *, is_over: bool) -> "Missed":
        """Why there was nobody: those it was meant for had not begun, or had ended."""
        # Workers are there when the load begins, and leave during the drain.
        return "late" if is_over or self.ending.moment in {"load", "outage", "drain"} else "early"

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
    return Plan(ending, delay, "given" if ending.target != "broker" and drawn.random() < 0.4 else "own")


def endings_of_three(on: OfThree) -> list[Ending]:
    """Every ending of a run on three brokers: what its analysis goes through, it goes through with one as well."""
    there = _OF_THREE[on]
    return _to_processes(there) + [Ending(moment, action) for moment in there for action in _ENDS_A_RUN]


def draw_of_three(seed: int, on: OfThree) -> Plan:
    """The plan of a seed for a run on three brokers, each ending as likely as another."""
    drawn = random.Random(seed)
    ending = drawn.choice(endings_of_three(on))
    delay = drawn.uniform(0.0, _START_SPANS[on] if ending.moment == "start" else SPANS[ending.moment])
    harm = drawn.choice(HARMS[on]) if on in HARMS else None
    heir = drawn.choice(get_args(Heir)) if on == "standing" else None
    return Plan(ending, delay, on, harm, heir, record_only=True)


FIXED: Final[tuple[Plan, ...]] = (
    Plan(Ending("start", "term", "supervisor"), 4.5),
    Plan(Ending("start", "kill", "broker"), 3.5),
    Plan(Ending("load", "kill", "supervisor"), 2.0),
    Plan(Ending("load", "kill", "supervisor"), 3.1, "given"),
    Plan(Ending("load", "kill", "producer"), 1.7, "given", record_only=True),
    Plan(Ending("load", "stop", "producer"), 1.5, "given", record_only=True),
    Plan(Ending("load", "kill", "broker"), 2.5, record_only=True),
    Plan(Ending("load", "interrupt twice"), 1.8, "given"),
    Plan(Ending("load", "hang up"), 2.2, "given", record_only=True),
    Plan(Ending("load", "analyse"), 1.2, "given", record_only=True),
    Plan(Ending("analysis", "kill", "supervisor"), 4.0, "given"),
    Plan(Ending("analysis", "kill", "spark"), 5.0, "given"),
)
"""Those of every build: twelve that need no root and find most. Runs that are ended while they analyse do analyse."""
FIXED_OF_THREE: Final[tuple[Plan, ...]] = (
    Plan(Ending("load", "kill", "proxy"), 2.0, "linked", "delay, kill, cut", record_only=True),
    Plan(Ending("load", "kill", "supervisor"), 2.5, "linked", "delay, kill, cut", record_only=True),
    Plan(Ending("load", "kill", "supervisor"), 2.0, "kept", record_only=True),
    Plan(Ending("outage", "kill", "supervisor"), 0.5, "standing", "kill", "status", record_only=True),
    Plan(Ending("load", "kill", "supervisor"), 2.5, "mounted", "dir-slow", record_only=True),
)
"""Those of every build on three brokers, in the middle of their faults where they have any."""
