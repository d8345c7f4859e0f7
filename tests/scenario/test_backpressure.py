"""What holds producers back and what is done to a run, as a scenario says it: defaults, faults, and the way back."""

from typing import Any

import pytest

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadInput
from streamgauge.scenario import Scenario, document, parse
from streamgauge.workload.changes import ScenarioChange, changes

ONCE = {"load": {"client": {"retries": 0}}}


def scenario(**given: Any) -> Scenario:
    return parse({"name": "x", **given})


def faults(**given: Any) -> dict[str, str]:
    """Every fault of a scenario: place, what is wrong."""
    with pytest.raises(BadInput) as caught:
        scenario(**given)
    return {fault.where: fault.what for fault in caught.value.faults}


@pytest.mark.parametrize(
    "given",
    [
        {"backpressure": {"credit": {"limit": "5k"}}, **ONCE},
        {"backpressure": {"credit": {"limit": 2, "poll": "5ms"}}, "load": {"client": {"enable.idempotence": True}}},
        {"backpressure": {"hysteresis": {"max_lag": "20k", "resume_lag": 5000, "poll": "100ms"}}},
        {"backpressure": "off", "lag": "off"},
        {"lag": {"every": "50ms"}},
        {"faults": [{"at": "5s", "kind": "pause", "target": "broker", "for": "2s"},
                    {"at": "8s", "kind": "kill", "target": "consumer-1"}]},
    ],
)  # fmt: skip
def test_what_is_written_is_what_is_meant(given: dict[str, Any]) -> None:
    """A document parses to the scenario that it is of."""
    once = document(scenario(**given))
    assert document(parse(once)) == once


def test_hysteresis_goes_on_at_half_of_its_lag_unless_it_is_told_where() -> None:
    policy = scenario(backpressure={"hysteresis": {"max_lag": 9}}).backpressure
    assert policy is not None
    assert policy.hysteresis is not None
    assert (policy.hysteresis.resume, policy.poll_ns) == (4, 200 * NS_PER_MS)


@pytest.mark.parametrize(
    ("given", "where", "what"),
    [
        ({"backpressure": {"credit": {"limit": 9}}}, "backpressure.credit", "that retries"),
        ({"backpressure": {"credit": {"limit": 9}}, "load": {"client": {"retries": 3}}},
         "backpressure.credit", "that retries"),
        ({"backpressure": {"credit": {"limit": 9}}, "load": {"transactions": {"messages": 5}}},
         "backpressure.credit", "markers"),
        ({"backpressure": {"credit": {"limit": 9}}, "load": {"resend": 2, "client": {"retries": 0}}},
         "backpressure.credit", "sent again"),
        ({"backpressure": {"credit": {"limit": 9}}, "consume": {"processing": {"skip": 0.1}}, **ONCE},
         "backpressure.credit", "never processed"),
        ({"backpressure": {"credit": {"limit": 9}}, "consume": {"partitions": [0, 1]}, **ONCE},
         "backpressure.credit", "are not consumed"),
        ({"backpressure": {"credit": {"limit": 9}}, "topic": {"configs": {"cleanup.policy": "compact"}}, **ONCE},
         "backpressure.credit", "compacted"),
        ({"backpressure": {"credit": {"limit": 9}}, "consume": "off"}, "backpressure", "and consumers"),
        ({"backpressure": {"credit": {"limit": 1}}, **ONCE}, "backpressure.credit.limit", "hold all of it"),
        ({"backpressure": {"credit": {"limit": 0}}, **ONCE}, "backpressure.credit.limit", "greater"),
        ({"backpressure": {"hysteresis": {"max_lag": 9, "resume_lag": 10}}}, "backpressure.hysteresis", "above"),
        ({"backpressure": {"hysteresis": {"max_lag": 9}}, "lag": "off"}, "lag", "lag samples"),
        ({"backpressure": {"hysteresis": {"max_lag": 9}}, "consume": {"commit": "never"}}, "consume.commit", "rise"),
        ({"backpressure": {}}, "backpressure", "no key is given"),
        ({"lag": {"every": "49ms"}}, "lag.every", "greater"),
        ({"faults": {"at": "1s"}}, "faults", "not a list"),
        ({"faults": [{"at": "1s", "kind": "pause", "target": "consumer-0"}]}, "faults.0", "needs an end"),
        ({"faults": [{"at": "1s", "kind": "kill", "target": "consumer-0", "for": "1s"}]}, "faults.0", "not restarted"),
        ({"faults": [{"at": "1s", "kind": "kill", "target": "consumer"}]}, "faults.0.target", "not a fault target"),
        ({"faults": [{"at": "1s", "kind": "kill", "target": "consumer-2"}]}, "faults.0.target", "the run has 2"),
        ({"faults": [{"at": "1s", "kind": "kill", "target": "controller"}]}, "faults.0.target", "the run has none"),
        ({"faults": [{"at": "1s", "kind": "kill", "target": "broker"}]}, "faults.0", "a time until it starts"),
        ({"faults": [{"at": "30s", "kind": "kill", "target": "producers"}]}, "faults.0.at", "after the measure"),
        ({"faults": [{"at": "29s", "kind": "pause", "target": "producers", "for": "2s"}]}, "faults.0.for", "after the"),
        ({"faults": [{"at": "2s", "kind": "pause", "target": "broker", "for": "9s"},
                     {"at": "9s", "kind": "pause", "target": "broker", "for": "1s"}]}, "faults", "still down"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_with_its_place(given: dict[str, Any], where: str, what: str) -> None:
    """Before anything starts."""
    found = faults(**given)
    assert what in found[where]


def test_slower_consumers_and_bursts_are_marked() -> None:
    """What a scenario changes by itself, as far as the measure phase lasted."""
    found = changes(
        scenario(
            load={"rate": {"burst": {"base": "5k/s", "burst": "15k/s", "for": "3s", "every": "12s"}}},
            consume={
                "processing": {
                    "delay": "1ms",
                    "changes": [{"at": "10s", "delay": "4ms", "jitter": "1ms"}, {"at": "20s"}, {"at": "99s"}],
                }
            },
        ),
        26 * NS_PER_SECOND,
    )
    second = NS_PER_SECOND
    assert found == [
        ScenarioChange(0, "burst", "producers", "begin", "15,000/s"),
        ScenarioChange(3 * second, "burst", "producers", "end", "5,000/s"),
        ScenarioChange(10 * second, "delay", "consumers", "begin", "4ms + 1ms jitter"),
        ScenarioChange(12 * second, "burst", "producers", "begin", "15,000/s"),
        ScenarioChange(15 * second, "burst", "producers", "end", "5,000/s"),
        ScenarioChange(20 * second, "delay", "consumers", "end", "0s"),
        ScenarioChange(24 * second, "burst", "producers", "begin", "15,000/s"),
    ]
    spike = scenario(load={"rate": {"spike": {"base": "1k/s", "peak": "9k/s", "at": "4s", "for": "1s"}}})
    assert [each.at_ns for each in changes(spike, 30 * second)] == [4 * second, 5 * second]
    assert changes(scenario(), 30 * second) == []
