"""The metrics endpoint, scraped as Prometheus would."""

import socket
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from streamgauge.domain.errors import BadInput
from streamgauge.domain.look import BUCKETS, Held, Look, WorkerLook, live_buckets
from streamgauge.watch.metrics import Metrics

SECOND = 1_000_000_000
EVIL = 'a"b\\c\nd'
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def look() -> Look:
    latencies = np.bincount(live_buckets(np.array([2_000_000] * 90 + [40_000_000] * 9 + [10**12])), minlength=BUCKETS)
    return Look(
        7 * SECOND, "measure", 0, 5 * SECOND, 15 * SECOND,
        [
            WorkerLook("producer-0", "producer", True, 100, 98, 3, 9_500, blocked_ns=SECOND // 2, cpu_ns=2 * SECOND),
            WorkerLook("consumer-0", "consumer", False, 90, message_bytes=9_000),
            WorkerLook(EVIL, "broker", True),
        ],
        latencies, np.zeros(BUCKETS, np.int64),
    )  # fmt: skip


@pytest.fixture
def metrics() -> Iterator[Metrics]:
    with Metrics(EVIL, 10_000.0, scheduled=True) as served:
        yield served


def scraped(metrics: Metrics) -> Samples:
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics.port}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_before_the_first_look_only_the_run_is_told(metrics: Metrics) -> None:
    assert scraped(metrics) == {("streamgauge_run_info", (("scenario", EVIL),)): 1.0}


def test_everything_is_counted(metrics: Metrics) -> None:
    """Names in the manner of Prometheus: seconds, bytes, totals; strange names of workers survive."""
    metrics.show(look())
    found = scraped(metrics)
    for stage, count in {"sent": 100, "acked": 95, "failed": 3, "received": 90}.items():
        assert found["streamgauge_messages_total", (("stage", stage),)] == count
    assert found["streamgauge_value_bytes_total", (("stage", "received"),)] == 9_000
    assert found["streamgauge_outstanding_messages", ()] == 7
    assert found["streamgauge_target_messages_per_second", ()] == 10_000
    assert found["streamgauge_stage", (("stage", "measure"),)] == 1
    assert found["streamgauge_stage", (("stage", "drain"),)] == 0
    assert found["streamgauge_worker_up", (("role", "consumer"), ("worker", "consumer-0"))] == 0
    assert found["streamgauge_worker_up", (("role", "broker"), ("worker", EVIL))] == 1
    assert found["streamgauge_worker_cpu_seconds_total", (("role", "producer"), ("worker", "producer-0"))] == 2.0
    assert found["streamgauge_queue_full_seconds_total", (("role", "producer"), ("worker", "producer-0"))] == 0.5


def test_lag_and_backpressure_are_gauges_where_there_are_any(metrics: Metrics) -> None:
    """Pauses of hysteresis, or credit; nothing of what is not known."""
    names = ["committed_lag_messages", "backpressure_limit_messages", "producers_paused", "credit_in_use_messages"]

    def gauges(lag: int | None, held: Held | None) -> list[float | None]:
        metrics.show(replace(look(), lag=lag, held=held))
        found = scraped(metrics)
        return [found.get((f"streamgauge_{name}", ())) for name in names]

    assert gauges(None, None) == [None] * 4
    assert gauges(0, None) == [0, None, None, None]
    assert gauges(1_234, Held(20_000, paused=True)) == [1_234, 20_000, 1, None]
    assert gauges(1_234, Held(20_000, paused=False)) == [1_234, 20_000, 0, None]
    assert gauges(None, Held(5_000, in_use=4_990)) == [None, 5_000, None, 4_990]


def test_histograms_are_fine_below_50_ms(metrics: Metrics) -> None:
    """Cumulative; no bucket more than a fifth wider than the last; what is slower than all is in +Inf."""
    metrics.show(look())
    found = scraped(metrics)
    name = "streamgauge_ack_latency_seconds"
    buckets = sorted(
        (float(dict(labels)["le"]), value) for (each, labels), value in found.items() if each == f"{name}_bucket"
    )
    edges, counts = zip(*buckets, strict=True)
    assert sum(edge <= 0.05 for edge in edges) > 30
    assert all(above / below <= 1.26 for below, above in pairwise(edges[:-1]))
    assert list(counts) == sorted(counts)
    assert counts[-1] == found[f"{name}_count", (("kind", "response"),)] == 100
    assert counts[-2] == 99
    assert next(edge for edge, count in buckets if count >= 90) == pytest.approx(0.002, rel=0.2)
    assert found[f"{name}_sum", (("kind", "response"),)] > 90 * 0.002
    assert not any(each.startswith("streamgauge_end_to_end") for each, _ in found)


def test_a_load_without_a_schedule_has_service_times(metrics: Metrics) -> None:
    """And no asked rate; without producers nothing is said of sending."""
    with Metrics("saturate", None, scheduled=False) as unscheduled:
        unscheduled.show(replace(look(), workers=look().workers[1:2]))
        found = scraped(unscheduled)
    assert ("streamgauge_ack_latency_seconds_count", (("kind", "service"),)) in found
    assert not any(name.startswith("streamgauge_asked") for name, _ in found)
    assert [labels for name, labels in found if name == "streamgauge_messages_total"] == [(("stage", "received"),)]


def test_it_listens_on_loopback_and_stops(metrics: Metrics) -> None:
    """Nobody answers afterwards."""
    with Metrics("second", None, scheduled=False) as second:
        port = second.port
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


@pytest.mark.parametrize(
    ("address", "message"),
    [("127.0.0.1", "Address already in use"), ("192.0.2.7", "Cannot assign requested address"), ("nowhere..", "")],
)
def test_a_port_that_cannot_be_had_is_told(metrics: Metrics, address: str, message: str) -> None:
    """Where, what, how to mend it."""
    with (
        pytest.raises(BadInput, match="--metrics-port") as caught,
        Metrics("second", None, scheduled=False, address=address, port=metrics.port),
    ):
        pass
    assert message in str(caught.value)
    assert "Name a free port, or 0 for any" in str(caught.value)
