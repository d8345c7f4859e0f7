"""Faults of processes: workers, brokers of our own, and the processes of a pipeline."""

from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import BadValue
from streamgauge.domain.query import DRIVER as DRIVER
from streamgauge.scenario.model.environment.faults.families import known_kind
from streamgauge.scenario.model.environment.faults.fault import BROKER, KILL, PAUSE, ScheduledFault
from streamgauge.scenario.model.environment.faults.targets import EXECUTORS as EXECUTORS
from streamgauge.scenario.model.environment.faults.targets import QUORUM as QUORUM
from streamgauge.scenario.model.environment.faults.targets import ByRole, by_role, process_target, role_of
from streamgauge.scenario.model.values import Duration

CONTROLLER: Final = "controller"
EXECUTOR: Final = "executor"
STOP: Final = "stop"
RESTART: Final = "restart"
ROLLING_RESTART: Final = "rolling-restart"
NODES: Final = frozenset({BROKER, QUORUM})
"""The roles of what can be started again."""
_CONSUMER: Final = "consumer"

ProcessFaultKind = Literal["pause", "kill", "stop", "restart", "rolling-restart"]


class ProcessFault(ScheduledFault):
    """One fault of a process."""

    is_alone: ClassVar[bool] = True

    kind: Annotated[ProcessFaultKind, BeforeValidator(known_kind)]
    """`pause` stops the process and resumes it after `for`; `kill` ends it with SIGKILL; `stop` ends it in order, with
    SIGTERM. A broker or a controller that was killed or stopped is started again after `for` with the data on its disk;
    a stopped consumer leaves its group and does not return; a killed query is restarted at once. `restart` stops a
    broker or a controller and starts it again as soon as it has ended; `rolling-restart` does so with one broker after
    the other."""
    target: Annotated[str, AfterValidator(process_target)]
    """`producer-0`, `consumer-1`, `tracker-0` and so on; `producers`, `consumers` or `trackers` for all; `controller`
    of the backpressure policy; `broker-1` and so on of the embedded cluster, `brokers` for all, or `broker` if there is
    one; `controller-1` and so on, controllers apart from the brokers; of a pipeline `driver`, which is Spark's or the
    plain client, and on a cluster `executor-0` and so on, or `executors`. By role, which is looked up when the fault
    begins: `leader-of:0` and `follower-of:0` of a partition, `leader-of:TOPIC/0` if there are several topics,
    `active-controller` of the cluster, `coordinator` of the run's group or `coordinator-of:GROUP`; `random-broker`,
    `random-consumer` or `random-producer`, chosen with `seed`."""
    between: Duration | None = None
    """`rolling-restart`: time between the return of one broker to the in-sync replicas and the restart of the next, 0s
    by default."""
    for_: Annotated[Duration, Field(ge=NS_PER_MS)] | None = Field(default=None, alias="for")
    """Duration of a pause, or of a broker's outage, at least 1ms; not for a restart, or the end of a worker."""

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.kind == PAUSE and self.for_ is None:
            raise BadValue("a pause needs an end", "Write how long it lasts, like `for: 5s`")
        if self.kind in {RESTART, ROLLING_RESTART}:
            self._restarts()
        elif self.kind in {KILL, STOP} and self.role in NODES and self.for_ is None:
            node = CONTROLLER if self.role == QUORUM else BROKER
            raise BadValue(
                f"a {_DONE[self.kind]} {node} needs a time until it starts again",
                "Write how long it is down, like `for: 5s`",
            )
        elif self.kind in {KILL, STOP} and self.role not in NODES and self.for_ is not None:
            raise BadValue(f"a {_DONE[self.kind]} worker is not restarted", "Leave `for` out, or write `kind: pause`")
        if self.kind == STOP and self.role not in {*NODES, _CONSUMER}:
            raise BadValue(f"a {self.role} cannot be stopped in order", "Write `kind: kill` or `kind: pause`")
        if self.between is not None and self.kind != ROLLING_RESTART:
            raise BadValue("`between` belongs to a rolling restart", "Leave `between` out")
        return self

    def _restarts(self) -> None:
        if self.role not in NODES:
            raise BadValue(f"a {self.role} cannot be restarted", "Write `kind: kill` or `kind: pause`")
        if self.for_ is not None:
            raise BadValue("a restart ends by itself", "Leave `for` out, or write `kind: stop`")
        if self.kind == ROLLING_RESTART and self.target != f"{BROKER}s":
            raise BadValue("a rolling restart is one of all brokers", "Write `target: brokers`, or `kind: restart`")

    @property
    def by_role(self) -> ByRole | None:
        """The role that the target is looked up by when the fault begins; None for a name."""
        return by_role(self.target)

    @property
    def needs_own_cluster(self) -> bool:
        """A node of the user's is not ours to stop."""
        return self.role in NODES

    @property
    def role(self) -> str:
        """`producer`, `consumer`, `tracker`, `controller`, `broker`, `quorum`, `driver` or `executor`."""
        return role_of(self.target)

    @property
    def number(self) -> int | None:
        """The number of one producer, consumer, broker or executor; None for all, and where it is not known before."""
        _, _, number = ("", "", "") if self.by_role else self.target.partition("-")
        return int(number) if number else None

    @property
    def first(self) -> int:
        """The lowest number of a target of this role: nodes are counted from 1, as Kafka counts them."""
        return 1 if self.role in NODES and self.number is not None else 0


_DONE: Final = {KILL: "killed", STOP: "stopped"}
