"""Rates and shapes as they are written: what they mean, what they become, and every fault of a wrong one."""

import json
from typing import Any

import jsonschema
import pytest
from pydantic import Field, ValidationError

from streamgauge.scenario.model.pacing.pace import Pacing, closed_batch, mean_rate
from streamgauge.scenario.model.values import ScenarioPart
from streamgauge.workload.pacing import count_before
from streamgauge.workload.pacing.build import pacer_of

SECOND = 1_000_000_000


class Written(ScenarioPart):
    """A part with a rate, as a load is one."""

    rate: Pacing = Field(default="10k/s", validate_default=True)
    """Rate."""


def rate_of(written: Any) -> Any:
    return Written.model_validate({"rate": written}).rate


def plain(written: Any) -> Any:
    return Written.model_validate({"rate": written}).model_dump(mode="json")["rate"]


def fault_of(written: Any) -> tuple[str, str]:
    """Where the only fault is, and what it says."""
    with pytest.raises(ValidationError) as caught:
        rate_of(written)
    (error,) = caught.value.errors()
    return ".".join(str(step) for step in error["loc"] if step != "(made)" and step != "(plain)"), error["msg"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("10k/s", "10k/s"),
        (200, "200/s"),
        (" max ", "max"),
        ("closed", "closed"),
        ("RAMP_5_100_2k_30s", {"steps": {"from": "100/s", "to": "2k/s", "steps": 5, "each": "30s"}}),
        ("RAMP_5_0_1.5k_1.5", {"steps": {"from": "0/s", "to": "1500/s", "steps": 5, "each": "1500ms"}}),
        ("RAMP", {"steps": {"from": "1k/s", "to": "10k/s", "steps": 10, "each": "1m"}}),
        ("RAMP__2k", {"steps": {"from": "2k/s", "to": "10k/s", "steps": 10, "each": "1m"}}),
        ("SPIKE_1K_1M_5m_10", {"spike": {"base": "1k/s", "peak": "1000k/s", "at": "5m", "for": "10s"}}),
        ("SPIKE_", {"spike": {"base": "1k/s", "peak": "1000k/s", "at": "5m", "for": "10s"}}),
        (
            [{"rate": "1k/s", "for": "10s"}, {"rate": 0, "to": "5k/s", "for": "2m"}],
            {
                "segments": {
                    "list": [{"rate": "1k/s", "for": "10s"}, {"rate": "0/s", "to": "5k/s", "for": "2m"}],
                    "then": "hold",
                }
            },
        ),
        (
            {"segments": [{"rate": 5, "for": "1s"}]},
            {"segments": {"list": [{"rate": "5/s", "for": "1s"}], "then": "hold"}},
        ),
        (
            {"windows": {"messages": "1k", "window": "100ms"}},
            {"windows": {"messages": 1000, "window": "100ms", "deviation": 0.0, "hold": 1, "spread": False}},
        ),
        ({"poisson": {"rate": "90/m"}}, {"poisson": {"rate": "1.5/s"}}),
        ({"replay": {"file": "a.csv", "column": "at"}}, {"replay": {"file": "a.csv", "column": "at", "scale": 1.0}}),
        ({"replay": {"file": "a.txt"}}, {"replay": {"file": "a.txt", "scale": 1.0}}),
        ({"closed": {}}, {"closed": {"batch": 1}}),
        (
            {"closed": {"batch": {"uniform": {"from": 2, "to": 9}}}},
            {"closed": {"batch": {"uniform": {"from": 2, "to": 9}}}},
        ),
        (
            {"closed": {"batch": {"gaussian": {"mean": 50, "deviation": 5}}}},
            {"closed": {"batch": {"gaussian": {"mean": 50, "deviation": 5}}}},
        ),
    ],
)
def test_what_is_written_becomes_plain_values_that_mean_the_same(written: Any, expected: Any) -> None:
    """Shorthands are written out, defaults too; what is not said is not there."""
    assert plain(written) == expected
    assert rate_of(json.loads(json.dumps(expected))) == rate_of(written)


