"""Whether more of a figure is better, or less of it: one rule for all figures of the result."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

_COUNTS: Final = "delivery*"
"""Counts of the whole run, of the measure phase and of each group."""

RULES: Final[Mapping[str, bool | None]] = {
    "throughput.target_per_second": None,
    "throughput.*_per_second": True,
    # A consumer that is faster waits longer for messages.
    "latency.poll*": None,
    "latency.*_ms": False,
    "latency.*_ms2": False,
    "steps.*.target_per_second": None,
    "steps.*_per_second": True,
    "steps.*_ms": False,
    "steps.*_ms2": False,
    "schedule_delay.*_ms": False,
    "connections.*.per_second": True,
    "connections.*.made": True,
    "connections.*.held": True,
    "connections.*": False,
    f"{_COUNTS}.sent": True,
    f"{_COUNTS}.acked": True,
    f"{_COUNTS}.received": True,
    f"{_COUNTS}.delivered_once": True,
    f"{_COUNTS}.delivered_share": True,
    # What a scenario asks for, and parts of other counts.
    f"{_COUNTS}.checked": None,
    f"{_COUNTS}.checked_share": None,
    f"{_COUNTS}.unread": None,
    f"{_COUNTS}.aborted": None,
    f"{_COUNTS}.fate_unknown_received": None,
    f"{_COUNTS}.seen_elsewhere": None,
    f"{_COUNTS}.*": False,
    "lag.*.*": False,
    # Lag that grows slowly exceeds the tolerance late.
    "recovery.*.detected_s": None,
    "recovery.*_per_second": True,
    "recovery.*": False,
    "pipeline.stages.*_ms": False,
    "resources.cpu_us_per_message.*": False,
    "resources.garbage_collection.*": False,
}
"""Paths of figures, and whether more is better; None where nobody can say. The first that fits counts."""


def more_is_better(path: str) -> bool | None:
    """Whether more of the figure at this path of result.json is better (True), or less (False).

    None where that cannot be said, also of paths of no figure.
    """
    return next((rule for pattern, rule in RULES.items() if fnmatchcase(path, pattern)), None)
