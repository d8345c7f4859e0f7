"""A cluster of three that is harmed again and again, beside two bare clients.

Nothing that was acknowledged is lost. A run tells how long producers were cut off, and of other faults what those
clients saw: each finds the new leader of a partition in its own time, so that two are apart, too, and there are two.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, Final

import pytest
from tests.e2e.harming import SOONER, last_second, leader_kills, repeated, times
from tests.probing import SOON, Probe, longest_ns

from streamgauge.cluster.embedded import EmbeddedCluster, start_cluster
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.delivery.outages import NEVER_NS
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.processes.jvm.java import Java
from streamgauge.report.files import read_table
from streamgauge.runs.analysis import answered
from streamgauge.runs.conduct.conduct import conducted
from streamgauge.runs.conduct.prepare import prepare_run
from streamgauge.runs.request.request import Request
from streamgauge.scenario import parse
from streamgauge.scenario.model.environment.faults.links import LinkFault, groups_of, links_of

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.e2e]

TOPIC: Final = "harmed"
PARTITIONS: Final = 3
RATE: Final = 150
APART_OF_MESSAGES_S: Final = PARTITIONS / RATE
"""Nobody waits for a partition before its next message is sent."""
AWAY_S: Final = 12
"""Longer than it takes to find new leaders: a JVM that starts keeps all clients from their cores meanwhile."""
PARTITION: Final = {"kind": "black-hole", "between": ["broker-1", ["broker-2", "broker-3"]], "for": "8s"}
RESTART: Final = {"kind": "rolling-restart", "target": "brokers", "between": "2s"}
CUT: Final = {"kind": "cut", "between": ["producers", "broker-2"], "for": "3s"}
NOTICED_S: Final = 1.0
"""Shorter waits are those of a busy machine, of which each client has its own."""
LATE_S: Final = 0.05
"""How much later than their links producers may notice the cut, and at the median be back.

