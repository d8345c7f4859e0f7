"""Clusters that lose what they acknowledged: the ledger names every message that a bare client misses, and no other."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from tests.e2e.harming import SOONER, last_second, leader_kills, repeated, times
from tests.probing import SOON
from tests.torture.accounts import read_log, rows_of

from streamgauge.cluster.embedded import start_cluster
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import read_facts
from streamgauge.report.files import read_table
from streamgauge.runs.analysis import answered
from streamgauge.runs.conduct.conduct import conducted
from streamgauge.runs.conduct.prepare import prepare_run
from streamgauge.runs.request.request import Request
from streamgauge.scenario import parse
from streamgauge.scenario.model.environment.faults.links import LinkFault, groups_of, links_of

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.e2e]

TOPIC: Final = "losing"
PARTITIONS: Final = 3
HARMS: Final = 10
SENT: Final = ("producer", "seq", "partition", "offset", "acked_ns", "error")
CUT: Final = {"kind": "truncate-tail", "target": "broker-2", "bytes": "4KiB", "for": "2s"}
"""The tails of partitions without other replicas are cut off."""
REPLICATED: Final[Mapping[str, Any]] = {"replication": 3, "configs": {"min.insync.replicas": 2}}
UNCLEAN: Final[Mapping[str, Any]] = {
    "replication": 2, "configs": {"min.insync.replicas": 1, "unclean.leader.election.enable": True},
}  # fmt: skip
BEHIND: Final[list[dict[str, Any]]] = [
    {"at": 0, "kind": "delay", "between": between, "delay": "50ms"}
    for between in (["broker-1", ["broker-2", "broker-3"]], ["broker-2", "broker-3"])
]
"""Followers have what a leader has 50 ms later."""


def unclean() -> list[dict[str, Any]]:
    """A broker that was dead becomes the leader when the other one dies, which had gone on alone."""
    given = {"kind": "kill", "for": "15s"}
    return [
        {"at": f"{40 * turn + at}s", "target": target, **given}
        for turn in range(3)
        for at, target in ((5, "broker-2"), (15, "broker-1"))
    ]


@pytest.mark.soak
@pytest.mark.usefixtures("_own_state")
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("plan", "topic", "rate", "acks", "faults", "lasting", "each_loses"),
    [
        pytest.param(
            {"brokers": 3},
            REPLICATED,
            600,
            1,
            leader_kills(7, HARMS, PARTITIONS),
            BEHIND,
            True,
            id="followers are behind",
        ),
        pytest.param(
            {"brokers": 3}, {"replication": 1}, 600, 1, repeated(CUT, times(8, HARMS, 16, 24)), [], True, id="tails cut"
        ),
        pytest.param(
            {"brokers": 2, "controllers": 1}, UNCLEAN, 15, "all", unclean(), [], False, id="unclean elections"
        ),
    ],
)
def test_what_was_acknowledged_and_is_gone_is_told_message_by_message(
    plan: dict[str, Any],
    topic: dict[str, Any],
    rate: int,
    acks: object,
    faults: list[dict[str, Any]],
    lasting: list[dict[str, Any]],
    each_loses: bool,
    java: Java,
    tmp_path: Path,
) -> None:
    lasts = f"{last_second(faults) + 30:.0f}s"
    whole = [{**each, "for": lasts} for each in lasting]
    client = {"acks": acks, "linger.ms": 0, "enable.idempotence": False, **SOON}
    document: dict[str, Any] = {
        "name": "losing",
        "cluster": plan,
        "topic": {"name": TOPIC, "partitions": PARTITIONS, **topic},
        "load": {"rate": rate, "size": 100, "partition": "round-robin", "client": client},
        "consume": {"client": {"auto.commit.interval.ms": 1000}},
        "faults": [*faults, *whole],
        "phases": {"warmup": "3s", "measure": lasts, "drain": "60s"},
    }
    links = links_of(tuple(LinkFault.model_validate(each) for each in whole), groups_of(plan["brokers"], 0))
    cluster = ClusterPlan(**plan, heap="256m", configs=SOONER, links=links)
    with start_cluster(cluster, logs=tmp_path / "logs", data=tmp_path / "data", java=java) as running:
        request = Request(parse(document), tmp_path / "runs", [], java, broker=running)
        with conducted(prepare_run(request), Interrupts(), lambda _text: None) as folder:
            pass
        in_log = read_log(read_facts(folder), running.bootstrap)
    facts, result = answered(folder, lambda _text: None)

    assert facts.ending == "finished"
    gone_ns = {
        (producer, seq): acked_ns
        for producer, seq, partition, offset, acked_ns, error in rows_of(folder, "sent", *SENT)
        if error is None and in_log.get((partition, offset)) != (producer, seq)
    }
    problems = read_table(folder, "problems").to_pylist()
    assert {(row["producer"], row["seq"]) for row in problems if row["class"] == "truncated"} == gone_ns.keys()
    assert (result.delivery.truncated, result.delivery.unknown) == (len(gone_ns), 0)
    scores = [row for row in read_table(folder, "fault_scores").to_pylist() if row["kind"] == faults[0]["kind"]]
    assert len(scores) == len(faults)
    assert gone_ns
    if each_loses:
        measured = facts.phase("measure")
        assert measured
        began = [measured.from_ns + round(row["began_second"] * NS_PER_SECOND) for row in scores]
        lost = [sum(abs(acked_ns - at_ns) < NS_PER_SECOND for acked_ns in gone_ns.values()) for at_ns in began]
        assert (min(lost) > 0, sum(lost)) == (True, len(gone_ns)), lost
