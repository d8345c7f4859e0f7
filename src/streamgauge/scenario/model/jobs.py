"""The jobs that a pipeline under test can do."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_serializer

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.scenario.model.values import Duration, OneOf, ScenarioPart

Does = Literal["same", "subset", "changed", "aggregate"]
SAME: Final = "same"
"""Outputs every message unchanged."""
SUBSET: Final = "subset"
"""Outputs some messages unchanged; the job's predicate selects them."""
CHANGED: Final = "changed"
"""Outputs every message with changed content."""
AGGREGATE: Final = "aggregate"
"""An output row aggregates several messages; its stamp is that of the newest."""

Period = Annotated[Duration, Field(ge=100 * NS_PER_MS)]


def named_alone(value: object) -> object:
    """A name alone means the same as the name with nothing below it: every default."""
    if isinstance(value, str):
        return {value: {}}
    if isinstance(value, Mapping) and len(value) == 1:
        return {name: {} if below is None else below for name, below in value.items()}
    return value


class Pass(ScenarioPart):
    """Passes messages on unchanged."""


class Filter(ScenarioPart):
    """Keeps the values that contain a text."""

    contains: str = Field(default='" 500 ', min_length=1, max_length=1000)
    """Text to search for; by default the end of a request and the status 500, as in lines of the payload `logline`."""


class Count_(ScenarioPart):  # noqa: N801 - `Count` is a number here
    """Counts by key in windows of event time, output at every change."""

    window: Period = Field(default="10s", validate_default=True)
    """Duration of a window, at least 100ms."""
    watermark: Duration = Field(default="5s", validate_default=True)
    """Watermark delay: how late a message may be and still be counted."""


class Enrich(ScenarioPart):
    """Joins each message with a static table by key, and appends the match to the value."""

    rows: int = Field(default=1000, ge=1, le=1_000_000, strict=True)
    """Rows of the table: keys from `0` below this number."""


class Dedup(ScenarioPart):
    """Drops duplicates by their stamp."""

    watermark: Duration = Field(default="10s", validate_default=True)
    """Watermark delay: how long a message is remembered."""


class LogAlert(ScenarioPart):
    """Alerts from access log lines: the share of errors in a closed window, if it is too high."""

    window: Period = Field(default="10s", validate_default=True)
    """Duration of a window, at least 100ms."""
    watermark: Duration = Field(default="5s", validate_default=True)
    """Watermark delay: how late a line may be and still be counted."""
    share: float = Field(default=0.05, ge=0, le=1, allow_inf_nan=False)
    """Share of 5xx responses above which a window raises an alert; it is a sixth in the payload `logline`."""


class FeatureStore(ScenarioPart):
    """Aggregates by key of closed windows: count, sum and mean of sizes, first and last time."""

    window: Period = Field(default="10s", validate_default=True)
    """Duration of a window, at least 100ms."""
    watermark: Duration = Field(default="5s", validate_default=True)
    """Watermark delay: how late a message may be and still be counted."""


class Function(ScenarioPart):
    """Your function, from a streaming DataFrame to a streaming DataFrame."""

    call: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
    """Its name, like `package.module:function`; needs `--trust FOLDER` or `--allow-code`, or `--job`."""
    does: Does = CHANGED
    """Effect on messages: `same`, outputs all unchanged; `subset`, outputs some unchanged; `changed`, outputs all with
    changed content; `aggregate`, an output row aggregates several."""
    expects: str | None = Field(default=None, pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
    """For a subset: a Python predicate on key and value that selects the messages to expect."""
    output_mode: Literal["append", "update"] = "append"
    """Output mode of the query; in real-time mode it is always update."""


class Chosen(OneOf):
    """Exactly one of several keys, whose names may be invalid in Python."""

    @model_serializer(mode="wrap")
    def _written(self, dump: Any) -> dict[str, Any]:
        fields = type(self).model_fields
        found = {fields[name].alias or name: value for name, value in dump(self).items() if value is not None}
        return {name: {key: each for key, each in below.items() if each is not None} for name, below in found.items()}

    @property
    def name(self) -> str:
        """The name that scenarios give it."""
        field = self.chosen[0]
        return type(self).model_fields[field].alias or field


class PipelineJob(Chosen):
    """The job: one of these."""

    pass_: Pass | None = Field(default=None, alias="pass")
    """Passes messages on unchanged."""
    filter: Filter | None = None
    """Keep the values that contain a text, like `{contains: ERROR}`."""
    count: Count_ | None = None
    """Counts by key in windows, like `{window: 10s, watermark: 5s}`."""
    enrich: Enrich | None = None
    """Join with a static table by key, like `{rows: 1000}`."""
    dedup: Dedup | None = None
    """Drop duplicates by their stamp, like `{watermark: 10s}`."""
    log_alert: LogAlert | None = Field(default=None, alias="log-alert")
    """Alerts on the share of errors in access log lines, like `{share: 0.05}`."""
    feature_store: FeatureStore | None = Field(default=None, alias="feature-store")
    """Windowed aggregates by key, written to a table."""
    function: Function | None = None
    """Your function, like `{call: "package.module:function", does: changed}`."""

    @property
    def does(self) -> Does:
        """The effect on messages."""
        return self.function.does if self.function else DOES[self.name]

    @property
    def is_stateful(self) -> bool:
        """Whether it keeps something from one message to another; of a function of the user's that is not known."""
        return self.does == AGGREGATE or self.dedup is not None


DOES: Final[Mapping[str, Does]] = {
    "pass": SAME, "filter": SUBSET, "count": AGGREGATE, "enrich": CHANGED, "dedup": SUBSET, "log-alert": AGGREGATE,
    "feature-store": AGGREGATE,
}  # fmt: skip
