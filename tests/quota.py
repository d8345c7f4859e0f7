"""A control group of the tests' own, whose CPU quota can be set: as root, where the machine has cgroups."""

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from tests.waiting import until

PERIOD_US: Final = 100_000
_PLACES: Final = ((1, Path("/sys/fs/cgroup/cpu")), (2, Path("/sys/fs/cgroup")))


@dataclass(frozen=True, slots=True)
class QuotaGroup:
    """A group; processes enter it by what `entering` says, and stay in it with all that they start."""

    version: int
    path: Path

    def limit(self, cores: float | None) -> None:
        """Set the quota; None lifts it."""
        if self.version == 2:
            quota = "max" if cores is None else str(round(cores * PERIOD_US))
            (self.path / "cpu.max").write_text(f"{quota} {PERIOD_US}")
        else:
            (self.path / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.path / "cpu.cfs_quota_us").write_text("-1" if cores is None else str(round(cores * PERIOD_US)))

    def entering(self, *command: str) -> Sequence[str]:
        """The command, begun within the group."""
        return ("sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.path / "cgroup.procs"), *command)

    def _is_empty(self) -> bool:
        return not (self.path / "cgroup.procs").read_text().strip()

    def remove(self) -> None:
        """Remove it when the last process has left."""
        until(self._is_empty)
        self.path.rmdir()


@contextlib.contextmanager
def quota_group() -> Iterator[QuotaGroup]:
    """A group that is gone afterwards. Skips, and says what is missing, where none can be made."""
    lacking = []
    for version, place in _PLACES:
        group = QuotaGroup(version, place / f"streamgauge-test-{os.getpid()}")
        try:
            group.path.mkdir()
        except OSError as error:
            lacking.append(f"{group.path} cannot be made: {error.strerror}")
            continue
        try:
            group.limit(None)
        except OSError as error:
            lacking.append(f"no CPU quota can be set in {group.path}: {error.strerror}")
            group.remove()
            continue
        try:
            yield group
        finally:
            group.limit(None)
            group.remove()
        return
    what = "Linux" if sys.platform != "linux" else "root, and a cgroup whose CPU quota can be set"
    pytest.skip(f"this needs {what}: {'; '.join(lacking)}")
