"""The metrics endpoint, scraped as Prometheus would."""

import platform
import socket
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.prometheus import promtool
from tests.watch.looks import EVIL, look

from streamgauge.domain.errors import BadInput
from streamgauge.domain.look import BUCKETS, Held, live_edges_ns
from streamgauge.watch.metrics.endpoint import Metrics
from streamgauge.watch.metrics.mqperf import mqperf_families
from streamgauge.watch.metrics.names import NAMES
from streamgauge.watch.metrics.samples import Subject

RUN = {"test": EVIL, "run": "20260101-120000-baseline", "host": platform.node()}
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture
def metrics() -> Iterator[Metrics]:
    with Metrics(EVIL, 10_000.0, scheduled=True) as served:
        yield served


def text_of(metrics: Metrics) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics.port}/metrics", timeout=60) as answer:
        text: str = answer.read().decode()
        return text


def scraped(metrics: Metrics) -> Samples:
    """What is served, without the labels that all samples of the run have."""
    return {
        (sample.name, tuple(sorted(sample.labels.items() - RUN.items()))): sample.value
        for family in text_string_to_metric_families(text_of(metrics))
        for sample in family.samples
    }


def test_before_the_first_look_nothing_is_told(metrics: Metrics) -> None:
    """The name of the run is not known."""
    assert text_of(metrics) == ""


def test_everything_is_counted(metrics: Metrics) -> None:
    """Names in the manner of Prometheus: seconds, bytes, totals; strange names of workers survive."""
    metrics.show(look(second=1))
    found = scraped(metrics)
    producer, consumer = (
        (("role", "producer"), ("worker", "producer-0")),
        (("role", "consumer"), ("worker", "consumer-0")),
    )
    for step, count in {"sent": 100, "acked": 95, "failed": 3}.items():
        assert found[f"streamgauge_{step}_messages_total", producer] == count
    assert found["streamgauge_received_messages_total", consumer] == 90
    assert found["streamgauge_received_bytes_total", consumer] == 9_000
    assert found["streamgauge_outstanding_messages", ()] == 7
    assert found["streamgauge_target_messages_per_second", (("pace", "constant"),)] == 10_000
    assert found["streamgauge_stage", (("stage", "measure"),)] == 1
    assert found["streamgauge_stage", (("stage", "drain"),)] == 0
    assert found["streamgauge_worker_up", consumer] == 0
    assert found["streamgauge_worker_up", (("role", "broker"), ("worker", EVIL))] == 1
    assert found["streamgauge_worker_cpu_seconds_total", producer] == 2.0
    assert found["streamgauge_queue_full_seconds_total", producer] == 0.5
    assert (found["streamgauge_worker_clients", producer], found["streamgauge_worker_clients_done", producer]) == (2, 1)
    assert (found["streamgauge_buffered_messages", consumer], found["streamgauge_dropped_rows_total", producer]) == (
        5,
        4,
    )
    assert (found["streamgauge_machine_cores", ()], found["streamgauge_machine_idle_seconds_total", ()]) == (2, 1)


def test_every_sample_has_the_labels_of_its_run(metrics: Metrics) -> None:
    """Scenario, run folder and machine, so that runs can be told apart and compared."""
    metrics.show(look(held=Held(5, paused=True, in_use=3), lag=2, batches=True))
    samples = [sample for family in text_string_to_metric_families(text_of(metrics)) for sample in family.samples]
    assert all(sample.labels.items() >= RUN.items() for sample in samples)


def test_every_name_is_served_with_its_labels(metrics: Metrics) -> None:
    """What is in the list of names, and nothing else."""
    metrics.show(look(held=Held(5, paused=True, in_use=3), lag=2, batches=True))
    served = {}
    for family in text_string_to_metric_families(text_of(metrics)):
        suffix = "_total" if family.type == "counter" else ""
        labels = {label for sample in family.samples for label in sample.labels} - RUN.keys() - {"le"}
        served[family.name + suffix] = labels
    assert served == {name.name: set(name.labels) for name in NAMES}


@pytest.mark.prometheus
def test_promtool_finds_nothing_to_say(metrics: Metrics) -> None:
    """Of names, types, units and help."""
    metrics.show(look(held=Held(5, paused=True, in_use=3), lag=2, batches=True))
    assert promtool("check", "metrics", text=text_of(metrics)) == ""


def test_lag_and_backpressure_are_gauges_where_there_are_any(metrics: Metrics) -> None:
    """Pauses of hysteresis, or credit; nothing of what is not known."""
    names = ["committed_lag_messages", "backpressure_limit_messages", "producers_paused", "credit_in_use_messages"]

    def gauges(lag: int | None, held: Held | None) -> list[float | None]:
        metrics.show(look(lag=lag, held=held))
        found = scraped(metrics)
        return [found.get((f"streamgauge_{name}", ())) for name in names]

    assert gauges(None, None) == [None] * 4
    assert gauges(0, None) == [0, None, None, None]
    assert gauges(1_234, Held(20_000, paused=True)) == [1_234, 20_000, 1, None]
    assert gauges(1_234, Held(20_000, paused=False)) == [1_234, 20_000, 0, None]
    assert gauges(None, Held(5_000, in_use=4_990)) == [None, 5_000, None, 4_990]


