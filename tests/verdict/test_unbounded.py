"""Seconds in which something happened to all: which, how many messages were due in them, what that takes."""

from itertools import pairwise
from typing import Any

import pytest
from tests.verdict.test_verdict import Run

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.folder.facts import RunFacts
from streamgauge.result.model.clients import RedeliverySection
from streamgauge.verdict.evidence import Evidence
from streamgauge.verdict.trust import place, unbounded
from streamgauge.verdict.trust.figures.derived import derived
from streamgauge.verdict.trust.seconds import Seconds, seconds

SECONDS = 10


def look(role: str, second: float, *, process: str = "", seconds: float = 1.0, **numbers: Any) -> dict[str, Any]:
    """A sample of a process."""
    told = {"process": process or role, "role": role, "scope": "interval", "second": second}
    return {**told, "duration_ns": int(seconds * NS_PER_SECOND), **numbers}


def run(*looks: dict[str, Any], **facts: Any) -> Evidence:
    """A run of ten seconds, of 100 messages each."""
    measured = {"scope": "measure", "duration_ns": SECONDS * NS_PER_SECOND}
    windows = [{"scope": "window", "second": second, "due": 100} for second in range(SECONDS)]
    return Evidence(
        RunFacts.model_validate(Run().facts | facts), {"throughput": [measured, *windows], "resources": list(looks)}
    )


STARVED = look("broker", 3.0, run_delay_share=1.2, cpu_cores=0.7)


@pytest.mark.parametrize(
    ("looks", "share"),
    [
        pytest.param([], None, id="nothing was looked at"),
        pytest.param([STARVED], 0.1, id="a second of ten"),
        pytest.param([STARVED, look("broker", 4.0, run_delay_share=0.9, cpu_cores=0.1)], 0.2, id="two in a row"),
        pytest.param([STARVED | {"second": 3.5}], 0.1, id="parts of two seconds"),
        pytest.param([STARVED | {"second": 0.25}], 0.025, id="what lies before the measure phase does not count"),
        pytest.param([STARVED | {"second": -1.0}], None, id="nor does all of it"),
        pytest.param([STARVED | {"run_delay_share": 0.4}], None, id="it had to wait now and then"),
        pytest.param([STARVED | {"cpu_cores": 1.3}], None, id="many threads that wait, and run for longer"),
        pytest.param([STARVED | {"run_delay_share": None}], None, id="nobody counts it"),
        pytest.param([STARVED | {"role": "producer"}], None, id="a worker's wait is bounded by its gaps"),
    ],
)
def test_a_broker_without_a_core_makes_latencies_those_of_the_machine(
    looks: list[dict[str, Any]], share: float | None
) -> None:
    found = place.of_seconds(run(*looks))

    assert [pytest.approx(each.share) for each in found] == ([] if share is None else [share])
    assert unbounded.of_latency(run(*looks)) == []


def test_seconds_are_named_and_those_that_touch_are_one() -> None:
    (found,) = place.of_seconds(run(STARVED, STARVED | {"second": 4.0}, STARVED | {"second": 9.0}))

    assert found.because.endswith("(second 2 to 4, 8 to 9; 30 % of the messages)")


@pytest.mark.parametrize(
    ("second", "length", "named"),
    [
        (5.02, 1.0, "second 4 to 5;"),
        (4.98, 1.0, "second 4 to 5;"),
        (4.5, 1.0, "second 3 to 5;"),
        (9.1, 0.5, "second 8 to 9;"),
        (9.05, 0.02, "second 9 to 10;"),
        (0.3, 1.0, "second 0 to 1;"),
    ],
)
def test_seconds_are_whole_ones(second: float, length: float, named: str) -> None:
    (found,) = place.of_seconds(run(STARVED | {"second": second, "duration_ns": int(length * NS_PER_SECOND)}))

    assert named in found.because


def test_a_quota_stops_an_embedded_broker() -> None:
    throttled = look("host", 5.0, throttled_share=0.3)

    assert [each.share for each in place.of_seconds(run(throttled))] == [0.1]
    elsewhere = {"embedded": False, "bootstrap": "b:1", "processes": []}
    assert place.of_seconds(run(throttled, broker=elsewhere)) == []


def sampled(every_s: float, late_s: float = 0.0) -> list[dict[str, Any]]:
    """The looks at the host, of which that of second 5 was late: the next one is on time again."""
    times = [number * every_s for number in range(1, int(SECONDS / every_s) + 1)]
    times = [second + late_s if second == 5.0 else second for second in times]
    return [look("host", at, seconds=at - before) for before, at in pairwise([0.0, *times])]


