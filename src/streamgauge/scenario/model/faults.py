"""Faults to inject into a run."""

import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, model_serializer, model_validator

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import BadValue
from streamgauge.domain.query import DRIVER as DRIVER
from streamgauge.scenario.model.values import Duration, ScenarioPart

BROKER: Final = "broker"
CONTROLLER: Final = "controller"
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
        raise BadValue("not a fault target", f"Write one of {known}")
    return value


class Injected(ScenarioPart):
    """One fault to inject."""

    at: Duration
    """Time, counted from the start of the measure phase."""
    kind: FaultKind
    """`pause` stops the process and resumes it after `for`; `kill` ends it with SIGKILL. A killed broker is
    restarted after `for` with the data on its disk; a query is restarted at once."""
    target: Annotated[str, AfterValidator(_target)]
    """`producer-0`, `consumer-1` and so on; `producers` or `consumers` for all; `controller` of the
    backpressure policy; the embedded `broker`; of a pipeline `driver`, which is Spark's or the plain
    client, and on a cluster `executor-0` and so on, or `executors`."""
    for_: Annotated[Duration, Field(ge=NS_PER_MS)] | None = Field(default=None, alias="for")
    """Duration of a pause, or of a broker's outage, at least 1ms; not for other kills."""

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.kind == PAUSE and self.for_ is None:
            raise BadValue("a pause needs an end", "Write how long it lasts, like `for: 5s`")
        if self.kind == KILL and self.target == BROKER and self.for_ is None:
            raise BadValue("a killed broker is restarted", "Write when, like `for: 5s`")
        if self.kind == KILL and self.target != BROKER and self.for_ is not None:
            raise BadValue("a killed worker is not restarted", "Leave `for` out, or write `kind: pause`")
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
