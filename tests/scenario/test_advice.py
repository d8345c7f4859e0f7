"""What is allowed and hardly ever meant is said before the run."""

from typing import Any

import pytest

from streamgauge.scenario import advice, parse


@pytest.mark.parametrize(
    ("load", "warns"),
    [
        ({"rate": "10k/s", "client": {"linger.ms": 0}}, True),
        ({"rate": "10k/s", "client": {"queue.buffering.max.ms": "0"}}, True),
        ({"rate": {"poisson": {"rate": "5k/s"}}, "client": {"linger.ms": 0}}, True),
        ({"rate": "10k/s", "client": {"linger.ms": 0, "max.in.flight": 5}}, False),
        ({"rate": "10k/s", "client": {"linger.ms": 1}}, False),
        ({"rate": "100/s", "client": {"linger.ms": 0}}, False),
        ({"rate": "max", "client": {"linger.ms": 0}}, False),
        ({"rate": "10k/s"}, False),
    ],
)
def test_a_request_for_every_message_is_said(load: dict[str, Any], warns: bool) -> None:
    """With the figure and the remedy; a closed loop, or few requests in flight, does not fall into it."""
    said = advice(parse({"name": "x", "load": load}))

    assert bool(said) is warns
    assert all("200 ms" in line and "Write 1" in line for line in said)


@pytest.mark.parametrize(
    ("load", "replication", "warns"),
    [
        ({"client": {"acks": "all", "enable.idempotence": True}}, 3, True),
        ({"client": {"acks": "all", "enable.idempotence": "true", "max.in.flight": 5}}, 3, True),
        ({"transactions": {"messages": 100}}, 3, True),
        ({"client": {"acks": "all", "enable.idempotence": True, "max.in.flight": 1}}, 3, False),
        ({"client": {"acks": "all", "enable.idempotence": True}}, 1, False),
        ({"client": {"acks": "all"}}, 3, False),
    ],
)
def test_threads_that_poll_without_a_pause_are_told(load: dict[str, Any], replication: int, warns: bool) -> None:
    """Where acknowledgements wait for replicas: five messages of a partition are soon on their way."""
    said = advice(parse({"name": "x", "load": {"rate": "100/s", **load}, "topic": {"replication": replication}}))

    assert [each.startswith("load.client.max.in.flight: ") for each in said] == [True] * warns


def test_a_run_that_only_reads_has_no_load_to_warn_of() -> None:
    assert advice(parse({"name": "x", "load": "off"})) == []


@pytest.mark.parametrize(
    ("retry", "drain", "is_told"),
    [
        ({"delays": ["1s", "5s"]}, "7s", False),
        ({"delays": ["1s", "5s"]}, "6s", True),
        ({"delays": ["1s", "5s"], "limit": 4}, "16s", True),
        ({"delays": ["1s", "5s"], "limit": 4}, "17s", False),
        ({"delays": ["1h"], "limit": "unlimited"}, "1s", False),
    ],
)
def test_a_drain_has_to_be_longer_than_all_delays(retry: dict[str, Any], drain: str, is_told: bool) -> None:
    scenario = parse({"name": "x", "consume": {"acknowledge": {"retry": retry}}, "phases": {"drain": drain}})
    assert [each.startswith("phases.drain: ") for each in advice(scenario)] == [True] * is_told
