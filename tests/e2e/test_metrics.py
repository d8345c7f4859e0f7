"""A real Prometheus scrapes a real run, and answers the dashboard afterwards."""

import json
import os
from pathlib import Path

import pytest
from tests.e2e.conftest import Call
from tests.prometheus import free_port, scraping

import streamgauge
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.watch.metrics.dashboard import dashboard
from streamgauge.watch.metrics.rules import rules

pytestmark = [pytest.mark.e2e, pytest.mark.kafka, pytest.mark.spark, pytest.mark.prometheus]

SETTINGS = (
    "phases.warmup=1s", "phases.measure=11s", "load.rate=2k/s", "load.flush=20", "backpressure.credit.limit=5000",
    "load.client.enable.idempotence=true", "load.client.acks=all", f"topic.name=metrics-{os.getpid()}",
)  # fmt: skip
NOT_IN_THIS_RUN = {"Producers paused"}
"""Hysteresis pauses producers; here credit limits them."""


def test_the_dashboard_shows_a_run_that_is_over(
    broker: EmbeddedBroker, tmp_path: Path, warm_spark: None, call: Call
) -> None:
    """Every panel has data, counts are those of the result."""
    port = free_port()
    command = ["run", "baseline", "--json", "--bootstrap", broker.bootstrap, "--out", str(tmp_path / "runs")]
    command += ["--metrics-port", str(port), *(f"--set={each}" for each in SETTINGS)]
    with scraping(tmp_path, [port], rules()) as server:
        done = call(*command)
        assert done.code in {0, 3, 4}, done.err
        targets = {
            panel["title"]: [target["expr"] for target in panel["targets"]]
            for panel in json.loads(dashboard())["panels"]
            if panel["type"] != "row"
        }
        silent = {title for title, found in targets.items() if not all(map(server.values, found))}
        (sent,), (received,) = targets["Sent, total"], targets["Received, total"]
        last = [server.values(expression)[-1] for expression in (sent, received)]
        batches = server.values("streamgauge_send_batch_latency_seconds_count")[-1]
        (run,) = server.get("label/run/values")
        alerts = server.get("alerts")["alerts"]

    result = json.loads(done.out)
    assert silent == NOT_IN_THIS_RUN
    assert last == [result["delivery"]["sent"], result["delivery"]["received"]] == [24_000, 24_000]
    folder = next((tmp_path / "runs").iterdir())
    assert batches == streamgauge.open(folder).events("batches").num_rows
    # A busy machine makes some of them larger, and those whose reports come after the load has ended have no row.
    assert 24_000 / 40 <= batches <= 24_000 / 20
    assert run == folder.name
    assert {alert["labels"]["alertname"] for alert in alerts} <= {"StreamgaugeMachineBusy", "StreamgaugeSlow"}
