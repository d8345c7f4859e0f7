"""How much a run will write, and the advice where its disk has less."""

from typing import Any

import pytest

from streamgauge.runs.request.scenario_file import read_scenario, shipped
from streamgauge.scenario import Scenario, parse, room_advice
from streamgauge.scenario.volume import (
    RECORD_BYTES,
    ROW_BYTES,
    Estimate,
    bytes_written,
    estimate,
    messages_of,
)
from streamgauge.workload.pacing import count_before
from streamgauge.workload.pacing.build import pacer_of

PHASES = {"warmup": "5s", "measure": "15s"}


def scenario(**changes: Any) -> Scenario:
    return parse({"name": "test", "phases": PHASES, **changes})


def due(asked: Scenario, producers: int = 1, at_ns: int | None = None) -> int:
    """How many messages the pacers of all producers make due in the load."""
    assert asked.load
    counts = []
    for producer in range(producers):
        pacer = pacer_of(
            asked.load.rate,
            producer=producer,
            producers=producers,
            seed=asked.seed,
            warmup_ns=asked.phases.warmup,
        )
        assert pacer
        counts.append(count_before(pacer, asked.load_ns if at_ns is None else at_ns, 1 << 40))
    return sum(counts)


SHAPES: list[Any] = [
    "7/s",
    "RAMP_4_1k_7k_2s",
    "RAMP_3_0_100_20s",
    "SPIKE_1k_20k_3s_500ms",
    "SPIKE_1k_20k_0s_2s",
    {"ramp": {"from": "0/s", "to": "9k/s", "over": "10s"}},
    {"ramp": {"from": "9k/s", "to": "0/s", "over": "100s"}},
    [{"rate": "1k/s", "for": "1s"}, {"rate": "0/s", "for": "2s"}, {"rate": "1k/s", "to": "3.3/s", "for": "7s"}],
    {"segments": {"list": [{"rate": "777/s", "for": "1s"}, {"rate": "1/s", "for": "3s"}], "then": "stop"}},
    {"segments": {"list": [{"rate": "0.3/s", "to": "5k/s", "for": "1s"}, {"rate": 0, "for": "1us"}], "then": "repeat"}},
    {"segments": {"list": [{"rate": "2k/s", "to": "5k/s", "for": "3s"}, {"rate": 9, "for": "4s"}], "then": "repeat"}},
    {"burst": {"base": "5k/s", "burst": "15k/s", "for": "3s", "every": "12s"}},
    {"windows": {"messages": 500, "window": "100ms"}},
    {"windows": {"messages": 500, "window": "700ms"}},
    {"windows": {"messages": 7, "window": "11s"}},
    {"windows": {"messages": 500, "window": "700ms", "spread": True}},
]


@pytest.mark.parametrize("rate", SHAPES, ids=str)
@pytest.mark.parametrize("warmup", ["5s", "0s", "130ms"])
def test_of_every_shape_it_is_what_the_pacers_make_due(rate: Any, warmup: str) -> None:
    asked = scenario(load={"rate": rate}, phases={"warmup": warmup, "measure": "15.3s"})

    assert messages_of(asked) == pytest.approx(due(asked), abs=1)
    assert messages_of(asked) == pytest.approx(due(asked, producers=3), abs=1)


@pytest.mark.parametrize("rate", SHAPES, ids=str)
def test_where_messages_end_a_run_those_of_its_warm_up_come_before(rate: Any) -> None:
    asked = scenario(load={"rate": rate}, phases={"warmup": "5s", "measure": {"messages": 1}})

    assert messages_of(asked) == pytest.approx(1 + due(asked, at_ns=asked.phases.warmup), abs=1)


_DRAWN = ("poisson", "gaussian", "trogdor-gaussian")


@pytest.mark.parametrize("name", shipped())
def test_of_every_shipped_scenario_it_is_known_unless_the_clients_decide(name: str) -> None:
    """Of random arrivals it is the mean, to which runs with many seeds come."""
    asked, wrong = read_scenario(name, [])
    assert asked, wrong
    counted = asked.measured_messages is not None
    if asked.load is None or asked.load.rate == "max" or asked.load.batch is not None:
        assert counted or messages_of(asked) is None
    elif name in _DRAWN:
        found = [due(asked.model_copy(update={"seed": seed})) for seed in range(40)]
        assert messages_of(asked) == pytest.approx(sum(found) / len(found), rel=0.02)
    elif not counted:
        assert messages_of(asked) == pytest.approx(due(asked, asked.producers), abs=1)


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        ({"load": {"rate": "1k/s"}}, 20_000),
        ({"load": {"rate": {"poisson": {"rate": "2k/s"}}}}, 40_000),
        ({"load": {"rate": "1k/s"}, "phases": {"warmup": "5s", "measure": {"messages": 500}}}, 5_500),
        (
            {"load": {"rate": "1k/s"}, "phases": {"warmup": "5s", "measure": {"messages": "1M", "at_most": "20s"}}},
            25_000,
        ),
        (
            {
                "load": {"rate": {"segments": {"list": [{"rate": "100/s", "for": "3s"}], "then": "stop"}}},
                "phases": {"warmup": "1s", "measure": {"messages": 500}},
            },
            400,
        ),
        ({"load": {"rate": "max"}, "phases": {"warmup": "0s", "measure": {"messages": 500}}}, 500),
        ({"load": {"rate": "max"}}, None),
        ({"load": {"rate": "closed"}}, None),
        ({"load": "off"}, None),
    ],
)
def test_how_many_messages_are_asked_for(changes: dict[str, Any], messages: float | None) -> None:
    assert messages_of(scenario(**changes)) == messages


