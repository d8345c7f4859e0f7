"""What the scenario in a run.json asks for, as far as figures are judged by it: how load is paced, and processed.

run.json is read as it stands, without the model of a scenario: it may come from an older version, or a newer one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.text.quantities import parse_duration_ns
from streamgauge.scenario.model.pipeline import (
    AGGREGATE,
    AVAILABLE_NOW,
    CHANGED,
    DOES,
    MICRO_BATCH,
    SUBSET,
    Does,
)

Asked = Mapping[str, Any]

CLOSED_LOOP: Final = "closed loop: the next batch is sent when the last one is acknowledged"
"""Why such a load has no schedule."""
NOT_HELD_BACK: Final = "nothing holds producers back"
"""Why there is nothing that a policy did."""

NOT_PIPED: Final = "nothing stands between the topic that is sent to and the one that is read"
"""Why there are no stages of a pipeline."""

_OFF: Final = (None, False, "off")
_CLOSED: Final = "closed"
_SHORTHANDS: Final = ("RAMP_", "SPIKE_")
_STEADY_SHAPES: Final = ("poisson", "windows")
"""Shapes that are the same at any time, in the long run."""


class Pace(Enum):
    """What decides when the next message is sent."""

    RATE = auto()
    """A schedule of one rate."""
    SHAPE = auto()
    """Another schedule."""
    FASTEST = auto()
    """The client's room for it."""
    CLOSED = auto()
    """The acknowledgement of those before: a closed loop."""

    @property
    def is_scheduled(self) -> bool:
        """Whether messages are due at some time."""
        return self in {Pace.RATE, Pace.SHAPE}


def part(scenario: Asked, *path: str) -> Asked:
    """A part of a scenario; empty where it is off or not there."""
    found: Any = scenario
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def is_on(scenario: Asked, *path: str) -> bool:
    """Whether a part of a scenario is there and not off."""
    *above, name = path
    return (part(scenario, *above) if above else scenario).get(name) not in _OFF


def pace_of(scenario: Asked) -> Pace:
    """How the load is paced."""
    rate = part(scenario, "load").get("rate")
    if rate == "max":
        return Pace.FASTEST
    if rate == _CLOSED or (isinstance(rate, Mapping) and _CLOSED in rate):
        return Pace.CLOSED
    if isinstance(rate, Mapping) or str(rate).startswith(_SHORTHANDS):
        return Pace.SHAPE
    return Pace.RATE


def is_steady(scenario: Asked) -> bool:
    """Whether a run is meant to be the same at any time of the measure phase: nothing changes, no fault is injected."""
    shape = part(scenario, "load", "rate")
    has_steady_load = pace_of(scenario) is not Pace.SHAPE or any(name in shape for name in _STEADY_SHAPES)
    is_left_alone = not scenario.get("faults")
    return has_steady_load and is_left_alone and not part(scenario, "consume", "processing").get("changes")


def is_read_committed(scenario: Asked) -> bool:
    """Whether consumers are not to see what was aborted, which is what clients do that are told nothing."""
    settings = part(scenario, "consume", "client")
    return bool(settings.get("isolation.level", "read_committed") == "read_committed")


@dataclass(frozen=True, slots=True)
class Delay:
    """How long processing is asked to take, from so many ns after the begin of the measure phase on."""

    from_ns: int
    mean_ns: float
    stddev_ns: float


def delays(scenario: Asked) -> Sequence[Delay]:
    """The delays that follow each other; the first also holds before. None where a function processes, or nothing."""
    processing = part(scenario, "consume", "processing")
    if processing.get("delay") is None or processing.get("function"):
        return ()
    changes = sorted(processing.get("changes") or (), key=lambda change: parse_duration_ns(change["at"]))
    exponential = bool(processing.get("exponential"))
    return [_delay(each, exponential=exponential) for each in (processing, *changes)]


def _delay(asked: Asked, *, exponential: bool) -> Delay:
    """An exponential delay deviates by its mean; jitter is uniform, so that it deviates by a square root of 1/12."""
    delay_ns, jitter_ns = (parse_duration_ns(asked.get(name) or 0) for name in ("delay", "jitter"))
    stddev_ns = math.hypot(delay_ns if exponential else 0, jitter_ns / math.sqrt(12))
    return Delay(parse_duration_ns(asked.get("at") or 0), delay_ns + jitter_ns / 2, stddev_ns)


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds producers back: `hysteresis` or `credit`."""

    name: str
    limit: int
    """Credit: messages outstanding at most; hysteresis: the lag above which producers pause."""
    resume: int | None
    """Hysteresis: the lag below which they go on."""
    poll_ms: float

    @property
    def is_credit(self) -> bool:
        """Whether it promises a bound."""
        return self.name == "credit"


def policy_of(scenario: Asked) -> Policy | None:
    """What holds producers back; None for nothing."""
    asked = part(scenario, "backpressure")
    name = next((name for name in ("credit", "hysteresis") if is_on(asked, name)), None)
    if name is None:
        return None
    said = part(asked, name)
    limit = said["limit"] if name == "credit" else said["max_lag"]
    resume = None if name == "credit" else said.get("resume_lag") or max(1, limit // 2)
    return Policy(name, limit, resume, parse_duration_ns(said["poll"]) / NS_PER_MS)


@dataclass(frozen=True, slots=True)
class Piped:
    """What stands between the topic that is sent to and the one that is read."""

    job: str
    does: Does
    """What becomes of messages: `same`, `subset`, `changed` or `aggregate`."""
    engine: str
    table: bool
    """Whether it writes a table instead of a topic."""

    @property
    def is_one_for_one(self) -> bool:
        """Whether every message is to come out by itself."""
        return self.does not in {SUBSET, AGGREGATE}

    @property
    def keeps_content(self) -> bool:
        """Whether what comes out has the bytes that went in, so that checksums say something."""
        return self.does not in {CHANGED, AGGREGATE}

    @property
    def batches(self) -> bool:
        """Whether a message waits for a batch to begin."""
        return self.engine in {MICRO_BATCH, AVAILABLE_NOW}


def piped_of(scenario: Asked) -> Piped | None:
    """What stands between the two topics; None for nothing. Of a job that is not known no loss can be told."""
    if not is_on(scenario, "pipeline"):
        return None
    asked = part(scenario, "pipeline")
    job, said = _chosen(asked, "job", "pass")
    does = said.get("does", AGGREGATE) if job == "function" else DOES.get(job, AGGREGATE)
    return Piped(job, does, _chosen(asked, "engine", MICRO_BATCH)[0], isinstance(asked.get("sink"), Mapping))


def _chosen(asked: Asked, name: str, default: str) -> tuple[str, Asked]:
    """The one of several that is asked for, by its name alone or with what is said of it."""
    given = asked.get(name)
    if not isinstance(given, Mapping):
        return (default if given is None else str(given)), {}
    chosen = next((each for each, said in given.items() if said is not None), default)
    return chosen, part(given, chosen)
