"""Profiles as an earlier version wrote them into run.json."""

from collections.abc import Mapping
from typing import Any

LATER = {"timeouts_ms", "bytes_per_partition"}
LATER_OF_PARTS = {"load": {"processes", "batch"}, "consume": {"groups", "processes"}}


def without_later(profile: Mapping[str, Any]) -> dict[str, Any]:
    """A profile of today without the keys that came to it after format 2 was first written."""
    parts = {
        part: {name: value for name, value in profile[part].items() if name not in later}
        for part, later in LATER_OF_PARTS.items()
    }
    return {name: value for name, value in profile.items() if name not in LATER} | parts
