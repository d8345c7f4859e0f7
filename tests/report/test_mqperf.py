"""mqperf's result table, from runs of ours."""

from copy import deepcopy
from typing import Any

import pytest

from streamgauge.foreign.results.formats.mqperf import EDGES_MS
from streamgauge.report.compare.answers import together_of
from streamgauge.report.compare.mqperf import mqperf_table, read_in_buckets
from streamgauge.report.compare.variants import Alike
from streamgauge.result.reading import result_of

FIGURES = {
    "throughput.acked_per_second": 7458.4,
    "throughput.received_per_second": 7401.6,
    "latency.end_to_end.service.p95_ms": 47.12345,
    "latency.ack.service.p95_ms": 46.0,
}
LOOP = {"closed": {"batch": 10}}


def row(healthy: dict[str, Any], load: Any, consume: Any, *, by: tuple[float, ...] = (1.0,)) -> dict[str, Any]:
    """What the table says of runs of these settings, whose figures are so many times those of `FIGURES`."""
    runs = []
    for factor in by:
        document = deepcopy(healthy)
        document["run"]["scenario"] |= {"load": load, "consume": consume}
        document["run"].pop("profile", None)
        for path, value in FIGURES.items():
            known = document["trust"]["throughput.sent_per_second"]
            document["trust"][path] = known | {"value": value * factor, "low": None, "high": None, "trust": "believed"}
        runs.append(result_of(document))
    [found] = mqperf_table(together_of([Alike("v", tuple(runs))])).to_pylist()
    return dict(found)


@pytest.mark.parametrize(
    ("load", "consume", "expected"),
    [
        pytest.param(
            {"producers": 25, "processes": 1, "rate": LOOP}, {"consumers": 50, "processes": 2}, ("25", 1, 2, 10),
            id="25 threads on every node",
        ),
        pytest.param(
            {"producers": 100, "processes": 4, "rate": LOOP}, {"consumers": 40, "processes": 8}, ("25/5", 4, 8, 10),
            id="other threads on the receivers",
        ),
        pytest.param(
            {"producers": 2, "rate": "closed"}, {"consumers": 1, "groups": 2}, ("1", 2, 2, 1),
            id="processes are those of the clients by default",
        ),
        pytest.param(
            {"producers": 25, "processes": 2, "rate": 1000}, {"consumers": 5, "processes": 5}, ("12.5/1", 2, 5, None),
            id="a schedule waits for no batch",
        ),
        pytest.param(
            {"producers": 2, "rate": {"closed": {"batch": {"uniform": {"from": 1, "to": 20}}}}}, "off",
            ("1", 2, None, 10), id="random batches have a mean",
        ),
        pytest.param({"producers": 1, "rate": "max"}, "off", ("1", 1, None, None), id="nobody receives"),
        pytest.param("off", {"consumers": 4, "processes": 1}, ("4", None, 1, None), id="nobody sends"),
    ],
)  # fmt: skip
def test_processes_are_nodes_and_their_clients_threads(
    healthy_result: dict[str, Any], load: Any, consume: Any, expected: tuple[Any, ...]
) -> None:
    found = row(healthy_result, load, consume)
    assert tuple(found[name] for name in ("threads", "sender nodes", "receiver nodes", "batch")) == expected


def test_columns_are_those_of_mqperf_with_medians(healthy_result: dict[str, Any]) -> None:
    load, consume = {"producers": 1, "processes": 1, "rate": LOOP}, {"consumers": 1, "processes": 1}
    assert list(row(healthy_result, load, consume, by=(1.0, 3.0, 2.0)).items()) == [
        ("threads", "1"), ("sender nodes", 1), ("receiver nodes", 1), ("send msgs/s", 14917), ("receive msgs/s", 14803),
        ("processing p95, ms", 94.247), ("send p95, ms", 92.0),
        ("processing p95 in buckets, ms", 47.5), ("send p95 in buckets, ms", 47.5), ("batch", 10), ("runs", 3),
        ("variant", "v"),
    ]  # fmt: skip


def test_a_variant_without_a_run_has_its_name_only(healthy_result: dict[str, Any]) -> None:
    known = Alike("known", (result_of(deepcopy(healthy_result)),))
    found = mqperf_table(together_of([known, Alike("lost", (), without_result=1)])).to_pylist()[1]
    assert {name: value for name, value in found.items() if value is not None} == {"runs": 0, "variant": "lost"}


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        pytest.param([(0.5, 0.5), (2.0, 1.0)], 47.5, id="whatever is below 50 ms reads 47.5"),
        pytest.param([(20.0, 0.98), (49.0, 1.0)], 47.5, id="also where it is not the same"),
        pytest.param([(50.0, 0.9), (100.0, 1.0)], 75.0, id="half of the second bucket"),
        pytest.param([(50.0, 0.45), (100.0, 0.5)], 75.0, id="messages that never came are not counted"),
        pytest.param([(50.0, 0.0), (1_000.0, 0.0), (1_250.0, 1.0)], 1_237.5, id="buckets get wider"),
        pytest.param([(60_000.0, 0.0), (70_000.0, 1.0)], None, id="nothing that has a bucket"),
        pytest.param([], None, id="nothing"),
    ],
)
def test_percentiles_read_in_buckets_are_those_of_the_buckets(
    points: list[tuple[float, float]], expected: float | None
) -> None:
    """What it reports for every system that takes less than 50 ms is its first bucket."""
    found = read_in_buckets(points, 0.95)
    assert found == (None if expected is None else pytest.approx(expected))
    assert EDGES_MS[:3] == (0, 50, 100)
