"""How a tracker redelivers, and what it did."""

from dataclasses import dataclass

from streamgauge.delivery.markers.tracking import MOST_OPEN


@dataclass(frozen=True, slots=True)
class Tracked:
    """How a tracker redelivers."""

    limit: int | None = 3
    """Redeliveries of a message, before it becomes a dead letter; None for no limit."""
    dead_letters: str | None = None
    """Topic of dead letters; that of the messages with `__undelivered` behind it by default."""
    silence_ms: int = 1_000
    """After so long without a marker in a partition, its clock is the wall clock."""
    most_open: int = MOST_OPEN
    """Messages of a partition that may be open; more is an error."""


@dataclass(slots=True)
class TrackerCounts:
    """What a tracker did."""

    markers: int = 0
    redelivered: int = 0
    dead: int = 0
    gone: int = 0
    """Messages that were due, and no longer in their topic."""
    failed: int = 0
    """Attempts to send that failed; each was, or will be, repeated."""
    no_markers: int = 0
    """Records in the topic of markers that are none."""
