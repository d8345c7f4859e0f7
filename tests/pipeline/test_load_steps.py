"""The table `steps` and the latencies of steps, of counts that are made up."""

import numpy as np
import pytest

from streamgauge.domain.latency.buckets import bucket_of
from streamgauge.pipeline.metrics.aggregates.bounds import UNKNOWN, Widths, width_class
from streamgauge.pipeline.metrics.aggregates.histogram import METRIC_NUMBERS, By, Counts, Histograms
from streamgauge.pipeline.metrics.latency import Metric, bound_rows, latency_rows
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


@pytest.mark.parametrize("known", [True, False])
def test_the_low_ends_of_a_step_are_those_of_the_widest_messages_that_it_may_have(known: bool) -> None:
    """A quarter of the messages of 2 ms may have been 1 ms shorter. A step with half of them may have all of these."""
    seconds, took_ns = np.array([0] * 100 + [2] * 100 + [3] * 100), np.array([2_000_000] * 200 + [5_000_000] * 100)
    metric = METRIC_NUMBERS["ack_response"]
    ticks = seconds + SHIFT_SECONDS << 1 | 1
    delivered = Counts(np.full(300, metric), np.full(300, By.TICK), ticks, bucket_of(took_ns), np.ones(300, np.int64))
    fast, slow = np.unique(bucket_of(took_ns)).tolist()
    width = width_class(np.array([0, 1_000_000, 3_000_000]))
    if not known:
        width[0] = UNKNOWN
    widths = Widths(np.array([fast, fast, slow]), width, np.array([150, 50, 100]))
    given = [Metric(name, "due", None) for name in ("ack_response", "processing_response")]
    rows = bound_rows(given, Histograms(delivered, Counts.of()), dict.fromkeys(METRIC_NUMBERS, widths), STEPS)
    assert [(row["metric"], row.get("second")) for row in rows] == [
        ("ack_response", None), ("processing_response", None), ("ack_response", 0), ("ack_response", 3),
    ]  # fmt: skip
    low = [[row[name] and round(row[name], 1) for name in ("min_ms", "p50_ms", "p90_ms", "max_ms")] for row in rows]
    assert [row["known"] for row in rows] == [known] * 4
    assert [low[0], low[2], low[3]] == (
        [[1.0, 1.9, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0], [1.9] * 4] if known else [[None] * 4] * 3
    )


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
