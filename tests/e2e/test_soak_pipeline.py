"""Claims of delivery through a pipeline, with its parts killed at random moments, three times in each run.

What the audit of the analysis says is counted again here, from the rows, in plain Python.
"""

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.piped import PIPED, Stamp, acked, assert_followed, came_out, rows
from tests.e2e.runs import Conducted, conducting

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import read_facts

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.e2e, pytest.mark.soak, pytest.mark.timeout(600)]

KILLS = 3
KINDS: dict[str, dict[str, Any]] = {
    "topic": {"job": "pass"},
    "table": {"job": "pass", "sink": {"table": "passed"}},
    "dedup": {"job": {"dedup": {"watermark": "60s"}}},
    "client": {"engine": "client"},
}
CLAIMS = [
    (target, kind)
    for target in ("driver", "executor", "broker")
    for kind in KINDS
    if (target, kind) != ("executor", "client")
]
CLUSTER = "local-cluster[2,1,1024]"


@pytest.fixture
def conducted(broker: EmbeddedBroker, java: Java, tmp_path: Path) -> Conducted:
    """Carries out a scenario with a pipeline."""
    return conducting(broker, java, tmp_path, PIPED)


def kills(target: str, dice: random.Random) -> list[dict[str, Any]]:
    """Three of them, each in a third of the measure phase of its own, while what was killed before is back."""
    moments = [third * 20_000 + dice.randrange(1_000, 8_000) for third in range(KILLS)]
    broker = {"for": "2s"} if target == "broker" else {}
    # An executor that was killed comes back with the next number.
    names = [f"executor-{number}" for number in range(KILLS)] if target == "executor" else [target] * KILLS
    return [
        {"at": f"{at}ms", "kind": "kill", "target": name, **broker} for at, name in zip(moments, names, strict=True)
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("target", "kind"), CLAIMS)
def test_what_is_claimed_holds(target: str, kind: str, seed: int, conducted: Conducted) -> None:
    """Nothing is lost; a table has everything once; what came twice is counted to the message."""
    dice = random.Random(f"{target} {kind} {seed}")
    pipeline = {**KINDS[kind], "restarts": 20, **({"master": CLUSTER} if target == "executor" else {})}
    folder = conducted(
        pipeline=pipeline,
        embedded=target == "broker",
        # Without idempotence a producer that asks again may write twice, which is what dedup is for.
        load={**PIPED["load"], "client": {"linger.ms": 2, "acks": "all", "enable.idempotence": kind != "dedup"}},
        faults=kills(target, dice),
        phases={"warmup": "5s", "measure": "60s", "drain": "120s"},
    )

    facts = read_facts(folder)
    assert (facts.ending, facts.drained, facts.reasons) == ("finished", True, [])
    begun = [row for row in rows(folder, "faults", "target", "action", "error") if row["action"] == "begin"]
    assert [row["error"] for row in begun] == [None] * KILLS
    out = came_out(folder)
    assert acked(folder) <= set(out)
    if kind == "table":
        assert set(out.values()) == {1}
    else:
        assert_followed(folder)
    assert_counted(folder, out)


def assert_counted(folder: RunFolder, out: Counter[Stamp]) -> None:
    """The analysis says the same, to the message."""
    command = [sys.executable, "-m", "streamgauge", "analyse", str(folder.root), "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in {0, 4}, done.stderr
    said = json.loads(done.stdout)["delivery"]
    known = acked(folder)
    assert said["lost"] == said["undelivered"] == 0
    assert said["delivered_once"] == sum(out[each] == 1 for each in known)
    assert said["duplicate_producer"] == sum(out[each] > 1 for each in known)
    assert said["duplicate_consumer"] == 0
    stood = Counter((row["producer"], row["seq"]) for row in rows(folder, "appended", "producer", "seq"))
    at_source = sum(out[each] > 1 and stood[each] > 1 for each in known)
    (through,) = json.loads(done.stdout)["pipeline"]["groups"]
    assert through["duplicated_at_source"] == at_source
    assert through["duplicated_by_pipeline"] == said["duplicate_producer"] - at_source
