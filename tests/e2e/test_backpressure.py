"""Credit on a real broker: the bound is replayed from the rows, whatever happens to consumers, controller, broker."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.e2e.runs import Conducted, conducting, rows

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.delivery.reports import certainly_not_written
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.engine.consume.loop import LARGE_BITE
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import read_facts

pytestmark = [pytest.mark.kafka, pytest.mark.e2e, pytest.mark.timing]

LIMIT = 500
LOST = 2 * LARGE_BITE
"""Messages whose rows a consumer has not written yet, at most, or nearly so."""
SESSION = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500, "auto.commit.interval.ms": 200}


@pytest.fixture
def conducted(broker: EmbeddedBroker, java: Java, tmp_path: Path) -> Conducted:
    """Carries out an overload of two consumers that take 2 ms a message in twelve slots, under a policy."""
    plain = {
        "load": {"rate": "8k/s", "client": {"acks": 1, "retries": 0, "linger.ms": 5}, "partition": "round-robin"},
        "consume": {"processing": {"delay": "2ms", "order": "partitions"}, "client": SESSION},
        "backpressure": {"credit": {"limit": LIMIT}},
        "lag": {"every": "100ms"},
        "phases": {"warmup": "500ms", "measure": "3s", "drain": "30s"},
    }
    return conducting(broker, java, tmp_path, plain)


def peak(folder: RunFolder) -> int:
    """Most messages sent and not below the processed frontier of their partition, message by message."""
    sent = [
        row["sent_ns"]
        for row in rows(folder, "sent", "sent_ns", "error").to_pylist()
        if row["sent_ns"] is not None and not certainly_not_written(row["error"])
    ]
    first: dict[tuple[int, int], int] = {}
    for row in rows(folder, "received", "partition", "offset", "processed_ns", "producer").to_pylist():
        if row["processed_ns"] is not None:
            place = (row["partition"], row["offset"])
            first[place] = min(row["processed_ns"], first.get(place, row["processed_ns"]))
    over: list[int] = []
    frontier: dict[int, tuple[int, int]] = {}
    for (partition, offset), at_ns in sorted(first.items()):
        expected, latest = frontier.get(partition, (0, 0))
        if offset != expected:
            continue
        frontier[partition] = (offset + 1, max(latest, at_ns))
        over.append(max(latest, at_ns))
    events = sorted([(at_ns, 0) for at_ns in over] + [(at_ns, 1) for at_ns in sent])
    most = standing = 0
    for _, is_sent in events:
        standing += 1 if is_sent else -1
        most = max(most, standing)
    return most


def lags(folder: RunFolder) -> list[dict[str, Any]]:
    return [row for row in rows(folder, "lag", "moment", "at_ns", "end", "committed", "error").to_pylist()
            if row["moment"] == "sample"]  # fmt: skip


def sampled_lags(folder: RunFolder) -> dict[int, int | None]:
    """The lag of each sample of one group; None where a partition has no commit, or the cluster gave no answer."""
    found: dict[int, int | None] = {}
    for row in lags(folder):
        before = found.get(row["at_ns"], 0)
        is_known = before is not None and row["end"] is not None and row["committed"] is not None
        found[row["at_ns"]] = before + max(0, row["end"] - row["committed"]) if is_known else None
    return found


def marks(folder: RunFolder) -> list[tuple[str, str, str]]:
    return [tuple(row.values()) for row in rows(folder, "faults", "kind", "target", "action").to_pylist()]


def test_never_more_than_the_limit_is_sent_and_not_processed(conducted: Conducted) -> None:
    """And as much as that nearly always: what is held back keeps its due time, what is never sent is unsent."""
    folder = conducted()

    assert read_facts(folder).reasons == []
    assert LIMIT * 0.99 <= peak(folder) <= LIMIT
    sent = rows(folder, "sent", "due_ns", "admitted_ns", "sent_ns", "error")
    held = [row for row in sent.to_pylist() if row["admitted_ns"] is not None]
    assert all(row["admitted_ns"] <= row["sent_ns"] for row in held)
    waits = np.array([row["admitted_ns"] - row["due_ns"] for row in held])
    assert np.percentile(waits, 99) > NS_PER_SECOND / 10
    errors = {row["error"] for row in sent.to_pylist()}
    assert errors == {None, "unsent"}
    decisions = rows(folder, "decisions", "policy", "outstanding", "granted").to_pylist()
    assert {row["policy"] for row in decisions} == {"credit"}
    assert max(row["outstanding"] for row in decisions) <= LIMIT
    samples = lags(folder)
    assert len({row["at_ns"] for row in samples}) > 20
    assert {row["error"] for row in samples} == {None}


def test_a_consumer_that_is_killed_gives_its_credit_back_by_redelivery(conducted: Conducted) -> None:
    """The bound holds all the time, and everything arrives in the end."""
    folder = conducted(
        faults=[{"at": "1s", "kind": "kill", "target": "consumer-1"}], phases={"warmup": "500ms", "measure": "12s"}
    )

    facts = read_facts(folder)
    assert (facts.ending, facts.reasons, facts.drained) == ("finished", [], True)
    assert [(worker.name, worker.declared_dead) for worker in facts.workers if worker.died] == [("consumer-1", True)]
    assert marks(folder) == [("kill", "consumer-1", "begin")]
    # What it processed last it had told, and not recorded yet: that counts when it is delivered again.
    assert peak(folder) <= LIMIT + LOST
    measure = facts.phase("measure")
    assert measure is not None
    processed = rows(folder, "received", "processed_ns")["processed_ns"].drop_null().to_numpy()
    assert (processed > measure.to_ns - 2 * NS_PER_SECOND).sum() > LIMIT


def test_without_its_controller_grants_stay_as_they_are_and_the_run_says_so(conducted: Conducted) -> None:
    """Producers send what they were granted and no more; nothing hangs."""
    folder = conducted(faults=[{"at": "1s", "kind": "kill", "target": "controller"}])

    facts = read_facts(folder)
    assert (facts.ending, facts.reasons) == ("finished", [])
    assert [worker.name for worker in facts.workers if worker.declared_dead] == ["controller"]
    killed_ns = rows(folder, "faults", "at_ns")["at_ns"].to_pylist()[0]
    sent = rows(folder, "sent", "sent_ns")["sent_ns"].drop_null().to_numpy()
    assert sent.max() < killed_ns + NS_PER_SECOND // 2
    assert peak(folder) <= LIMIT


def test_a_broker_that_is_paused_is_late_and_loses_nothing(conducted: Conducted) -> None:
    """Samples of the lag fail meanwhile, each a row with the reason; credit is not exceeded when all comes at once.

    Replicas are asked for because of the fault, although each partition has one.
    """
    folder = conducted(
        embedded=True,
        faults=[{"at": "1s", "kind": "pause", "target": "broker", "for": "4s"}],
        phases={"warmup": "500ms", "measure": "8s"},
    )

    facts = read_facts(folder)
    assert (facts.ending, facts.drained) == ("finished", True)
    assert marks(folder) == [("pause", "broker-1", "begin"), ("pause", "broker-1", "end")]
    failed = [row for row in lags(folder) if row["error"]]
    assert failed
    assert {(row["end"], row["committed"]) for row in failed} == {(None, None)}
    looks = rows(folder, "replicas", "replicas", "error").to_pylist()
    assert any(row["error"] for row in looks)
    assert {row["replicas"] for row in looks if row["error"] is None} == {1}
    assert peak(folder) <= LIMIT
    acked = rows(folder, "sent", "acked_ns")["acked_ns"].drop_null()
    assert len(acked) == len(set(_received(folder)))


def test_hysteresis_pauses_and_goes_on_by_the_lag_that_was_sampled(conducted: Conducted) -> None:
    """It overshoots by what comes until the next sample."""
    folder = conducted(
        backpressure={"hysteresis": {"max_lag": 1000, "resume_lag": 200, "poll": "20ms"}},
        load={"rate": "10k/s", "client": {"linger.ms": 5}, "partition": "round-robin"},
        phases={"warmup": "500ms", "measure": "8s", "drain": "30s"},
    )

    facts = read_facts(folder)
    assert (facts.ending, facts.reasons, facts.drained) == ("finished", [], True)
    sampled = sampled_lags(folder)
    decisions = rows(folder, "decisions", "at_ns", "reason", "lag").to_pylist()
    told = "\n".join(map(str, [*decisions, *sampled.items()]))
    assert decisions, told
    assert [each["reason"] for each in decisions] == ["pause", "resume"] * (len(decisions) // 2) + (
        ["pause"] * (len(decisions) % 2)
    ), told
    assert all(each["lag"] > 1000 if each["reason"] == "pause" else each["lag"] < 200 for each in decisions), told
    assert {each["lag"] for each in decisions} <= set(sampled.values()), told
    last = decisions[-1]
    if last["reason"] == "pause":
        # How soon a lag is sampled and seen depends on the machine; that one is seen does not, unless the run ends.
        times = range(last["at_ns"] + 2 * NS_PER_SECOND, max(sampled) - 2 * NS_PER_SECOND)
        later = {lag for at_ns, lag in sampled.items() if at_ns in times and lag is not None}
        assert not later or min(later) >= 200, told
    assert peak(folder) > 1000


def test_credit_needs_a_topic_that_the_run_makes(conducted: Conducted, fresh_topic: Callable[[int], str]) -> None:
    """Offsets are counted from the first; and a cluster that is given is not ours to pause."""
    with pytest.raises(BadInput, match="needs a topic created by the run"):
        conducted(topic={"name": fresh_topic(12)})
    with pytest.raises(BadInput, match="is done to the cluster"):
        conducted(faults=[{"at": "1s", "kind": "pause", "target": "broker", "for": "1s"}])


def _received(folder: RunFolder) -> Sequence[tuple[int, int]]:
    return [(row["partition"], row["offset"]) for row in rows(folder, "received", "partition", "offset").to_pylist()]
