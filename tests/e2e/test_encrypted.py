"""A run on a cluster of its own with TLS and users: everything of ours gets in, and no file has a password."""

from pathlib import Path

import pytest
from tests.e2e.runs import carried_out, rows

from streamgauge.cluster.nodes.security import Security
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import read_facts
from streamgauge.runs.conduct import prepare
from streamgauge.runs.request.request import Request
from streamgauge.scenario import parse

pytestmark = [pytest.mark.kafka, pytest.mark.e2e]

PASSWORD = "a-password-that-nobody-may-read"
SCENARIO = {
    "name": "encrypted",
    "cluster": {"heap": "512m", "security": {"protocol": "SASL_SSL"}},
    "topic": {"partitions": 2},
    "load": {"rate": "500/s", "producers": 1},
    "consume": {"consumers": 1},
    "connections": {"metadata": "3/s", "hold": {"producers": 1, "consumers": 1, "metadata": 1}},
    "pipeline": {"job": "pass", "engine": "client"},
    "lag": {"every": "200ms"},
    "phases": {"warmup": "0s", "measure": "2s", "drain": "30s"},
}


def test_a_run_with_tls_and_users(java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Producers, consumers, sampler, held connections, a pipeline and the reader after the run."""

    def known(protocol: str, mechanism: str | None) -> Security:
        return Security(protocol, mechanism, PASSWORD)

    monkeypatch.setattr(prepare, "Security", known)
    request = Request(parse(SCENARIO), tmp_path, ["test"], java)

    folder = carried_out(request)

    facts = read_facts(folder)
    assert (facts.ending, facts.drained, facts.reasons) == ("finished", True, [])
    assert facts.broker.security == "SASL_SSL with SCRAM-SHA-512"
    assert rows(folder, "sent", "seq").num_rows == rows(folder, "received", "seq").num_rows == 1000
    assert set(rows(folder, "connections", "error")["error"].to_pylist()) == {None}
    assert rows(folder, "lag", "moment").num_rows > 0
    left = [path for path in folder.root.rglob("*") if path.is_file()]
    assert left
    for path in left:
        assert PASSWORD.encode() not in path.read_bytes(), path
    assert not (folder.root / "broker").exists()