@pytest.mark.parametrize("every_s", [0.5, 1.0])
@pytest.mark.parametrize(
    ("late_s", "gaps", "is_frozen"),
    [
        pytest.param(0.3, (300.0, 280.0), True, id="sampler and both producers"),
        pytest.param(0.12, (200.0, 200.0), True, id="for a fifth of a second"),
        pytest.param(0.4, (550.0, 550.0), True, id="for longer than between two looks"),
        pytest.param(0.3, (300.0, 2.0), False, id="one producer went on"),
        pytest.param(0.3, (300.0, 90.0), False, id="one producer was late by less"),
        pytest.param(0.3, (), False, id="nobody tells"),
        pytest.param(0.01, (300.0, 280.0), False, id="the sampler went on"),
    ],
)
def test_processes_that_stand_still_together_are_noticed(
    every_s: float, late_s: float, gaps: tuple[float, ...], *, is_frozen: bool
) -> None:
    """Also where the sampler looks every second, as it once did."""
    looks = [look("producer", 5.2, process=f"producer-{number}", poll_gap_ms=gap) for number, gap in enumerate(gaps)]
    looks += [look("producer", 8.2, process="producer-0", poll_gap_ms=500.0)]

    assert bool(unbounded.of_latency(run(*sampled(every_s, late_s), *looks))) is is_frozen


def test_producers_that_the_scenario_stopped_have_not_stood_still_with_all() -> None:
    """The sampler was late beside it."""
    looks = [*sampled(0.5, 0.3), look("producer", 5.2, process="producer-0", poll_gap_ms=900.0)]
    paused = {"kind": "pause", "target": "producer-0", "action": "begin", "second": 4.5, "error": None}
    stopped = run(*looks)

    assert unbounded.of_latency(stopped)
    assert not unbounded.of_latency(Evidence(stopped.facts, {**stopped.tables, "faults": [paused]}))


OBSERVED = {"load": "off", "consume": {"consumers": 1}}
SLOW = {"load": "off", "consume": {"consumers": 1, "rate": "10/s"}}


@pytest.mark.parametrize(
    ("scenario", "gap_ms", "is_frozen"),
    [
        pytest.param(OBSERVED, 300.0, True, id="nobody sends"),
        pytest.param(OBSERVED, 2.0, False, id="the consumer went on"),
        pytest.param(SLOW, 300.0, False, id="a consumer that is slow on purpose"),
        pytest.param({"load": {"rate": "1k/s"}, "consume": {}}, 300.0, False, id="a producer tells nothing"),
    ],
)
def test_where_nobody_sends_consumers_show_that_all_stood_still(
    scenario: dict[str, Any], gap_ms: float, *, is_frozen: bool
) -> None:
    looks = [*sampled(0.5, 0.3), look("consumer", 5.2, poll_gap_ms=gap_ms)]

    assert bool(unbounded.of_latency(run(*looks, scenario=scenario))) is is_frozen


def test_where_nobody_sends_the_share_is_of_what_was_received() -> None:
    windows = [
        {"scope": "window", "second": second, "due": 0, "sent": 0, "received": 10 if second else 910}
        for second in range(SECONDS)
    ]
    received = Evidence(run().facts, {"throughput": [run().tables["throughput"][0], *windows]})

    assert seconds(received, "", [look("host", 5.0)]).share == 0.01


@pytest.mark.parametrize(
    ("share", "figure", "is_taken"),
    [
        (0.02, "p99_ms", True),
        (0.009, "p99_ms", False),
        (0.02, "p95_ms", False),
        (0.02, "max_ms", True),
        (0.02, "mean_ms", True),
        (0.02, "min_ms", False),
        (0.6, "mad_ms", True),
    ],
)
def test_seconds_take_the_ranks_that_their_messages_may_have(share: float, figure: str, *, is_taken: bool) -> None:
    assert Seconds("", share).takes(f"latency.ack.service.{figure}") is is_taken
    assert not Seconds("", share, ("latency.end_to_end.",)).takes(f"latency.ack.service.{figure}")


@pytest.mark.parametrize(
    ("looks", "doubted"),
    [
        pytest.param([look("consumer", 3.0, poll_gap_ms=44_000.0)], set(), id="shorter than a session"),
        pytest.param([look("consumer", 3.0, poll_gap_ms=46_000.0)], {"duplicate_consumer"}, id="longer"),
        pytest.param(
            [look("producer", 3.0, poll_gap_ms=31_000.0)],
            {"failed", "expired", "unknown", "duplicate_producer"},
            id="longer than the drain, and so than a message's timeout",
        ),
    ],
)
def test_gaps_beyond_a_timeout_put_counts_in_doubt(looks: list[dict[str, Any]], doubted: set[str]) -> None:
    assert set(unbounded.of_counts(run(*looks))) == doubted


