"""What settings promise of a fault, beside what it did."""

import pytest
from tests.verdict.test_verdict import Run

from streamgauge.domain.folder.facts import RunFacts
from streamgauge.scenario import parse
from streamgauge.scenario.profile import profile_of
from streamgauge.verdict.evidence import Evidence
from streamgauge.verdict.promises import Affected, FaultEffect, Timeouts, promises, timeouts_of

DEFAULTS = Timeouts({}, replicated=True)
ALONE = Timeouts({}, replicated=False)
BROKER, REPLICA = "broker.session.timeout.ms", "replica.lag.time.max.ms"
REQUEST, MESSAGE = "request.timeout.ms", "message.timeout.ms"
SESSION, POLL = "session.timeout.ms", "max.poll.interval.ms"


@pytest.mark.parametrize(
    ("target", "what", "timeouts", "settings"),
    [
        ("broker-1", "unwritable", DEFAULTS, [BROKER, REPLICA, REQUEST, MESSAGE]),
        ("broker-1", "unreadable", DEFAULTS, [BROKER]),
        # Nobody can take over from the only replica.
        ("broker-1", "unwritable", ALONE, [REQUEST, MESSAGE]),
        ("broker-1", "unreadable", ALONE, []),
        ("clients-broker-1", "unwritable", DEFAULTS, [BROKER, REPLICA, REQUEST, MESSAGE]),
        ("controller-4", "unreadable", DEFAULTS, [BROKER]),
        ("consumer-0", "unreadable", DEFAULTS, [SESSION, POLL]),
        ("consumer-0", "unwritable", DEFAULTS, []),
        ("producer-0", "unwritable", DEFAULTS, []),
    ],
)
def test_a_timeout_limits_what_its_target_causes(
    target: str, what: Affected, timeouts: Timeouts, settings: list[str]
) -> None:
    found = promises(target, [FaultEffect(what, 1.0, "partition t/0")], timeouts)

    assert [promise.setting for promise in found] == settings


@pytest.mark.parametrize(
    ("set_ms", "seconds", "kept", "limit"),
    [
        ({}, 4.1, True, "broker.session.timeout.ms allows 9.00 s by default"),
        ({BROKER: 3_000.0}, 4.1, False, "broker.session.timeout.ms allows only 3.00 s"),
        ({BROKER: 4_100.0}, 4.1, True, "broker.session.timeout.ms allows 4.10 s"),
    ],
)
def test_a_promise_says_what_was_and_what_may_be(
    set_ms: dict[str, float], seconds: float, kept: bool, limit: str
) -> None:
    found = promises(
        "broker-2", [FaultEffect("unwritable", seconds, "partition t/3")], Timeouts(set_ms, replicated=True)
    )[0]

    assert (found.kept, found.limit) == (kept, limit)
    assert found.text == f"partition t/3 was unwritable for 4.10 s; {limit}"


@pytest.mark.parametrize("seconds", [None, 0.0])
def test_what_did_not_happen_is_not_compared(seconds: float | None) -> None:
    assert promises("broker-1", [FaultEffect("unwritable", seconds, "partition t/0")], DEFAULTS) == []


@pytest.mark.parametrize(
    ("scenario", "set_ms", "replicated"),
    [
        # The drain limits the timeout of messages, unless less is set.
        ({"load": {"rate": "1k/s"}}, {MESSAGE: 30_000.0}, False),
        ({"load": {"rate": "1k/s", "client": {"delivery.timeout.ms": 5_000}}}, {MESSAGE: 5_000.0}, False),
        ({"load": {"rate": "1k/s", "client": {"message.timeout.ms": 5_000, "request.timeout.ms": "700"}}},
         {MESSAGE: 5_000.0, REQUEST: 700.0}, False),
        ({"load": "off", "consume": {"client": {"session.timeout.ms": 6_000, "max.poll.interval.ms": 9_000}}},
         {SESSION: 6_000.0, POLL: 9_000.0}, False),
        ({"load": "off", "topic": {"replication": 3}, "cluster": {"configs": {BROKER: 3_000, "num.io.threads": 2}}},
         {BROKER: 3_000.0}, True),
        ({"load": "off", "cluster": {"configs": {BROKER: "soon"}}}, {}, False),
    ],
)  # fmt: skip
def test_timeouts_are_those_that_the_scenario_sets(
    scenario: dict[str, object], set_ms: dict[str, float], replicated: bool
) -> None:
    run = Run()
    run.facts["scenario"] = scenario

    assert timeouts_of(Evidence(RunFacts.model_validate(run.facts), run.tables)) == Timeouts(set_ms, replicated)


@pytest.mark.parametrize(
    ("brokers", "set_ms"),
    [
        (None, {BROKER: 3_000.0, MESSAGE: 5_000.0}),
        ({BROKER: "6000", "num.io.threads": "2", "log.dirs": "/data"}, {BROKER: 6_000.0, MESSAGE: 5_000.0}),
        ({}, {MESSAGE: 5_000.0}),
    ],
)
def test_timeouts_of_brokers_are_those_that_they_were_started_with(
    brokers: dict[str, str] | None, set_ms: dict[str, float]
) -> None:
    """What a scenario asks of brokers is for those that the run itself starts."""
    scenario = {
        "name": "x",
        "load": {"client": {"message.timeout.ms": 5_000}},
        "cluster": {"configs": {BROKER: 3_000}},
    }
    run = Run()
    run.facts |= {"scenario": scenario, "profile": profile_of(parse(scenario), brokers).model_dump(mode="json")}

    assert timeouts_of(Evidence(RunFacts.model_validate(run.facts), run.tables)) == Timeouts(set_ms, replicated=False)
