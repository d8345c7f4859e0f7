"""What is done to a run while it runs: faults that are meant to be."""

import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, model_serializer, model_validator

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.values import Duration, ScenarioPart

BROKER: Final = "broker"
CONTROLLER: Final = "controller"
DRIVER: Final = "driver"
EXECUTOR: Final = "executor"
EXECUTORS: Final = 4
"""Executors of a query that can be told apart."""
_TARGET: Final = re.compile(
    r"(producer|consumer|executor)s|(producer|consumer)-(\d{1,3})"
    rf"|executor-[0-{EXECUTORS - 1}]|driver|controller|broker"
)


FaultKind = Literal["pause", "kill"]
PAUSE: Final = "pause"
KILL: Final = "kill"


def _target(value: str) -> str:
    if not _TARGET.fullmatch(value):
        known = "producer-0, consumer-0 (or another number), producers, consumers, controller, broker, driver"
        raise BadValue("no target of a fault", f"Write one of {known}")
    return value


class Injected(ScenarioPart):
    """One fault that is injected."""

    at: Duration
    """When, counted from the begin of the measure phase."""
    kind: FaultKind
    """`pause` stops the process and lets it go on after `for`; `kill` ends it at once. A broker that was killed is
    started again after `for`, with what it has on its disk; a query is started again by itself."""
    target: Annotated[str, AfterValidator(_target)]
    """The process of `producer-0`, of `consumer-1` and so on; `producers` or `consumers` for all; `controller`, which
    carries out the backpressure; `broker`, the embedded one; of a pipeline, `driver`, which is Spark's or the plain
    client, and on a cluster `executor-0` and so on, or `executors`."""
    for_: Annotated[Duration, Field(ge=NS_PER_MS)] | None = Field(default=None, alias="for")
    """How long a pause lasts, or a broker is gone, at least 1ms; no other kill has an end."""

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.kind == PAUSE and self.for_ is None:
            raise BadValue("a pause has to end", "Write how long it lasts, like `for: 5s`")
        if self.kind == KILL and self.target == BROKER and self.for_ is None:
            raise BadValue("a broker that is killed is started again", "Write when, like `for: 5s`")
        if self.kind == KILL and self.target != BROKER and self.for_ is not None:
            raise BadValue("what was killed does not come back", "Leave `for` out, or write `kind: pause`")
        return self

    @model_serializer(mode="wrap")
    def _said(self, dump: Any) -> dict[str, Any]:
        written = {("for" if name == "for_" else name): value for name, value in dump(self).items()}
        return {name: value for name, value in written.items() if value is not None}

    @property
    def role(self) -> str:
        """`producer`, `consumer`, `controller`, `broker`, `driver` or `executor`."""
        return self.target.partition("-")[0].removesuffix("s")

    @property
    def number(self) -> int | None:
        """The number of one producer, consumer or executor; None for all, and for targets of which there is one."""
        _, _, number = self.target.partition("-")
        return int(number) if number else None
