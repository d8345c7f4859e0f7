"""The model of an experiment file: its keys, and every default."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.values import Duration, ScenarioPart

PlanOrder = Literal["interleaved", "blocks", "as-written"]
BrokerUse = Literal["shared", "fresh"]

MOST_ROUNDS: Final = 1000
_SHARE: Final = "Write a share like 5%, or a number like 0.05"


def share(value: object) -> float:
    """The share that `5%` or 0.05 says; BadValue for anything that is not between 0.1 % and 100 %."""
    text, factor = (value[:-1], 0.01) if isinstance(value, str) and value.endswith("%") else (value, 1.0)
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise BadValue("not a share", _SHARE)
    try:
        found = float(text) * factor
    except (ValueError, OverflowError) as error:
        raise BadValue("not a share", _SHARE) from error
    if not 0.001 <= found <= 1:
        raise BadValue("not between 0.1% and 100%", _SHARE)
    return found


Share = Annotated[
    float,
    BeforeValidator(share),
    WithJsonSchema({"type": ["string", "number"], "x-form": "share", "examples": ["5%", 0.05]}),
]


def _base(value: object) -> object:
    if not isinstance(value, str | Mapping) or not value:
        raise BadValue("not a scenario", "Write the name of a shipped one, a YAML file, or the scenario itself")
    return value


Base = Annotated[Any, BeforeValidator(_base), WithJsonSchema({"type": ["string", "object"], "x-form": "scenario"})]


class Stop(ScenarioPart):
    """What ends an experiment before all rounds are done."""

    time: Duration | None = None
    """Begin no round that would end later than this after the start; the first round is always done. Not with
    `order: blocks`, which has no rounds to end between."""
    interval: Share | None = None
    """Stop when the ratio of the primary metric is known this well for every comparison: half the width of its
    interval, relative to the ratio. Looking after every round is allowed for: the interval is one of 97.5 %."""


class ExperimentFile(ScenarioPart):
    """Runs of one scenario that differ in what is varied."""

    name: str = Field(min_length=1, max_length=110, pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]*$")
    """Letters, digits, `.`, `_` and `-`; names the folder."""
    about: str = ""
    """What it is for, in a sentence."""
    scenario: Base
    """The base of all runs: a shipped scenario, a YAML file relative to this one, or the scenario itself."""
    set: Mapping[str, Any] = {}
    """Values of the base that all runs change, by their paths: `load.rate: 20k/s`."""
    vary: Mapping[str, Any] = {}
    """What differs. Each key is a path of the scenario, with a list of values, or a range such as `{from: 1, to: 64,
    times: 2}` or `{from: 0, to: 100, plus: 20}`. Several keys make a grid. `zip` holds paths whose lists advance
    together, `variants` holds named groups of settings."""
    skip: tuple[Mapping[str, Any], ...] = Field(default=(), alias="except")
    """Combinations to leave out, each by the values of some of its paths."""
    repeat: int = Field(default=5, ge=1, le=MOST_ROUNDS)
    """Rounds: how often each variant is run."""
    order: PlanOrder = "interleaved"
    """`interleaved`: each round visits all variants in a random order, and the next one in its reverse. `blocks`: all
    runs of a variant, then those of the next. `as-written`: every round in the order of the variants. The last two get
    figures and no verdict."""
    seed: int = Field(default=1, ge=0, lt=1 << 32)
    """Of the order."""
    broker: BrokerUse = "shared"
    """`shared`: one embedded broker for all runs, with new topics for each. `fresh`: one for each run."""
    settle: Duration = Field(default="30s", validate_default=True)
    """Longest wait before each run until the machine is quiet."""
    metric: str | None = Field(default=None, min_length=1, max_length=200)
    """The primary metric, by its path in result.json; by default p99 of the end-to-end response time."""
    again: bool = False
    """Whether a run that fails, or whose primary metric is not believed, is run once more. It stays counted."""
    stop: Stop = Stop()
    expect: tuple[str, ...] = ()
    """Expectations of variants: `variants.zstd.latency.end_to_end.response.p99_ms <= 20`, or beside another variant:
    `variants.zstd.throughput.acked_per_second >= 0.9 * variants.none.throughput.acked_per_second`. An interval decides:
    that of the mean, or of the ratio."""