@pytest.mark.parametrize(
    "shape",
    [
        {"ramp": {"from": "1k/s", "to": "10k/s", "over": "1m"}},
        {"steps": {"from": "1k/s", "to": "0/s", "steps": 2, "each": "1m"}},
        {"spike": {"base": "0/s", "peak": "10k/s", "at": "0s", "for": "5s"}},
        {"segments": {"list": [{"rate": "1k/s", "to": "5k/s", "for": "10s"}], "then": "repeat"}},
        {"burst": {"base": "0.333/s", "burst": "15k/s", "for": "3s", "every": "12s"}},
        {"windows": {"messages": 500, "window": "100ms", "deviation": 50.5, "hold": 10, "spread": True}},
        {"poisson": {"rate": "0.001/s"}},
        {"replay": {"file": "runs/x", "scale": 0.5}},
        {"closed": {"batch": 10}},
    ],
)
def test_a_shape_that_is_written_out_stays_as_it_is(shape: dict[str, Any]) -> None:
    assert plain(shape) == shape
    jsonschema.validate({"rate": shape}, Written.model_json_schema())


@pytest.mark.parametrize(
    ("written", "where", "says"),
    [
        ("10q", "rate", "not a rate; write messages a second like 10k/s or 200/s, max, closed, or a shape like {ramp:"),
        (None, "rate", "not a rate; write messages a second"),
        (True, "rate", "not a rate; write messages a second"),
        (
            0,
            "rate",
            "a rate lies between 0.001/s and 100,000,000/s; write `max` for as fast as possible, or `load: off`",
        ),
        ("200m/s", "rate", "a rate lies between 0.001/s and 100,000,000/s"),
        ("ramp_5", "rate", "not a rate"),
        ("RAMP_x", "rate", "`x`: not a whole number; write RAMP_steps_from_to_length, like RAMP_10_1k_10k_1m"),
        ("RAMP_2_x", "rate", "`x`: not a rate; write RAMP_"),
        ("RAMP_2_1_2_3q", "rate", "`3q`: not a duration; write RAMP_"),
        ("RAMP_2_1_2_3_4", "rate", "has 5 parts, not 4; write RAMP_"),
        ("RAMP_1", "rate.steps.steps", "greater than or equal to 2"),
        ("RAMP_2_1_2_0", "rate.steps.each", "a duration of 0s; write a duration like 30s"),
        ("SPIKE_1k_x", "rate", "`x`: not a rate; write SPIKE_base_peak_before_length, like SPIKE_1k_1M_5m_10s"),
        ("SPIKE_1k_200M", "rate", "`200M`: a rate lies between 0.001/s and 100,000,000/s; write SPIKE_"),
        ("SPIKE_1k_0", "rate.spike.peak", "a rate lies between 0.001/s"),
        ([], "rate.segments", "the rate is 0/s throughout"),
        ([{"rate": 0, "for": "1s"}], "rate.segments", "the rate is 0/s throughout; write a rate above 0/s"),
        ([{"rate": 1}], "rate.segments.list.0.for", "Field required"),
        ([{"rate": 1, "for": "0s"}], "rate.segments.list.0.for", "a duration of 0s; write a duration"),
        ({}, "rate", "no key is given; write one of ramp, steps,"),
        ({"poisson": None}, "rate", "no value below it; write a value"),
        ({"ramp": {}, "burst": {}}, "rate", "2 keys instead of one; write one of ramp, steps,"),
        ({"rampe": {}}, "rate.rampe", "Extra inputs"),
        ({"ramp": {"from": 0, "to": 0, "over": "1s"}}, "rate.ramp", "the rate is 0/s throughout"),
        ({"ramp": {"from": "max", "to": 1, "over": "1s"}}, "rate.ramp.from", "like 10k/s or 200/s"),
        ({"ramp": {"from": 0.0001, "to": 1, "over": "1s"}}, "rate.ramp.from", "a rate lies between 0.001/s"),
        ({"steps": {"from": 0, "to": 0, "steps": 2, "each": "1s"}}, "rate.steps", "the rate is 0/s throughout"),
        (
            {"burst": {"base": 1, "burst": 2, "for": "3s", "every": "3s"}},
            "rate.burst",
            "a burst fills its whole period; make `for` shorter than `every`",
        ),
        (
            {"windows": {"messages": 101, "window": "1us"}},
            "rate.windows",
            "101 messages in a window are more than 100,000,000/s; make the window longer, or ask for less",
        ),
        (
            {"windows": {"messages": 100, "window": "1us", "deviation": 1}},
            "rate.windows",
            "108 messages in a window, the most, are more than",
        ),
        ({"windows": {"messages": 0, "window": "1s"}}, "rate.windows.messages", "greater than or equal to 1"),
        (
            {"windows": {"messages": 1, "window": "24h", "hold": 8}},
            "rate.windows",
            "hold covers more than 7 days; hold",
        ),
        ({"windows": {"messages": 1, "window": "1s", "deviation": float("nan")}}, "rate.windows.deviation", "finite"),
        ({"replay": {"file": ""}}, "rate.replay.file", "at least 1 character"),
        ({"replay": {"file": "x", "scale": 0}}, "rate.replay.scale", "greater than or equal to 0.001"),
        ({"closed": {"batch": 0}}, "rate.closed.batch", "greater than or equal to 1"),
        ({"closed": {"batch": {"uniform": {"from": 9, "to": 2}}}}, "rate.closed.batch.uniform", "from 9 to 2 falls"),
        ({"closed": {"batch": {"uniform": {"from": 0, "to": 2}}}}, "rate.closed.batch.uniform.from", "greater than"),
        (
            {"closed": {"batch": {"gaussian": {"mean": 0, "deviation": 2}}}},
            "rate.closed.batch.gaussian.mean",
            "greater",
        ),
        ({"closed": {"batch": {}}}, "rate.closed.batch", "no key is given"),
    ],
)
def test_a_wrong_rate_says_where_what_and_how_to_mend_it(written: Any, where: str, says: str) -> None:
    found_where, found = fault_of(written)

    assert where == found_where
    assert says in found