@pytest.mark.parametrize(
    ("changes", "embedded", "expected"),
    [
        ({}, False, ROW_BYTES),
        ({}, True, ROW_BYTES + RECORD_BYTES + 1000),
        ({"topic": {"replication": 3}}, True, ROW_BYTES + 3 * (RECORD_BYTES + 1000)),
        ({"pipeline": {"job": "pass"}}, True, ROW_BYTES + 2 * (RECORD_BYTES + 1000)),
    ],
    ids=["rows alone", "messages too", "messages three times", "messages twice"],
)
def test_how_much_is_written(changes: dict[str, Any], embedded: bool, expected: float) -> None:
    asked = scenario(load={"rate": "1k/s", "size": 1000}, **changes)

    assert bytes_written(asked, embedded=embedded) == 20_000 * expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"load": {"rate": "1k/s"}}, Estimate(20, False, 30, 20_000, 20_000 * ROW_BYTES)),
        ({"load": {"rate": "max"}}, Estimate(20, False, 30, None, None)),
        ({"load": {"rate": "1k/s"}, "phases": {"warmup": "5s", "measure": {"messages": 500}, "drain": 10}},
         Estimate(5.5, False, 10, 5_500, 5_500 * ROW_BYTES)),
        # The end by time comes first.
        ({"load": {"rate": "1k/s"}, "phases": {"warmup": 0, "measure": {"messages": "1M", "at_most": "20s"}}},
         Estimate(20, False, 30, 20_000, 20_000 * ROW_BYTES)),
        # Nobody knows when the last one is sent, or read.
        ({"load": {"rate": "max"}, "phases": {"warmup": 0, "measure": {"messages": 500, "at_most": "20s"}}},
         Estimate(20, True, 30, 500, 500 * ROW_BYTES)),
        ({"load": "off", "phases": {"warmup": 0, "measure": {"drained": True, "at_most": "20s"}}},
         Estimate(20, True, 30, None, None)),
    ],
)  # fmt: skip
def test_what_a_run_comes_to(changes: dict[str, Any], expected: Estimate) -> None:
    assert estimate(scenario(**changes), embedded=False) == expected


def test_a_changing_rate_is_followed_through_the_whole_load() -> None:
    """Its warm-up has the initial rate: 3 x 1,000, and steps of 6 s of 1,000/s to 10,000/s."""
    asked = scenario(load={"rate": "RAMP_10_1k_10k_6s"}, phases={"warmup": "3s", "measure": "60s"})

    assert estimate(asked, embedded=False) == Estimate(63, False, 30, 333_000, 333_000 * ROW_BYTES)
    assert len(room_advice(asked, "runs", 1_000_000, embedded=False)) == 1


def test_of_a_replay_the_file_tells() -> None:
    asked = scenario(load={"rate": {"replay": {"file": "arrivals.txt"}}})

    assert messages_of(asked) is None
    assert messages_of(asked, replayed=40) == 40
    assert estimate(asked, embedded=False, replayed=40).bytes_written == 40 * ROW_BYTES
    assert len(room_advice(asked, "runs", 100, embedded=False, replayed=40)) == 1


@pytest.mark.parametrize(("replayed", "messages"), [(40, 40), (400, 100), (None, 100)])
def test_a_number_ends_a_replay_unless_the_file_ends_before(replayed: int | None, messages: int) -> None:
    """Nothing of it is due in the warm-up."""
    phases = {"warmup": "5s", "measure": {"messages": 100}}
    asked = scenario(load={"rate": {"replay": {"file": "arrivals.txt"}}}, phases=phases)

    assert messages_of(asked, replayed) == messages


def test_what_comes_from_a_file_has_no_size_yet() -> None:
    asked = scenario(load={"payload": {"file": {"path": "events.ndjson"}}})

    assert bytes_written(asked, embedded=True) is None
    assert bytes_written(asked, embedded=False) is not None


def test_too_small_a_disk_is_told_before_the_run() -> None:
    asked = scenario(load={"rate": "100k/s", "size": 1000})

    (told,) = room_advice(asked, "runs", 100_000_000, embedded=True)

    assert told == (
        "--out runs: its disk has 100 MB left, and the run writes up to 2.08 GB of messages and rows. Free space, "
        "choose a folder on another disk, or send less (load.rate, load.size, phases.measure)"
    )
    assert room_advice(asked, "runs", 100_000_000, embedded=False) == []
    assert room_advice(asked, "runs", 3_000_000_000, embedded=True) == []
    assert room_advice(asked, "runs", None, embedded=True) == []