@pytest.mark.parametrize(
    ("gap_ms", "processing", "is_doubted"),
    [
        pytest.param(501.0, {"time": "1ms"}, True, id="longer than the timeout of markers"),
        pytest.param(499.0, {"time": "1ms"}, False, id="shorter"),
        pytest.param(501.0, {"function": "mine:work"}, False, id="a function of the user's may take so long"),
    ],
)
def test_gaps_beyond_the_time_to_acknowledge_put_redeliveries_in_doubt(
    gap_ms: float, processing: dict[str, Any], *, is_doubted: bool
) -> None:
    """They came again because of the instrument; without a carrier none comes again."""
    carried = {"name": "x", "consume": {"processing": processing, "acknowledge": {"markers": {"timeout": "500ms"}}}}
    gap = look("consumer", 3.0, poll_gap_ms=gap_ms)

    found = unbounded.of_redeliveries(run(gap, scenario=carried))

    assert bool(found) is is_doubted
    assert all("did not poll for 501 ms" in each for each in found.values())
    assert set(found) <= set(RedeliverySection.model_fields)
    assert unbounded.of_redeliveries(run(gap)) == {}


def test_a_count_of_redeliveries_in_doubt_is_not_believed_unless_it_is_0() -> None:
    counted = RedeliverySection.model_construct(deliveries=5, dead=0, archived=2)

    found = derived({}, "end_to_end", (), counted, {"deliveries": "why", "dead": "why"})

    assert {path: (each.value, each.trust, each.because) for path, each in found.items()} == {
        "redelivery.deliveries": (5, "not_believed", ["why"])
    }
    assert derived({}, "end_to_end", (), None, {"deliveries": "why"}) == {}


def test_messages_that_came_to_another_consumer_have_no_bound_for_how_long_that_took() -> None:
    """Those of the seconds without polls, whose partitions went to another. Acknowledgements do not wait for it."""
    (found,) = unbounded.of_latency(run(look("consumer", 8.0, poll_gap_ms=46_000.0)))

    assert found.share == pytest.approx(0.8)
    assert found.takes("latency.end_to_end.response.p50_ms")
    assert not found.takes("latency.ack.response.p99_ms")
    assert "lost" not in found.because
    assert "second 0 to 8; 80 % of the messages" in found.because
    assert unbounded.of_latency(run(look("consumer", 8.0, poll_gap_ms=44_000.0))) == []
    slow_on_purpose = run(look("consumer", 8.0, poll_gap_ms=46_000.0), scenario=SLOW)
    assert unbounded.of_latency(slow_on_purpose) == []


@pytest.mark.parametrize(
    ("load", "told"),
    [
        ({"rate": "1k/s"}, None),
        ({"rate": "1k/s", "flush": 16}, "the interval holds only the largest of these delays"),
        ({"rate": "1k/s", "transactions": {"messages": 100}}, "the interval holds only the largest of these delays"),
        ({"rate": "closed"}, "another generator would have sent another load"),
        ({"rate": "max", "transactions": {"messages": 100}}, "another generator would have sent another load"),
    ],
)
def test_a_load_that_waits_for_reports_is_this_generators(load: dict[str, Any], told: str | None) -> None:
    found = place.of_load(run(scenario={"load": load}))

    assert found is told is None or (told or "") in (found or "")


def test_how_much_a_waiting_broker_can_explain_is_said() -> None:
    def waiting(share: float | None) -> str | None:
        return place.of_run(run({"scope": "measure", "role": "broker", "process": "b", "run_delay_share": share}))

    assert "the slowest 3.0 % of the messages" in (waiting(0.03) or "")
    assert waiting(0.0005) is waiting(None) is place.of_run(run()) is None


@pytest.mark.parametrize(
    ("begin", "end", "share"),
    [
        pytest.param(0, 10, 0.15, id="the whole phase"),
        pytest.param(2, 4, 0.75, id="all of it in a part"),
        pytest.param(3, 8, 0.3, id="a part that begins in its midst, with what had piled up before"),
        pytest.param(4, 6, 0.25, id="in the second before a part"),
        pytest.param(5, 10, 0.0, id="more than a second before"),
        pytest.param(0, 2, 0.0, id="after a part"),
        pytest.param(3, 4, 1.0, id="no more than all"),
    ],
)
def test_what_happened_for_a_while_happened_to_a_part_of_the_phase(begin: int, end: int, share: float) -> None:
    """From the second 2 to half of the second 3."""
    found = seconds(run(), "it stood still", [look("producer", 3.5, seconds=1.5)])

    assert found.within(begin, end).share == pytest.approx(share)
    assert found.within(begin, end)._replace(share=found.share) == found