def test_histograms_are_fine_below_50_ms(metrics: Metrics) -> None:
    """Cumulative; no bucket more than a fifth wider than the last; what is slower than all is in +Inf."""
    metrics.show(look(second=1))
    found = scraped(metrics)
    name, labels = "streamgauge_ack_latency_seconds", (("kind", "response"), ("role", "producer"))
    buckets = sorted(
        (float(dict(other)["le"]), value) for (each, other), value in found.items() if each == f"{name}_bucket"
    )
    edges, counts = zip(*buckets, strict=True)
    assert sum(edge <= 0.05 for edge in edges) > 30
    assert all(above / below <= 1.26 for below, above in pairwise(edges[:-1]))
    assert list(counts) == sorted(counts)
    assert counts[-1] == found[f"{name}_count", labels] == 100
    assert counts[-2] == 99
    assert next(edge for edge, count in buckets if count >= 90) == pytest.approx(0.002, rel=0.2)
    assert found[f"{name}_sum", labels] > 90 * 0.002
    assert not any(each.startswith(("streamgauge_end_to_end", "streamgauge_send_batch")) for each, _ in found)


def test_batches_are_timed_where_there_are_any(metrics: Metrics) -> None:
    """From the send: a batch has no due time, whatever messages have."""
    metrics.show(look(second=1, batches=True))
    labels = (("kind", "service"), ("role", "producer"))
    assert scraped(metrics)["streamgauge_send_batch_latency_seconds_count", labels] == 100


def test_a_load_without_a_schedule_has_service_times(metrics: Metrics) -> None:
    """And no asked rate; without producers nothing is said of sending."""
    with Metrics("saturate", None, scheduled=False) as unscheduled:
        unscheduled.show(replace(look(), workers=look().workers[1:2]))
        found = scraped(unscheduled)
    kinds = {dict(labels)["kind"] for name, labels in found if name == "streamgauge_ack_latency_seconds_count"}
    assert kinds == {"service"}
    names = {name for name, _ in found}
    assert "streamgauge_received_messages_total" in names
    assert not names & {"streamgauge_target_messages_per_second", "streamgauge_sent_messages_total"}


def test_what_a_look_cannot_tell_is_absent(metrics: Metrics) -> None:
    """What is outstanding behind a pipeline; and a mean rate is told apart, for it does not tell what is due by now."""
    metrics.show(replace(look(), reads_once=False, is_constant=False))
    found = scraped(metrics)
    assert "streamgauge_outstanding_messages" not in {name for name, _ in found}
    assert found["streamgauge_target_messages_per_second", (("pace", "mean"),)] == 10_000


def test_it_listens_on_loopback_and_stops(metrics: Metrics) -> None:
    """Nobody answers afterwards."""
    with Metrics("second", None, scheduled=False) as second:
        port = second.port
        with socket.create_connection(("127.0.0.1", port), timeout=60):
            pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=60)


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


MQPERF = {
    "mqperf_sent_total": 95, "mqperf_sent_threads_done": 1, "mqperf_received_total": 90,
    "mqperf_receive_threads_done": 0,
}  # fmt: skip
"""What a second of the run comes to."""


def test_metrics_have_the_names_and_buckets_of_mqperf() -> None:
    """Its six, with its labels, in ms: 90 latencies of 2 ms, 9 of 40, and one beyond the last bucket of either."""
    with Metrics(EVIL, None, scheduled=False, names="mqperf") as served:
        served.show(look(second=1, batches=True))
        found = scraped(served)

    assert {name: found[name, ()] for name in MQPERF} == MQPERF
    assert {name.split("_ms")[0] for name, _ in found} - MQPERF.keys() == {"mqperf_send_latency", "mqperf_latency"}
    for name, last in (("mqperf_send_latency_ms", "5000.0"), ("mqperf_latency_ms", "60000.0")):
        buckets = {dict(labels)["le"]: count for (of, labels), count in found.items() if of == f"{name}_bucket"}
        assert list(buckets)[:3] == ["0.0", "50.0", "100.0"]
        assert list(buckets)[-2:] == [last, "+Inf"]
        assert (buckets["0.0"], buckets["50.0"], buckets[last], buckets["+Inf"]) == (0, 99, 99, 100)
        assert found[f"{name}_count", ()] == 100


def test_an_edge_within_a_finer_bucket_takes_its_share() -> None:
    """50 ms lies within a live bucket: a run with nothing else there has a part of it below the edge."""
    edges_ms = live_edges_ns() / 1e6
    place = int(np.searchsorted(edges_ms, 50.0))
    counts = np.zeros(BUCKETS, np.int64)
    counts[place] = 100
    one = replace(look(second=1), end_to_end=counts)

    [latency] = [each for each in mqperf_families(Subject("t", "h", None, "service"), one) if each.type == "histogram"]

    below = {sample.labels["le"]: sample.value for sample in latency.samples if sample.name.endswith("_bucket")}
    share = (50.0 - edges_ms[place - 1]) / (edges_ms[place] - edges_ms[place - 1])
    assert below["50.0"] == pytest.approx(100 * share)
    assert (below["0.0"], below["100.0"]) == (0, 100)
