"""What a scenario says of consumers: every form of it, and every fault."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.scenario.model.consume import Commit, Consume, consumer_settings


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"processing": "off"},
        {"processing": {}},
        {"processing": {"delay": "4ms", "jitter": "1ms", "order": "partitions", "skip": 0.1}},
        {"processing": {"delay": "4ms", "exponential": True, "order": "slots", "slots": 12}},
        {"processing": {"delay": "800us", "changes": [{"at": "30s", "delay": "0s"}, {"at": "40s", "jitter": "1ms"}]}},
        {"processing": {"function": "package.module:name", "skip": 0.5}},
        {"commit": "batch"},
        {"commit": {"messages": "1k"}},
        {"commit": {"interval": "500ms", "asynchronous": True}},
        {"start": "2026-11-21T10:00:00Z", "partitions": [0, 3], "rate": "1k/s", "groups": 2, "processes": 1},
    ],
)
def test_what_is_written_out_parses_back(given: dict[str, Any]) -> None:
    consume = Consume.model_validate(given)

    assert Consume.model_validate(json.loads(consume.model_dump_json(exclude_none=True))) == consume


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"processing": {"slots": 4}}, "slots have no effect with order loop; write `order: slots`"),
        ({"processing": {"order": "partitions", "slots": 1}}, "slots have no effect with order partitions"),
        (
            {"processing": {"function": "a:b", "delay": "1ms"}},
            "a function determines the processing time, delay cannot be added",
        ),
        ({"processing": {"function": "a:b", "changes": [{"at": "1s"}]}}, "changes cannot be added"),
        ({"processing": {"function": "a:b", "order": "slots"}}, "runs in the poll loop, not in slots"),
        ({"processing": {"function": "name"}}, "should match pattern"),
        ({"processing": {"skip": 1.1}}, "less than or equal to 1"),
        ({"processing": {"changes": [{"at": "2s"}, {"at": "2s"}]}}, "changes are not in chronological order"),
        ({"processing": {"changes": {"at": "2s"}}}, "not a list"),
        ({"processing": {"changes": [{"delay": "2s"}]}}, "Field required"),
        ({"commit": "sometimes"}, "should be 'auto', 'batch' or 'never'"),
        ({"commit": {}}, "not exactly one condition; write one of messages and interval"),
        ({"commit": {"messages": 1, "interval": "1s"}}, "not exactly one condition"),
        ({"commit": {"interval": "1us"}}, "greater than or equal to 1000000"),
        ({"start": "middle"}, "not a start position; write auto, earliest, latest, or a time with a time zone"),
        ({"start": 7}, "not a start position"),
        ({"start": "2026-11-21T10:00:00"}, "has no time zone; write auto"),
        ({"start": "2026-13-21"}, "not a time; write auto"),
        ({"partitions": []}, "an empty list; name some"),
        ({"partitions": [-1]}, "greater than or equal to 0"),
        ({"partitions": [1, 1]}, "names a partition twice"),
        ({"partitions": 1}, "not a list"),
        ({"rate": "max"}, "not a rate; write messages a second like 1k/s, or unlimited"),
        ({"rate": 0}, "a rate lies between"),
        ({"buffer": 0}, "greater than or equal to 1"),
        ({"groups": 0}, "greater than or equal to 1"),
        ({"processing": None}, "no value; write `off`"),
    ],
)
def test_every_fault_says_what_mends_it(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Consume.model_validate(given)

    assert len(caught.value.errors()) == 1
    assert fault in str(caught.value)


def test_what_is_derived() -> None:
    """Shares of the rate, partitions dealt in turn, and the time to start at, rounded up to whole milliseconds."""
    consume = Consume.model_validate(
        {
            "consumers": 2,
            "rate": "1k/s",
            "partitions": [5, 3, 1],
            "start": "1970-01-01T01:00:01.0005+01:00",
            "processing": {"delay": "4ms", "jitter": "1ms"},
        }
    )

    assert consume.start_ms == 1001
    assert consume.processing
    assert consume.processing.mean_delay_ns == 4.5 * NS_PER_MS
    assert Consume().start_ms is None


@pytest.mark.parametrize(
    ("commit", "auto"), [("auto", True), ("batch", False), ("never", False), (Commit(messages=5), False)]
)
def test_the_client_commits_by_itself_only_when_asked_to(commit: Any, auto: bool) -> None:
    consume = Consume(commit=commit, client={"fetch.min.bytes": 7})

    assert consumer_settings(consume) == {"fetch.min.bytes": 7, "enable.auto.commit": auto}
