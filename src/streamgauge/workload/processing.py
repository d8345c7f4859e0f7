"""What slows a consumer down, as arithmetic: how long each message takes, which are skipped, how many it may take."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.workload.failing import NEVER_FAILS, Failing
from streamgauge.workload.pacing import Int64s

if TYPE_CHECKING:
    from streamgauge.scenario.model.pacing.processing import Processing

_DELAYS, _SKIPS = 31, 32
"""What is drawn, in the seed of each: no two kinds of draws share their numbers."""
_CHUNK: Final = 1024
NEVER: Final = 1 << 62
"""A time in ns that does not come."""
CATCH_UP_NS: Final = 20 * NS_PER_MS
"""What a consumer did not take while it could is made up for at most so long."""
EVEN_NS: Final = NS_PER_MS
"""A fast allowance is used in bites of so long: polling for each message alone would cost more than the message."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """How long processing takes from a moment on, in ns after the begin of the measure phase."""

    at_ns: int
    delay_ns: int
    jitter_ns: int


@dataclass(frozen=True, slots=True)
class Handling:
    """How a consumer processes messages: plain values, which a worker is given instead of a part of a scenario."""

    stretches: tuple[Stretch, ...]
    """By rising time; the first one begins long before the measure phase."""
    exponential: bool = False
    skip: float = 0.0
    """Share of the messages that are never processed."""
    function: str | None = None
    """The user's, `package.module:name`, which takes the place of delays."""
    slots: int | None = 1
    """Messages processed at once; None for one of each partition."""
    failing: Failing = NEVER_FAILS
    """Which deliveries fail, or take too long."""


def handling_of(processing: "Processing", timeout_ns: int = 0) -> Handling:
    """How messages are processed that a scenario says this of, where they are to be acknowledged in that time."""
    overrun = processing.overrun
    return Handling(
        stretches(processing),
        processing.exponential,
        processing.skip,
        processing.function,
        None if processing.order == "partitions" else processing.slots,
        Failing(
            processing.fail,
            processing.poison,
            overrun.share if overrun else 0.0,
            overrun.lasts_ns(timeout_ns) if overrun else 0,
        ),
    )


def stretches(processing: "Processing") -> tuple[Stretch, ...]:
    """The first delay, from long before the measure phase on, and its changes, by rising time."""
    first = Stretch(-NEVER, processing.delay, processing.jitter)
    return (first, *(Stretch(change.at, change.delay, change.jitter) for change in processing.changes))


def draws(stretch: Stretch, *, exponential: bool, count: int, random: np.random.Generator) -> Int64s:
    """`count` times in ns: the delay, or one of an exponential distribution around it, and a jitter in [0, jitter)."""
    delays = random.exponential(stretch.delay_ns, count) if exponential else np.full(count, float(stretch.delay_ns))
    return (delays + random.random(count) * stretch.jitter_ns).astype(np.int64)


class Delays:
    """How long the messages of one consumer take, one after the other; `who` tells its draws from those of others."""

    def __init__(self, handling: Handling, seed: int, who: Sequence[int]) -> None:
        self._stretches = handling.stretches
        self._exponential = handling.exponential
        self._skip = handling.skip
        self._failing = handling.failing
        self._seed = seed
        self._random = np.random.default_rng([seed, _DELAYS, *who])
        self._skipping = np.random.default_rng([seed, _SKIPS, *who])
        self._ready: list[int] = []
        self._place = 0
        self._zero_ns: int | None = None
        self._change_ns = NEVER
        self._enter(0)

    def begin(self, zero_ns: int) -> None:
        """Learn when the measure phase begins: changes count from it."""
        self._zero_ns = zero_ns
        self._enter(self._place)

    def look(self, now_ns: int) -> None:
        """Follow the changes up to now."""
        while now_ns >= self._change_ns:
            self._enter(self._place + 1)

    @property
    def none(self) -> bool:
        """Whether messages take no time at present."""
        stretch = self._stretches[self._place]
        return stretch.delay_ns == stretch.jitter_ns == 0 and not self._failing.overrun

    def next_ns(self) -> int:
        """How long the next message takes."""
        if not self._ready:
            stretch = self._stretches[self._place]
            ready = draws(stretch, exponential=self._exponential, count=_CHUNK, random=self._random)
            self._ready = ready[::-1].tolist()
        return self._ready.pop()

    def skipped(self, count: int) -> NDArray[np.bool_] | None:
        """Which of the next messages are never processed; None where none can be."""
        return self._skipping.random(count) < self._skip if self._skip else None

    def failed(self, producers: Any, seqs: Any, deliveries: Any) -> NDArray[np.bool_] | None:
        """Which deliveries fail, by columns of their messages; None where none can."""
        return self._failing.failed(self._seed, producers, seqs, deliveries) if self._failing.fails else None

    def overran(self, producers: Any, seqs: Any, deliveries: Any) -> NDArray[np.bool_] | None:
        """Which deliveries take `overrun_ns`, by columns of their messages; None where none can."""
        return self._failing.overran(self._seed, producers, seqs, deliveries) if self._failing.overrun else None

    @property
    def overrun_ns(self) -> int:
        """How long these take."""
        return self._failing.overrun_ns

    def _enter(self, place: int) -> None:
        self._place = place
        self._ready.clear()
        later = self._stretches[place + 1 :]
        self._change_ns = self._zero_ns + later[0].at_ns if later and self._zero_ns is not None else NEVER


@dataclass(slots=True)
class Allowance:
    """How many messages may be taken so that they are `per_second` and spread evenly.

    Message n + 1 may be taken one interval after message n; what could have been taken and was not counts for
    `CATCH_UP_NS` only, so that a pause is followed by no burst.
    """

    per_second: float
    _interval_ns: float = field(init=False)
    _free_ns: float | None = None
    """When the next message may be taken; None before the first."""

    def __post_init__(self) -> None:
        """Find the interval."""
        self._interval_ns = NS_PER_SECOND / self.per_second

    def room(self, now_ns: int) -> int:
        """How many messages may be taken now."""
        if now_ns < self.ready_ns:
            return 0
        self._free_ns = now_ns if self._free_ns is None else max(self._free_ns, now_ns - CATCH_UP_NS)
        return int((now_ns - self._free_ns) / self._interval_ns) + 1

    def take(self, count: int) -> None:
        """Note that so many of those that there was room for were taken."""
        if self._free_ns is not None:
            self._free_ns += count * self._interval_ns

    @property
    def ready_ns(self) -> int:
        """When it is worth asking again: for one message, or for those of `EVEN_NS` where they follow closely."""
        if self._free_ns is None:
            return 0
        return math.ceil(self._free_ns + max(0.0, EVEN_NS - self._interval_ns))
