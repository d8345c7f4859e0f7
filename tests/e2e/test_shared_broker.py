"""A broker whose life is not that of a run: runs one after the other on it, each with topics of its own."""

import secrets
from pathlib import Path

import pytest
from tests.e2e.runs import carried_out, rows

from streamgauge.cluster.embedded import EmbeddedCluster
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import read_facts
from streamgauge.runs.request.request import Request
from streamgauge.scenario import parse

pytestmark = [pytest.mark.e2e, pytest.mark.kafka]


def test_each_run_has_new_topics_and_the_log_of_the_collector(
    embedded: EmbeddedCluster, java: Java, tmp_path: Path
) -> None:
    """Messages of the run before would be foreign ones. The broker lives on."""
    scenario = parse(
        {
            "name": "shares", "topic": {"name": f"shares-{secrets.token_hex(4)}", "partitions": 2},
            "load": {"rate": "200/s", "producers": 1, "size": 64}, "consume": {"consumers": 1, "start": "earliest"},
            "phases": {"warmup": 0, "measure": "1s", "drain": "10s"},
        }
    )  # fmt: skip
    found = []
    for _ in range(2):
        folder = carried_out(Request(scenario, tmp_path, ["test"], java, broker=embedded))
        facts = read_facts(folder)
        assert facts.ending == "finished", facts.reasons
        assert (facts.broker.embedded, facts.broker.bootstrap) == (True, embedded.bootstrap)
        assert rows(folder, "received", "seq").num_rows == 200
        assert folder.gc_log(embedded.names[0]).is_file()
        assert not (folder.root / "broker").exists()
        found.append(facts.topics[0].uuid)

    assert None not in found
    assert found[0] != found[1]
    assert embedded.alive
