"""A share group on its cluster: its settings and where it begins, made before its consumers are started."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import BadInput, BrokerError, Fault
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.carriers.share.asking import ShareAsker, ShareOffsets

_WHERE: Final = "consume.acknowledge.share"


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Settings of a share group."""

    lock_ms: int
    limit: int
    """Redeliveries, at most."""
    isolation: str = "read_uncommitted"
    locks: int = 2_000
    heartbeat_ms: int | None = None
    """None for the default of the cluster, as of the next."""
    session_ms: int | None = None
    """After which a member that is silent is gone."""

    @property
    def deliveries(self) -> int:
        """How often the broker delivers a message at most: one time more than it is redelivered."""
        return self.limit + 1

    @property
    def settings(self) -> Mapping[str, tuple[str, str]]:
        """The cluster's name and the value of each, by its name in a scenario."""
        found = {
            "lock": ("share.record.lock.duration.ms", str(self.lock_ms)),
            "limit": ("share.delivery.count.limit", str(self.deliveries)),
            "isolation": ("share.isolation.level", self.isolation),
            "locks": ("share.partition.max.record.locks", str(self.locks)),
        }
        if self.heartbeat_ms is not None:
            found["heartbeat"] = ("share.heartbeat.interval.ms", str(self.heartbeat_ms))
        if self.session_ms is not None:
            found["session"] = ("share.session.timeout.ms", str(self.session_ms))
        return found


_EVERY_NS: Final = 200 * NS_PER_MS
"""A supervisor looks fifty times a second whether a group is done: that would take a fifth of a core."""
RESET: Final = "share.auto.offset.reset"
"""Where a group begins in a partition for which nobody has set it, as one that is added later."""
_EARLIEST: Final = "earliest"


class ShareGroups:
    """The share groups of a run, as they are prepared, asked about and removed."""

    def __init__(self, cluster: Cluster, groups: Sequence[str], settings: GroupSettings) -> None:
        self._cluster = cluster
        self._groups = groups
        self._settings = settings
        seconds = cluster.asker.timeout_seconds
        self._asker = ShareAsker(cluster.settings, seconds, seconds)

    def prepare(self) -> None:
        """Check that the cluster has share groups, and make the settings of these; raises BadInput with every fault."""
        if lacks := self._cluster.asker.awaited(self._asker.why_not):
            raise BadInput.single(_WHERE, lacks, "Use another cluster, or `acknowledge: {markers: {}}`")
        faults: dict[Fault, None] = {}
        for group in self._groups:
            for name, (theirs, value) in self._settings.settings.items():
                # One by one, so that each fault is told at its place.
                if wrong := self._cluster.set_group(group, {theirs: value}):
                    mend = "Write a value that the cluster allows, or open its bounds (group.share.*)"
                    faults[Fault(f"{_WHERE}.{name}", f"{theirs}={value}: {wrong}", mend)] = None
            self._cluster.set_group(group, {RESET: _EARLIEST})
        if faults:
            with contextlib.suppress(BrokerError):
                for group in self._groups:
                    self._unset(group)
            raise BadInput(list(faults))

    def begin(self, group: str, topic: str, offsets: Sequence[int]) -> None:
        """Let a group begin at these offsets; raises BrokerError where that fails."""
        self._cluster.asker.awaited(lambda: self._asker.begin(group, topic, offsets))

    def offsets(self, topics: Sequence[str], partitions: int) -> ShareOffsets:
        """How far the groups are."""
        return ShareOffsets(self._cluster.asker, self._asker, topics, partitions, self._groups, _EVERY_NS)

    def leave(self, group: str) -> None:
        """Remove a group and its settings; raises BrokerError where that fails."""
        self._cluster.delete_group(group)
        self._unset(group)

    def close(self) -> None:
        """Let go of the connections."""
        self._asker.close()

    def _unset(self, group: str) -> None:
        names = [RESET, *(theirs for theirs, _ in self._settings.settings.values())]
        self._cluster.set_group(group, dict.fromkeys(names))
