"""The table `steps` and the latencies of steps, of counts that are made up."""

import numpy as np

from streamgauge.pipeline.metrics.aggregates.histogram import Counts
from streamgauge.pipeline.metrics.latency import Histograms, Metric, latency_rows
from streamgauge.pipeline.metrics.spans import Spans
from streamgauge.pipeline.metrics.steps import COUNTED, step_rows
from streamgauge.pipeline.read.silver import SHIFT_SECONDS
from streamgauge.scenario.profile.steps import LoadStep

STEPS = [LoadStep(1, 0, 2, 100.0, 100.0), LoadStep(3, 3, 4, 200.0, 300.0)]


def test_the_latency_of_a_step_is_that_of_its_seconds() -> None:
    """The histograms of its seconds are merged: no percentile is averaged."""
    seconds = np.repeat(np.arange(-1, 5), 100)
    took_ns = (seconds + 2) * 1_000_000
    spans = Spans("batch", took_ns, (seconds + SHIFT_SECONDS) << 1 | (seconds >= 0))
    ages = Counts.of(Spans("batch", took_ns[150:180], spans.tick[150:180]).histogram())
    metric = Metric("batch", "sent", spans.sums())
    rows, _ = latency_rows([metric], Histograms(Counts.of(spans.histogram()), ages), STEPS)
    one, other = (row for row in rows if row["scope"] == "step")
    assert (one["second"], one["count"], one["censored"], one["max_ms"]) == (0, 200, 30, 3.0)
    assert one["p50_ms"] < 3.0
    assert one["p99_censored"]
    assert one["p99_hi_ms"] is None
    assert (other["second"], other["count"], other["censored"], other["p50_ms"]) == (3, 100, 0, 5.0)


def test_a_step_has_the_counts_of_its_seconds_and_the_figures_of_its_path() -> None:
    rates = [
        {"scope": "window", "second": second, **dict.fromkeys(COUNTED, 10 + second)} for second in range(-2, 4)
    ] + [{"scope": "measure", "second": None, **dict.fromkeys(COUNTED, 1_000)}]
    latency = [
        {"metric": f"{path}_{kind}", "scope": scope, "second": 0, "p99_ms": ms, "max_ms": 2 * ms}
        for path, kind, scope, ms in (
            ("end_to_end", "response", "step", 5.0), ("end_to_end", "service", "step", 4.0),
            ("ack", "response", "step", 3.0), ("end_to_end", "response", "window", 2.0),
        )
    ]  # fmt: skip
    arrived = [dict.fromkeys(range(-2, 4), 9), {-1: 50, 0: 3, 1: 4, 2: 60, 3: 70}]
    one, other = step_rows(STEPS, rates, latency, "end_to_end", arrived)
    assert (one["step"], one["from_second"], one["to_second"], one["duration_ns"]) == (1, 0, 2, 2 * 10**9)
    assert [one[name] for name in COUNTED] == [21] * len(COUNTED)
    assert (one["response_p99_ms"], one["response_max_ms"], one["service_p99_ms"]) == (5.0, 10.0, 4.0)
    assert (other["from_per_second"], other["to_per_second"], other["acked"]) == (200.0, 300.0, 13)
    assert other["response_p99_ms"] is None
    assert (one["arrived"], other["arrived"]) == (7, 9)
    assert [row["arrived"] for row in step_rows(STEPS, rates, latency, "end_to_end", [])] == [None, None]
