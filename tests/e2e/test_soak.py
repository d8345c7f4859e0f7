"""Long runs: nothing grows, nothing is lost, over several parts of a million rows; analysis on a Spark cluster."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds
import pytest

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import read_facts
from streamgauge.runs.conduct.conduct import conduct
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.scenario_file import load_scenario

pytestmark = [pytest.mark.kafka, pytest.mark.e2e, pytest.mark.soak, pytest.mark.timeout(900)]

GROWTH_BYTES = 64 << 20


def test_five_minutes_lose_nothing_and_grow_nothing(broker: EmbeddedBroker, java: Java, tmp_path: Path) -> None:
    """20,000 messages a second: every one received once, and workers as large at the end as after the first minute."""
    scenario = load_scenario("baseline", ["load.rate=20k/s", "phases.measure=300s", "topic.name=soak", "verify=1/16"])

    folder = conduct(
        Request(scenario, tmp_path, [], java, bootstrap=broker.bootstrap), Interrupts(), lambda _text: None
    )

    facts = read_facts(folder)
    sent, received, resources = (
        ds.dataset(sorted(str(path) for path in folder.events.glob(f"{kind}/*/part-*.parquet"))).to_table()
        for kind in ("sent", "received", "resources")
    )
    assert (facts.ending, facts.drained) == ("finished", True)
    assert sent.num_rows == received.num_rows == 6_100_000
    for table in (sent, received):
        keys = table["producer"].to_numpy().astype(np.int64) << 40 | table["seq"].to_numpy()
        assert len(np.unique(keys)) == 6_100_000
    rows = [row for row in resources.to_pylist() if row["role"] in {"producer", "consumer"}]
    minute_ns = facts.phases[1].from_ns + 60 * NS_PER_SECOND
    for process in {row["process"] for row in rows}:
        sizes = [row["rss_bytes"] for row in rows if row["process"] == process and row["at_ns"] > minute_ns]
        assert max(sizes[-20:]) - min(sizes[:20]) < GROWTH_BYTES, process


def test_a_cluster_answers_what_one_machine_answers(broker: EmbeddedBroker, java: Java, tmp_path: Path) -> None:
    """Two executors in processes of their own: the same result.

    Squares of latencies are added up as floating-point numbers, in an order that is not always the same: of a
    variance the last of its sixteen digits may be another one. So twelve are compared.
    """
    scenario = load_scenario("baseline", ["phases.warmup=1s", "phases.measure=5s", "topic.name=cluster"])
    folder = conduct(
        Request(scenario, tmp_path, [], java, bootstrap=broker.bootstrap), Interrupts(), lambda _text: None
    )

    answers = []
    for master in ([], ["--master", "local-cluster[2,1,1024]"]):
        command = [sys.executable, "-m", "streamgauge", "analyse", str(folder.root), "--json", "--quiet"]
        done = subprocess.run([*command, *master], capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode in {0, 4}, done.stderr
        answers.append(json.loads(done.stdout, parse_float=lambda number: f"{float(number):.12g}"))
    assert answers[0]["delivery"]["delivered_once"] == 60_000
    assert answers[0] == answers[1]
