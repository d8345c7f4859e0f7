"""A run in a container with a CPU limit, whose workers the kernel stops again and again."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.quota import quota_group

from streamgauge.cluster.nodes.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.e2e, pytest.mark.cgroup]

PROGRAM = (sys.executable, "-m", "streamgauge")
CORES = 0.1
"""Two producers and two consumers at 4,000 messages a second want three times as much."""
SETTINGS = ("phases.warmup=1s", "phases.measure=5s", "load.rate=4k/s", "topic.name=stopped-by-a-quota")


def test_a_run_that_a_quota_stopped_is_not_valid(broker: EmbeddedBroker, tmp_path: Path) -> None:
    """Also where the machine is idle, and however well the broker did; only the load is limited here."""
    settings = [f"--set={each}" for each in SETTINGS]
    said = []
    with quota_group() as group:
        command = [*PROGRAM, "run", "baseline", f"--bootstrap={broker.bootstrap}", "--out", str(tmp_path), *settings]
        with subprocess.Popen(
            group.entering(*command), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as run:
            try:
                for line in run.stderr or ():
                    said.append(line)
                    if line.startswith("warm-up"):
                        group.limit(CORES)
                    if line.startswith("draining"):
                        group.limit(None)
            finally:
                group.limit(None)
                if run.poll() is None and sys.exc_info()[0]:
                    run.kill()

    assert run.returncode == 4, "".join(said)
    (folder,) = tmp_path.iterdir()
    result = json.loads((folder / "result.json").read_text())
    (check,) = (each for each in result["verdict"]["checks"] if each["name"] == "cpu_quota")
    assert (check["about"], check["status"]) == ("instrument", "fail")
    assert "throttled threads for" in check["evidence"]
    host = result["resources"]["host"]
    assert host["throttled_share"] > 0.1
    assert 0.5 < host["throttled_periods_share"] <= 1
