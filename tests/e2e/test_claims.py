"""A producer is killed while it sends as fast as it can: what it had taken up is in the rows, whatever became of it."""

from pathlib import Path

import pytest
from tests.e2e.runs import conducting, rows
from tests.torture.accounts import claims_hold

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import read_facts

pytestmark = [pytest.mark.kafka, pytest.mark.e2e]


def test_every_message_of_a_killed_producer_has_a_row(broker: EmbeddedBroker, java: Java, tmp_path: Path) -> None:
    """Thousands are in the client's queue when it dies; those in the log without a report are among the rows, too."""
    plain = {
        "load": {"rate": "max", "producers": 2, "size": 512},
        "consume": {"consumers": 1},
        "phases": {"warmup": "1s", "measure": "2s", "drain": "20s"},
        "faults": [{"at": "1s", "kind": "kill", "target": "producer-0"}],
    }

    folder = conducting(broker, java, tmp_path, plain)()

    facts = read_facts(folder)
    next_seqs = {worker.number: worker.next_seqs[0] for worker in facts.workers if worker.next_seqs}
    assert next_seqs.keys() == {0, 1}
    assert claims_hold(folder, next_seqs) == []
    errors = rows(folder, "sent", "producer", "error").to_pylist()
    unknown = [row["producer"] for row in errors if row["error"] == "fate_unknown"]
    assert len(unknown) > 100
    assert set(unknown) == {0}
    known = {(row["producer"], row["seq"]) for row in rows(folder, "sent", "producer", "seq").to_pylist()}
    received = {(row["producer"], row["seq"]) for row in rows(folder, "received", "producer", "seq").to_pylist()}
    assert received <= known