So far, each time, may a run be from what clients saw that are cut off beside it; of other faults at the median. Or as
far as they are from each other.
"""
WARM: Final = "25s"
"""Three brokers that were just started keep all clients waiting again and again, bare ones too, for 0.04 to 0.15 s."""


@pytest.fixture
def three(java: Java, tmp_path: Path, _own_state: None) -> Iterator[EmbeddedCluster]:
    faults = [LinkFault.model_validate({"at": 0, **each}) for each in (PARTITION, CUT)]
    plan = ClusterPlan(3, heap="256m", configs=SOONER, links=links_of(tuple(faults), groups_of(3, 0)))
    with start_cluster(plan, logs=tmp_path / "logs", data=tmp_path / "data", java=java) as running:
        yield running


@pytest.mark.parametrize(
    ("acked_ms", "last_ms", "longest_ms"),
    [
        pytest.param([], 1_000, 0, id="nothing"),
        pytest.param([100, 400, 450], 1_000, 200, id="it counts from the begin"),
        pytest.param([210, 300, 700], 1_000, 400, id="it may end later"),
        pytest.param([210, 300, 700], 600, 300, id="the rest of it is of the next fault"),
        pytest.param([100, 150, 190, 510, 900], 1_000, 310, id="what begins later is not of this fault"),
    ],
)
def test_a_probe_tells_the_longest_wait(acked_ms: list[int], last_ms: int, longest_ms: int) -> None:
    acked_ns = [each * NS_PER_MS for each in acked_ms]

    assert longest_ns(acked_ns, 200 * NS_PER_MS, 500 * NS_PER_MS, last_ms * NS_PER_MS) == longest_ms * NS_PER_MS


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("faults", "harms"),
    [
        *(
            pytest.param(leader_kills(seed, 10, PARTITIONS, AWAY_S), 10, id=f"leaders killed, {seed}")
            for seed in (1, 2, 3)
        ),
        pytest.param(repeated(PARTITION, times(4, 10, 18, 26)), 10, id="partitioned"),
        pytest.param(repeated(CUT, times(5, 10, 18, 26)), 10, id="producers cut off"),
        pytest.param(repeated(RESTART, times(6, 5, 55, 65)), 15, id="restarted one after the other"),
    ],
)
def test_nothing_acknowledged_is_lost_and_recoveries_are_told_as_they_are(
    faults: list[dict[str, Any]], harms: int, three: EmbeddedCluster, java: Java, tmp_path: Path
) -> None:
    """With acks=all, three replicas, two of them in sync, and an idempotent producer."""
    load = {"acks": "all", "enable.idempotence": True, "max.in.flight": 1, "linger.ms": 0, **SOON}
    scenario = parse(
        {
            "name": "harmed",
            "topic": {"name": TOPIC, "partitions": PARTITIONS, "replication": 3, "configs": {"min.insync.replicas": 2}},
            "load": {"rate": RATE, "producers": 1, "size": 100, "partition": "round-robin", "client": load},
            "consume": {"client": {"auto.commit.interval.ms": 1000}},
            "lag": {"every": "200ms"},
            "faults": faults,
            "phases": {"warmup": WARM, "measure": f"{last_second(faults) + 60:.0f}s", "drain": "60s"},
        }
    )
    request = Request(scenario, tmp_path / "runs", [], java, broker=three)
    kind = faults[0]["kind"]
    with ExitStack() as stack:
        # Where the links of producers are cut, the bare clients are producers, too.
        bootstrap = three.bootstraps["producers"] if kind == "cut" else three.bootstrap
        probes = [stack.enter_context(Probe(bootstrap, TOPIC, PARTITIONS)) for _ in range(2)]

        def progress(text: str) -> None:
            if text.startswith("draining"):
                for probe in probes:
                    probe.stop()

        with conducted(prepare_run(request), Interrupts(), progress) as folder:
            pass
    facts, result = answered(folder, lambda _text: None)

    assert (facts.ending, [each.failed for each in probes]) == ("finished", [[], []])
    delivery = result.delivery
    assert delivery.sent
    assert delivery.acked == delivery.sent
    assert (delivery.lost, delivery.undelivered, delivery.truncated, delivery.unknown) == (0, 0, 0, 0)
    scores = {row["fault"]: row for row in read_table(folder, "fault_scores").to_pylist()}
    assert len(scores) == harms
    measured = facts.phase("measure")
    assert measured
    # A client that is not idempotent may store a message twice; what it sent before the group began, nobody reads.
    probed_ns = [at_ns for probe in probes for acked_ns in probe.acked_ns for at_ns in acked_ns]
    assert delivery.foreign
    assert delivery.foreign >= sum(at_ns >= measured.from_ns for at_ns in probed_ns) > 0
    told, apart, between = {}, list[float](), list[float]()

    def at_ns(fault: int, name: str) -> int:
        return measured.from_ns + round(float(scores[fault][name]) * NS_PER_SECOND)

    for row in read_table(folder, "fault_partitions").to_pylist():
        fault, told_s = row["fault"], row["unwritable_s"] or 0.0
        span = (at_ns(fault, "began_second"), at_ns(fault, "until_second"))
        last_ns = at_ns(fault + 1, "began_second") if fault + 1 in scores else NEVER_NS
        probed_s = [longest_ns(each.acked_ns[row["partition"]], *span, last_ns) / NS_PER_SECOND for each in probes]
        if told_s >= NOTICED_S:
            told[row["fault"], row["partition"]] = told_s
            apart.append(max(0.0, told_s - max(probed_s), min(probed_s) - told_s))
            between.append(max(probed_s) - min(probed_s))
    # Who restarts in order hands its partitions over before.
    assert {fault for fault, _ in told} == set(scores) or kind == "rolling-restart", told
    if kind == "cut":
        # Other partitions may wait for a busy machine meanwhile.
        off = [
            max(each for (fault, _), each in told.items() if fault == one) - (row["ended_second"] - row["began_second"])
            for one, row in scores.items()
        ]
        assert min(off) >= -(APART_OF_MESSAGES_S + LATE_S), told
        assert median(off) <= LATE_S, told
        # When a producer is back depends on what else wants a core then; but it is back when bare clients are.
        assert max(apart) <= max(LATE_S, *between), (off, apart, between)
    elif apart:
        assert median(apart) <= max(LATE_S, median(between)), (apart, between)
