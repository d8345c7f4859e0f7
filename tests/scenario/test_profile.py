"""What a scenario means, as it is written into run.json, however old or new the version that wrote it."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scenario.earlier import without_later

from streamgauge.scenario import Scenario, document, parse, shareable
from streamgauge.scenario.model.jobs import AGGREGATE
from streamgauge.scenario.profile import Profile, profile_of, recorded_profile
from streamgauge.scenario.profile.model import UNKNOWN, Delay, PaceProfile, PipelineProfile

MS = 1_000_000
SECOND = 1_000 * MS


def recorded(**scenario: Any) -> Profile:
    """The profile of a run.json that has none."""
    return recorded_profile(None, scenario)


def pace_of(rate: Any) -> PaceProfile:
    pace = recorded(load={"rate": rate}).pace
    assert pace is not None
    return pace


@pytest.mark.parametrize(
    ("rate", "kind", "scheduled", "shape", "steady"),
    [
        ("10k/s", "constant", True, False, True),
        (200, "constant", True, False, True),
        ("max", "max", False, False, True),
        ("closed", "closed", False, False, True),
        ({"closed": {"batch": 10}}, "closed", False, False, True),
        ({"poisson": {"rate": "1k/s"}}, "poisson", True, True, True),
        ({"windows": {"messages": 500, "window": "100ms"}}, "windows", True, True, True),
        ({"burst": {"base": "1k/s", "burst": "2k/s", "for": "1s", "every": "2s"}}, "burst", True, True, False),
        ({"replay": {"file": "arrivals.txt"}}, "replay", True, True, False),
        ("RAMP_10_100_1k_60s", "steps", True, True, False),
        ("SPIKE_100_1000_10s_5s", "spike", True, True, False),
        # Of another version: due times there are, but nobody knows which.
        ("RAMP_10_from_100_to_60", UNKNOWN, True, True, False),
        ({"burst": {"base": "1k/s", "burst": "2k/s", "on": "1s", "every": "2s"}}, UNKNOWN, True, True, False),
        ({"tides": {"moons": 2}}, UNKNOWN, True, True, False),
    ],
)
def test_the_pace_of_a_load(rate: Any, kind: str, scheduled: bool, shape: bool, steady: bool) -> None:
    profile, pace = recorded(load={"rate": rate}, consume={}), pace_of(rate)
    assert (pace.kind, pace.is_scheduled, pace.is_shape, profile.is_steady) == (kind, scheduled, shape, steady)


@pytest.mark.parametrize(
    ("consume", "every_ms"),
    [
        ({}, 5_000),
        ({"client": {"auto.commit.interval.ms": 1000}}, 1_000),
        ({"client": {"auto.commit.interval.ms": 0}}, None),
        ({"commit": {"interval": "250ms"}}, 250),
        ({"commit": {"messages": 1000}}, None),
        ({"commit": "batch"}, None),
        ({"commit": "never"}, None),
        ({"acknowledge": {"retry": {"delays": ["1s"]}}}, 5_000),
        ({"acknowledge": {"markers": {}}}, None),
        ({"acknowledge": {"share": {}}}, None),
    ],
)
def test_how_often_offsets_are_committed(consume: Any, every_ms: float | None) -> None:
    """Where time decides it."""
    profile = recorded(load={}, consume=consume)
    assert profile.consume
    assert profile.consume.commit_every_ms == every_ms


@pytest.mark.parametrize(
    ("rate", "per_second", "segments", "then"),
    [
        ("10k/s", 10_000, [], []),
        ("max", None, [], []),
        ({"poisson": {"rate": "1k/s"}}, 1_000, [], []),
        ({"ramp": {"from": "1/s", "to": "5/s", "over": "4s"}}, None, [(1, 5, 4)], [(5, 5, 1)]),
        (
            {"steps": {"from": "1/s", "to": "3/s", "steps": 3, "each": "2s"}},
            None,
            [(1, 1, 2), (2, 2, 2), (3, 3, 2)],
            [(3, 3, 1)],
        ),
        ({"spike": {"base": "1/s", "peak": "9/s", "at": "3s", "for": "1s"}}, None, [(1, 1, 3), (9, 9, 1)], [(1, 1, 1)]),
        ({"burst": {"base": "1/s", "burst": "5/s", "for": "1s", "every": "4s"}}, 2, [], [(5, 5, 1), (1, 1, 3)]),
        ([{"rate": "1/s", "to": "3/s", "for": "2s"}], None, [(1, 3, 2)], [(3, 3, 1)]),
        ({"segments": {"list": [{"rate": "4/s", "for": "2s"}], "then": "stop"}}, None, [(4, 4, 2)], []),
        ({"segments": {"list": [{"rate": "4/s", "for": "2s"}], "then": "repeat"}}, 4, [(4, 4, 2)], [(4, 4, 2)]),
    ],
)
def test_a_shape_is_told_by_its_segments(rate: Any, per_second: float | None, segments: Any, then: Any) -> None:
    """Those that come once, and those that follow again and again."""
    pace = pace_of(rate)
    found, again = (
        [(each.from_per_second, each.to_per_second, each.for_ns / SECOND) for each in part]
        for part in (pace.segments, pace.then)
    )
    assert (pace.per_second, found, again) == (per_second, segments, then)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("10k/s", "10k/s"),
        ({"ramp": {"from": "1k/s", "to": "10k/s", "over": "60s"}}, "ramp from 1k/s to 10k/s over 1m"),
        ([{"rate": "1/s", "for": "2s"}] * 2, "segments list of 2 then hold"),
        ({"tides": {"moons": 2, "sun": None}}, "tides moons 2"),
    ],
)
def test_a_pace_has_words(given: Any, words: str) -> None:
    assert pace_of(given).words == words


def test_processing_that_changes_and_faults_are_not_steady() -> None:
    processing: dict[str, Any] = {"delay": "4ms", "changes": []}
    scenario: dict[str, Any] = {"load": {"rate": "1k/s"}, "consume": {"processing": processing}}
    assert recorded(**scenario).is_steady
    assert not recorded(**scenario, faults=[{"at": "1s", "kind": "kill", "target": "consumer-0"}]).is_steady
    processing["changes"].append({"at": "5s", "delay": "0s"})
    assert not recorded(**scenario).is_steady


@pytest.mark.parametrize("off", [None, False, "off"])
def test_what_is_off_or_was_not_there_is_nothing(off: Any) -> None:
    """A version that did not know lag sampled none, whatever the default is today."""
    names = ("load", "consume", "pipeline", "backpressure", "lag")
    assert recorded(**dict.fromkeys(names, off), connections=off) == recorded() == recorded(name="x", load=off)
    profile = recorded(load={"flush": False, "transactions": "off"}, consume={"processing": "off"})
    assert profile.load is not None
    assert (profile.load.flushes, profile.load.transactional, profile.processing) == (False, False, None)
    assert (recorded().load, recorded().consume, recorded().lag_every_ns, recorded().connections) == (
        None,
        None,
        None,
        (),
    )


def test_clients_that_are_told_nothing_read_what_is_committed() -> None:
    for client, expected in (({}, True), ("read_committed", True), ("read_uncommitted", False)):
        settings = {"isolation.level": client} if isinstance(client, str) else client
        consume = recorded(consume={"client": settings}).consume
        assert consume is not None
        assert consume.read_committed == expected


def delay(from_ns: int, delay_ns: int, *, exponential: bool = False) -> Delay:
    return Delay(from_ns=from_ns, delay_ns=delay_ns, jitter_ns=0, exponential=exponential)


@pytest.mark.parametrize(
    ("processing", "expected"),
    [
        ({"delay": "4ms"}, [delay(0, 4 * MS)]),
        ({"delay": "0s", "jitter": "0s", "exponential": True}, [delay(0, 0, exponential=True)]),
        (
            {"delay": "4ms", "changes": [{"at": "3s", "delay": "2ms"}, {"at": "9s", "delay": "1ms"}]},
            [delay(0, 4 * MS), delay(3_000 * MS, 2 * MS), delay(9_000 * MS, MS)],
        ),
        ({"function": "a:b"}, []),
        ({"delay": "0s", "function": "a:b"}, []),
    ],
)
def test_the_delays_follow_each_other(processing: Any, expected: list[Delay]) -> None:
    found = recorded(consume={"processing": processing}).processing
    assert found is not None
    assert list(found.delays) == expected


@pytest.mark.parametrize(
    ("order", "slots"), [({}, 1), ({"order": "partitions"}, None), ({"order": "slots", "slots": 8}, 8)]
)
def test_what_is_processed_at_once(order: Any, slots: int | None) -> None:
    found = recorded(consume={"processing": order}).processing
    assert found is not None
    assert found.slots == slots


@given(st.integers(0, 50_000), st.integers(0, 50_000), st.booleans(), st.integers(0, 1 << 32))
def test_mean_and_deviation_are_those_of_draws(delay_us: int, jitter_us: int, exponential: bool, seed: int) -> None:
    """Within seven standard errors of a thousand draws."""
    found = Delay(from_ns=0, delay_ns=delay_us * 1_000, jitter_ns=jitter_us * 1_000, exponential=exponential)
    draws = np.random.default_rng(seed)
    begun = draws.exponential(delay_us, 1_000) if exponential else np.full(1_000, float(delay_us))
    taken = (begun + draws.uniform(0, jitter_us, 1_000)) * 1_000
    error = 7 * taken.std() / 1_000**0.5 + 1
    assert abs(taken.mean() - found.mean_ns) <= error
    # The deviation of an exponential sample is itself off by twice its standard error.
    assert abs(taken.std() - found.stddev_ns) <= 2 * error


@pytest.mark.parametrize(
    ("pipeline", "expected"),
    [
        ({}, ("pass", "same", "micro-batch", None, False)),
        ({"engine": {"micro-batch": {"every": "1s"}}}, ("pass", "same", "micro-batch", SECOND, False)),
        ({"job": "filter", "engine": "real-time"}, ("filter", "subset", "real-time", None, False)),
        (
            {"job": {"function": {"call": "a:b"}}, "sink": {"table": "t"}},
            ("function", "changed", "micro-batch", None, True),
        ),
        # Of one that is not known no loss can be told, and it waits for no batch.
        ({"job": {"shuffle": {"seed": 1}}, "engine": {"ether": {}}}, (UNKNOWN, AGGREGATE, UNKNOWN, None, False)),
    ],
)
def test_what_stands_between(pipeline: Any, expected: Any) -> None:
    job, does, engine, every_ns, table = expected
    made = PipelineProfile(job=job, does=does, engine=engine, every_ns=every_ns, table=table)
    assert recorded(pipeline=pipeline).pipeline == made


FULL: dict[str, Any] = {
    "name": "full",
    "topic": {"partitions": 6},
    "load": {"rate": {"burst": {"base": "1k/s", "burst": "2k/s", "for": "1s", "every": "2s"}}, "producers": 3,
             "size": {"uniform": {"from": 100, "to": 2000}}, "resend": 2, "flush": 16,
             "client": {"linger.ms": 5, "request.required.acks": -1}},
    "consume": {"rate": "1k/s", "processing": {"delay": "1ms", "skip": 0.1}},
    "connections": {"open": "10/s", "hold": {"consumers": 2}},
    "pipeline": {"job": "filter", "engine": {"micro-batch": {"every": "1s"}}},
    "backpressure": {"hysteresis": {"max_lag": "20k"}},
    "faults": [{"at": "1s", "kind": "kill", "target": "consumer-0"}],
    "lag": {"every": "1s"},
    "phases": {"start_at": "2027-01-15T08:00:00Z"},
    "verify": "1/16",
    "expect": {"delivery.lost": 0},
}  # fmt: skip


def of_format_1(scenario: Scenario) -> Profile:
    """What such a run.json meant, which does not tell whether the log was read again."""
    return profile_of(scenario).model_copy(update={"reads_log": False})


def test_it_is_read_as_it_was_written() -> None:
    """A later version may add keys; the scenario beside it is not looked at."""
    written = profile_of(parse(FULL)).model_dump(mode="json")
    later = json.loads(json.dumps(written | {"moons": 2, "load": written["load"] | {"tides": True}}))

    assert recorded_profile(later, {}) == profile_of(parse(FULL))


def test_what_an_earlier_version_did_not_write_is_made_from_the_scenario() -> None:
    """And what it wrote stays, whatever the scenario would come to today."""
    whole = profile_of(parse(FULL)).model_dump(mode="json")
    earlier = without_later(whole)
    earlier["load"]["producers"] = 99

    found = recorded_profile(earlier, FULL)

    assert found.load is not None
    assert found.load.producers == 99
    assert found.model_copy(
        update={"load": found.load.model_copy(update={"producers": whole["load"]["producers"]})}
    ) == (profile_of(parse(FULL)))


def test_it_says_the_same_of_the_scenario_that_is_recorded_beside_it() -> None:
    scenario = parse(FULL)

    assert recorded_profile(None, document(scenario)) == of_format_1(scenario)


def test_it_has_no_secret() -> None:
    """Wherever a text of the user's stands in it."""
    file = "https://me:hunter22@host/arrivals"
    scenario = parse({"name": "x", "load": {"rate": {"replay": {"file": file}}}, "expect": {"run.name": file}})

    assert "hunter22" not in profile_of(scenario).model_dump_json()
    assert recorded_profile(None, shareable(scenario)) == of_format_1(scenario)


@pytest.mark.parametrize("profile", [5, {}, {"load": "x"}])
def test_a_profile_that_makes_no_sense_is_made_from_the_scenario(profile: Any) -> None:
    assert recorded_profile(profile, FULL) == recorded_profile(None, FULL)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
        lambda below: (
            st.lists(below, max_size=2)
            | st.dictionaries(
                st.sampled_from(
                    ["name", "load", "rate", "burst", "consume", "processing", "faults", "pipeline", "job", "x", 5]
                ),
                below,
                max_size=4,
            )
        ),
    )
)
def test_nothing_that_is_recorded_stops_it(scenario: Any) -> None:
    given = scenario if isinstance(scenario, dict) else {"load": scenario}
    assert isinstance(recorded_profile(None, given), Profile)
