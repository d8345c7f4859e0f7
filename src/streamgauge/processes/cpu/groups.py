"""The control groups that this process, and those that it starts, are in; where there are none, nothing is known."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streamgauge.processes.cpu.quotas import (
    Folder,
    Quota,
    Throttling,
    folders,
    quota_v1,
    quota_v2,
    throttling,
    together,
)


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups that limit this process by one controller, the innermost first."""

    places: Mapping[Path, Folder]
    """Those that are there."""

    @classmethod
    def of_this_process(cls, controller: str = "cpu", root: Path = Path("/")) -> "Groups":
        """Those of this process; /proc and /sys are looked for below `root`."""
        asked = folders(text_of(root / "proc/self/cgroup") or "", text_of(root / "proc/self/mountinfo"), controller)
        places = {root / each.path.relative_to("/"): each for each in asked}
        return cls({place: each for place, each in places.items() if place.is_dir()})

    def quota(self) -> Quota | None:
        """The tightest CPU quota; of infinite cores where none is set, None where that cannot be known."""
        if not self.places:
            return None
        known = [each for place in self.places if (each := self._quota(place)) is not None]
        return min(known, key=lambda each: each.cores, default=Quota(math.inf, 0))

    def throttling(self) -> Throttling | None:
        """How CPU quotas have stopped the threads of these groups so far; None where that cannot be known."""
        told = (throttling(text_of(place / "cpu.stat"), self._quota(place)) for place in self.places)
        return together(each for each in told if each is not None)

    def _quota(self, place: Path) -> Quota | None:
        if self.places[place].version == 2:
            return quota_v2(text_of(place / "cpu.max"))
        return quota_v1(text_of(place / "cpu.cfs_quota_us"), text_of(place / "cpu.cfs_period_us"))


def text_of(path: Path) -> str | None:
    """What a file says, without its last line end; None where it cannot be read or says nothing."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None
