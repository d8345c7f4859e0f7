"""What a calibration plants, and what it makes of a result."""

from dataclasses import replace

import numpy as np
import pytest

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.modelled.model import NEVER, Anomaly, Model, Server, releases
from streamgauge.result.model.trust import FigureTrust
from streamgauge.runs.machine.calibrate.compared import INVENTED, Compared, Figures, PlantedLoad, planted
from streamgauge.runs.machine.calibrate.planned import MODEL, PRODUCERS, SERVERS, STALL_NS, Planned
from streamgauge.runs.machine.calibrate.round_trip import ROUND_TRIPS_MS, shifts_ms
from streamgauge.verdict.trust.calibrated import PLANTED_MS

FLAT = Model((Server(1.0, (NS_PER_MS,), (3 * NS_PER_MS,)),), service_ns=(0, 0))


def due(count: int, every_ns: int = NS_PER_MS) -> PlantedLoad:
    return PlantedLoad(np.arange(count, dtype=np.int64) * every_ns, FLAT)


def test_planted_figures_are_those_of_what_is_due_in_the_measure_phase() -> None:
    """By nearest rank; response and service time are one, as nobody is late in what is planted."""
    stalled = replace(FLAT, stalls=((50, 100 * NS_PER_MS),))
    found = planted([PlantedLoad(due(100).due_ns, stalled)], 10 * NS_PER_MS, 60 * NS_PER_MS, NS_PER_SECOND)

    assert found.latencies_ms["ack.response.p50"] == found.latencies_ms["ack.service.p50"] == 1.0
    assert found.latencies_ms["end_to_end.response.p50"] == 3.0
    assert found.latencies_ms["end_to_end.response.p99"] == found.latencies_ms["end_to_end.service.max"] == 103.0
    assert set(found.counts.values()) == {0}


def test_what_the_verdict_takes_for_planted_is_planted() -> None:
    """An error belongs to a length, which the verdict knows about."""
    of_acks, of_records = (
        [max(each) / NS_PER_MS for server in SERVERS if (each := getattr(server, name))]
        for name in ("acked_ns", "readable_ns")
    )

    assert max(of_acks) == PLANTED_MS["ack"]["p99"]
    assert max(of_records) == PLANTED_MS["end_to_end"]["p99"]
    assert {each["max"] for each in PLANTED_MS.values()} == {STALL_NS / NS_PER_MS}
    assert {each["p99_9"] for each in PLANTED_MS.values()} == {STALL_NS / NS_PER_MS / 2}


def test_a_lost_message_counts_with_its_age() -> None:
    """In percentiles, as it does in a result, and not in the maximum. Counts are those of all messages."""
    lossy = replace(FLAT, anomalies=(Anomaly.LOST,) * 100)
    found = planted([PlantedLoad(due(2_048).due_ns, lossy)], 0, NS_PER_SECOND, 60 * NS_PER_SECOND)

    assert found.counts["lost"] == 100
    assert (found.latencies_ms["end_to_end.response.p99"] or 0) > 59_000
    assert found.latencies_ms["end_to_end.response.max"] == 3.0
    assert found.latencies_ms["ack.response.p99"] == 1.0


def test_errors_are_signed_and_every_count_is_compared() -> None:
    """Where either is not told there is no error; nothing may be found that was not planted."""
    truth = planted([due(100)], 0, NS_PER_SECOND, NS_PER_SECOND)
    latencies = dict(truth.latencies_ms) | {"ack.response.p50": 0.5, "ack.response.p99": None}
    counts = dict(truth.counts) | {"lost": 1, "foreign": 2}
    found = Compared(1_000, truth, Figures(latencies, counts), 0)

    assert found.errors_ms["ack.response.p50"] == -0.5
    assert "ack.response.p99" not in found.errors_ms
    assert found.miscounted == ["lost", "foreign"]
    assert set(INVENTED) <= set(truth.counts)


def test_an_interval_holds_what_was_planted_or_not() -> None:
    """Both ends belong to it; where none is known, nothing is said."""
    truth = planted([due(100)], 0, NS_PER_SECOND, NS_PER_SECOND)
    intervals = {"ack.response.p50": (0.5, 1.0), "ack.response.p99": (0.5, 0.9), "end_to_end.response.p50": (3.1, 4.0)}
    trust = {
        name: FigureTrust(value=high, low=low, high=high, trust="bounded", because=[])
        for name, (low, high) in intervals.items()
    }
    found = Compared(1_000, truth, Figures(truth.latencies_ms, truth.counts, trust), 0)

    assert found.outside == ["ack.response.p99", "end_to_end.response.p50"]


@pytest.mark.mock
def test_a_longer_round_trip_shows_as_long_as_it_is() -> None:
    """In librdkafka's acknowledgements, to the resolution of its timers."""
    found = shifts_ms()

    assert list(found) == list(ROUND_TRIPS_MS)
    assert all(each - 0.5 <= shift <= each + 2 for each, shift in found.items())


@pytest.mark.parametrize("rate", [1_000, 10_000, 100_000])
def test_what_is_planted_shows_in_every_percentile(rate: int) -> None:
    """p50 at 1 ms, p99 at 50 ms, the stall beyond p99.9; at every rate the servers keep up."""
    plan = Planned(rate, 8, 1)
    count = rate // PRODUCERS * 9
    loads = [
        PlantedLoad((np.arange(count) * PRODUCERS + producer) * NS_PER_SECOND // rate, model)
        for producer, model in enumerate(plan.models)
    ]
    found = planted(loads, NS_PER_SECOND, 9 * NS_PER_SECOND, 10 * NS_PER_SECOND)

    assert found.latencies_ms["end_to_end.response.p50"] == pytest.approx(1.0, abs=0.05)
    assert found.latencies_ms["end_to_end.response.p99"] == pytest.approx(50.0, abs=0.1)
    assert 1_000 < (found.latencies_ms["end_to_end.response.p99_9"] or 0) <= 9_000
    assert found.latencies_ms["end_to_end.response.max"] == pytest.approx(STALL_NS / NS_PER_MS, abs=1)
    assert found.latencies_ms["ack.response.p50"] == pytest.approx(0.5, abs=0.05)
    assert found.latencies_ms["ack.response.p99"] == pytest.approx(25.0, abs=0.1)
    assert all(count for name, count in found.counts.items() if name not in INVENTED)
    for load in loads:
        # Nothing waits at the end for a message that is never sent.
        assert releases(load.due_ns, np.arange(count), load.model).readable_ns.max() < NEVER
        assert load.model.anomalous_until < count


def test_each_consumer_reads_the_partitions_of_one_producer() -> None:
    """So that they have as much to do."""
    plan = Planned(1_000, 8, 1)
    assert [plan.scenario.assigned(each) for each in range(PRODUCERS)] == [
        tuple((0, each) for each in range(producer * len(SERVERS), (producer + 1) * len(SERVERS)))
        for producer in range(PRODUCERS)
    ]
    assert sum(server.share for server in MODEL.servers) == pytest.approx(1)
