"""What every fault says: when it begins and how long it lasts."""

from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import Field, model_serializer, model_validator

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.environment.faults.targets import ByRole
from streamgauge.scenario.model.environment.faults.when import Condition
from streamgauge.scenario.model.values import Duration, ScenarioPart

BROKER: Final = "broker"
PAUSE: Final = "pause"
KILL: Final = "kill"
SHORTEST_NS: Final = 100 * NS_PER_MS
"""Between the begins of repeated faults: what is done is looked at every 20 ms."""


class ScheduledFault(ScenarioPart):
    """One fault to inject."""

    is_alone: ClassVar[bool] = False
    """Whether its target cannot be under another such fault at the same time."""

    at: Duration = Field(default="0s", validate_default=True)
    """Time, counted from the start of the measure phase; with `when`, the earliest time."""
    when: Condition | None = None
    """Condition to wait for, like `{received: 100k}` or `{lag: "> 5k"}`; begins once, unless `every` repeats it."""
    every: Annotated[Duration, Field(ge=SHORTEST_NS)] | None = None
    """Interval of repetitions, at least 100ms, to the end of the measure phase; each waits for the end of the one
    before."""
    for_: Annotated[Duration, Field(ge=NS_PER_MS)] | None = Field(default=None, alias="for")
    """How long it lasts, at least 1ms."""

    @model_validator(mode="after")
    def _begins(self) -> Self:
        if self.when is None and "at" not in self.model_fields_set:
            raise BadValue("it has no start time", "Write `at: 10s`, or `when: {received: 100k}`")
        if self.every is not None and (self.for_ or 0) >= self.every:
            raise BadValue("is repeated before it has ended", "Write a longer `every`, or a shorter `for`")
        return self

    @property
    def by_role(self) -> ByRole | None:
        """The role that the target is looked up by when the fault begins; None for a name."""
        return None

    @property
    def needs_own_cluster(self) -> bool:
        """Whether it can be done to an embedded cluster only."""
        return False

    @property
    def detail(self) -> str | None:
        """What it does, in short, where its kind and its target do not say that."""
        return None

    @model_serializer(mode="wrap")
    def _said(self, dump: Any) -> dict[str, Any]:
        written = {("for" if name == "for_" else name): value for name, value in dump(self).items()}
        return {name: value for name, value in written.items() if value is not None}
