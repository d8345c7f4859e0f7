"""Faults of disks: the log directories of brokers of our own, and what lies in them."""

import re
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import format_duration
from streamgauge.scenario.model.environment.faults.families import ONE_DIRECTORY, TRUNCATE_TAIL
from streamgauge.scenario.model.environment.faults.fault import BROKER, ScheduledFault
from streamgauge.scenario.model.environment.faults.targets import ROLES, ByRole, by_role
from streamgauge.scenario.model.values import Duration, ManyBytes

SLOW: Final = "dir-slow"
MOST_DIRECTORIES: Final = 4
"""Log directories that a broker may have."""
_CUT_BYTES: Final = 65_536
_SLOW_NS: Final = 100 * NS_PER_MS
_TARGET: Final = re.compile(r"brokers?|broker-[1-9]")

DiskFaultKind = Literal[
    "disk-fails", "lose-data", "truncate-tail", "dir-fails", "dir-unreadable", "dir-full", "dir-slow"
]


def _broker(value: str) -> str:
    looked_up = by_role(value)
    if not _TARGET.fullmatch(value) and (looked_up is None or looked_up.any_of != BROKER):
        raise BadValue("not a broker", f"Write one of broker-1 (or another number), brokers, {ROLES}")
    return value


class DiskFault(ScheduledFault):
    """One fault of a broker's disk."""

    is_alone: ClassVar[bool] = True

    kind: DiskFaultKind
    """`disk-fails`: every write to a log directory fails, and Kafka ends the broker, which is started again after
    `for`. `lose-data`: the broker is killed and its log directories are emptied; it is started again after `for`, with
    its metadata. `truncate-tail`: the broker is killed, the end of every partition is cut off, and it is started again
    after `for`. The others are done to one of several log directories, and need FUSE: `dir-fails` (reads and writes
    fail), `dir-unreadable` (reads fail), `dir-full` (writes find no space), `dir-slow` (both take longer)."""
    target: Annotated[str, AfterValidator(_broker)]
    """`broker-1` and so on of the embedded cluster, `brokers` for all, or `broker` if there is one; by role, which is
    looked up when the fault begins, as in faults of processes: `leader-of:0`, `follower-of:0`, `active-controller`,
    `coordinator`, `random-broker`."""
    for_: Annotated[Duration, Field(ge=NS_PER_MS)] = Field(alias="for")
    """How long it lasts, at least 1ms."""
    bytes: Annotated[ManyBytes, Field(ge=1)] | None = None
    """With `truncate-tail`, how much of each partition is cut off, at most its last segment; `64KiB` by default."""
    directory: int | None = Field(default=None, ge=1, le=MOST_DIRECTORIES, strict=True)
    """With `dir-fails` and so on, which of the log directories, from 1; by default the last one."""
    delay: Annotated[Duration, Field(ge=NS_PER_MS)] | None = None
    """With `dir-slow`, how much longer each read and write takes, at least 1ms; `100ms` by default."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        of = {"bytes": (TRUNCATE_TAIL,), "directory": ONE_DIRECTORY, "delay": (SLOW,)}
        for name, kinds in of.items():
            if getattr(self, name) is not None and self.kind not in kinds:
                raise BadValue(f"{self.kind} has no {name}", f"Leave it out, or write kind: {' or '.join(kinds)}")
        return self

    @property
    def by_role(self) -> ByRole | None:
        """The role that the target is looked up by when the fault begins; None for a name."""
        return by_role(self.target)

    @property
    def role(self) -> str:
        """`broker`."""
        return BROKER

    @property
    def number(self) -> int | None:
        """The number of one broker; None for all, where there is only one, and where it is not known before."""
        _, _, number = ("", "", "") if self.by_role else self.target.partition("-")
        return int(number) if number else None

    @property
    def first(self) -> int:
        """The lowest number of a broker: they are counted from 1, as Kafka counts nodes."""
        return 1 if self.number is not None else 0

    @property
    def is_of_one_directory(self) -> bool:
        """Whether it is done to one of several log directories."""
        return self.kind in ONE_DIRECTORY

    @property
    def cut_bytes(self) -> int:
        """How much of each partition is cut off."""
        return self.bytes or _CUT_BYTES

    @property
    def delay_ns(self) -> int:
        """How much longer reads and writes take."""
        return self.delay or _SLOW_NS

    @property
    def needs_own_cluster(self) -> bool:
        """The disks of the user's cluster are not ours to break."""
        return True

    @property
    def detail(self) -> str | None:
        """How much, where it is a matter of that."""
        if self.kind == TRUNCATE_TAIL:
            return f"{self.cut_bytes} bytes of each partition"
        if self.kind == SLOW:
            return format_duration(self.delay_ns)
        return f"directory {self.directory}" if self.directory else None