@pytest.mark.parametrize("written", ["10k/s", 5, "max", "RAMP_5_1k_2k_30s", {"closed": {}}, [{"rate": 1, "for": "1s"}]])
def test_the_json_schema_knows_every_way_to_write_a_rate(written: Any) -> None:
    schema = Written.model_json_schema()

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"rate": written}, schema)


@pytest.mark.parametrize("written", [0, -1, {"ramp": {"from": 1}}, {"slope": {}}, [{"rate": 1, "til": "1s"}]])
def test_the_json_schema_knows_what_is_no_rate(written: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"rate": written}, Written.model_json_schema())


def test_every_field_says_what_it_is() -> None:
    definitions = Written.model_json_schema()["$defs"]

    for part in definitions.values():
        for name, field in part["properties"].items():
            assert field.get("description"), name


@pytest.mark.parametrize(
    ("written", "expected"),
    [("10k/s", None), ("max", None), ("closed", 1), ({"closed": {"batch": 7}}, 7), ({"poisson": {"rate": 1}}, None)],
)
def test_the_batch_of_a_closed_loop(written: Any, expected: int | None) -> None:
    rate = rate_of(written)

    assert closed_batch(rate) == expected
    assert isinstance(rate, float | str) or rate.batch == expected


@pytest.mark.parametrize(
    "written",
    ["max", "closed", "RAMP", "SPIKE", {"replay": {"file": "x"}}, {"closed": {}}, [{"rate": 1, "for": "1s"}]],
)
def test_what_depends_on_how_long_it_lasts_has_no_mean(written: Any) -> None:
    assert mean_rate(rate_of(written)) is None


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("10k/s", 10_000),
        ({"poisson": {"rate": "10k/s"}}, 10_000),
        ({"burst": {"base": "5k/s", "burst": "15k/s", "for": "3s", "every": "12s"}}, 7500),
        (
            {
                "segments": {
                    "list": [{"rate": 1000, "to": 2000, "for": "1s"}, {"rate": 100, "for": "4s"}],
                    "then": "repeat",
                }
            },
            380,
        ),
        ({"windows": {"messages": 500, "window": "100ms"}}, 5000),
        ({"windows": {"messages": 500, "window": "100ms", "deviation": 50}}, 5000),
        ({"windows": {"messages": 50, "window": "10ms", "deviation": 50, "hold": 2}}, 5433),
        ({"windows": {"messages": 1, "window": "1ms", "deviation": 1}}, 1390),
    ],
)
def test_the_mean_is_what_is_due_in_the_long_run(written: Any, expected: float) -> None:
    """Draws below one message, of which there are none, count as one."""
    rate = rate_of(written)
    pacer = pacer_of(rate, producer=0, producers=1, seed=42, warmup_ns=0)
    assert pacer is not None

    assert mean_rate(rate) == pytest.approx(expected, rel=0.01)
    assert count_before(pacer, 360 * SECOND, 1 << 40) / 360 == pytest.approx(expected, rel=0.012)
