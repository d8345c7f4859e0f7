"""What each format says: figures, units, bounds and known defects."""

import json
import math
from typing import Any

import pytest
from tests.foreign.results.given import all_samples, latency, runs_of, sample

from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import ForeignError, Measured
from streamgauge.foreign.results.reading import read_results, recognised
from streamgauge.foreign.results.values import epoch_of, exact_point

SUMMARY = "KafkaPerf-pkc-abc-summary-T02-P02-R03-M000064b-S000001024-A01-Ctrue.csv"
BY_PARTITION = "KafkaPerf-pkc-abc-partition-T01-P02-R03-M000064b-S000001024-A01-Cfalse.csv"
TUSSLE = [name for name in all_samples() if name.startswith("tussle/")]
FORMAT_OF = {
    "plain.hlog": "hlog", "tagged.hlog": "hlog", "jhiccup.hlog": "hlog", "metrics.json": "tussle", "omb.json": "omb",
    "omb-clipped.json": "omb", "producer-3.log": "perf-test", "producer-4.log": "perf-test",
    "consumer-3.log": "perf-test", "consumer-4.log": "perf-test", "e2e.log": "perf-test",
    "results-recovery.json": "ssp", SUMMARY: "kafkabench", BY_PARTITION: "kafkabench",
    "trogdor-produce.json": "trogdor", "trogdor-consume.json": "trogdor", "mqperf.md": "mqperf", "k6.json": "k6",
    "k6-summary.json": "k6", "percentiles.txt": "percentiles", "samples.csv": "samples", "samples-2.csv": "samples",
    "tlp.csv": "tlp-stress", **dict.fromkeys(TUSSLE, "hlog"),
}  # fmt: skip


def close(value: float, near: float | None = None) -> Any:
    """Nearly this number."""
    return pytest.approx(value, abs=near)


@pytest.mark.parametrize("name", all_samples())
def test_a_file_is_recognised_by_its_content(name: str) -> None:
    assert recognised(sample(name)) == FORMAT_OF[name]


def points(run: Measured, path: str) -> dict[float, tuple[float, float | None]]:
    return {each.percent: (each.low_ms, each.high_ms) for each in latency(run, path).points}


def read_text(text: str) -> list[Measured]:
    """The runs of a file with this text."""
    [found] = read_results([ForeignFile("given", "", text.encode())], Asked())
    return list(found.runs)


def defects(run: Measured) -> dict[str, tuple[str, object, object]]:
    return {each.figure: (each.action, each.written, each.value) for each in run.defects}


def test_the_logs_of_a_step_of_tussle_are_one_run() -> None:
    """Its names say operation, kind and step; its values are microseconds, whatever the maxima say."""
    [run] = runs_of(*TUSSLE)

    assert (run.tool, run.started_s, run.seconds) == ("tussle", 1_700_000_000.0, close(4.4))
    assert {each.path for each in run.latencies} == {
        "latency.ack.response", "latency.ack.service", "latency.end_to_end.response", "latency.end_to_end.service",
        "latency.poll",
    }  # fmt: skip
    assert all(each.unit == "us" and each.count == 5_000 for each in run.latencies)
    assert run.throughput["target_per_second"] == 1_000
    assert 0.1 < (latency(run, "latency.ack.service").mean_ms or 0) < 1


def test_a_partial_interval_has_a_rate_of_its_own_length() -> None:
    """The last interval of 0.4 s has a thousand values: 2,500 a second, where tussle shows 1,000."""
    [run] = runs_of("tussle/send_service_time_100_1000_0.hlog")

    assert run.spans[-1].values["acked_per_second"] == close(2_500)
    [found] = run.defects
    assert (found.action, found.written, found.value) == ("recomputed", 1_000, close(2_500))


def test_a_log_without_a_unit_has_that_of_its_maxima() -> None:
    """HdrHistogram's own ratio is a million: nanoseconds, shown in ms. Its start is that of the log."""
    [run] = runs_of("plain.hlog")
    [found] = run.latencies

    assert (found.unit, found.place, run.started_s) == ("ns", None, close(1_441_812_279.601))
    assert found.count == 5_000


def test_a_log_says_what_it_is_of_if_it_is_asked() -> None:
    [run] = runs_of("plain.hlog", asked=Asked("us", ("ack", "service")))

    assert latency(run, "latency.ack.service").unit == "us"
    assert run.throughput["acked_per_second"] == close(1_000)


def test_tags_are_kept_apart() -> None:
    [run] = runs_of("tagged.hlog")

    assert [each.name for each in run.latencies] == ["tagged A"]


def test_a_jhiccup_log_is_no_latency_of_messages() -> None:
    [run] = runs_of("jhiccup.hlog", asked=Asked(latency=("ack", "service")))

    assert (run.tool, [each.path for each in run.latencies]) == ("jHiccup", [None])


def test_metrics_of_tussle() -> None:
    """The conforming rate is the first that broke, and moving windows were not full."""
    [run] = runs_of("metrics.json")

    assert points(run, "latency.end_to_end.response")[99.0] == (3.715, 3.715)
    assert latency(run, "latency.ack.service").max_ms == 36.01
    assert run.throughput == {"target_per_second": 1_000, "acked_per_second": 999.5}
    assert run.machine["osInfo"] == "Linux"
    assert defects(run)["send p99 < 20 ms conforming_rate"] == ("left_out", 11_000, None)
    assert defects(run)["p99 moving window 10 s"][0] == "left_out"


def test_a_workload_of_omb() -> None:
    """Quantiles and named percentiles are points; delays are in microseconds; wall clocks are told."""
    [run] = runs_of("omb.json")

    assert points(run, "latency.ack.service")[99.9] == (192.5, 192.5)
    assert points(run, "latency.ack.service")[90.0] == (9.0, 9.0)
    assert run.throughput["acked_per_second"] == 10_000
    assert run.throughput["sent_mb_per_second"] == close(5.12)
    assert (run.seconds, run.interval_s, len(run.spans)) == (30, 10, 3)
    assert "wall clocks" in next(each.defect for each in run.defects if "end_to_end" in each.figure)
    delay = next(each for each in run.latencies if each.name == "publishDelayLatency")
    assert (delay.path, delay.max_ms) == (None, close(3.03))
    assert latency(run, "latency.ack.service").count is None


def omb(**changed: Any) -> Measured:
    """The run of a workload of OMB with other values."""
    [run] = read_text(json.dumps({**json.loads(sample("omb.json").text()), **changed}))
    return run


def of_nothing(latency: str) -> dict[str, Any]:
    """What OMB writes of a latency that nothing was recorded of."""
    none: dict[type, Any] = {list: [0.0] * 3, dict: {"50.0": 0.0, "100.0": 0.0}}
    document = json.loads(sample("omb.json").text())
    return {key: none.get(type(value), 0.0) for key, value in document.items() if latency in key.lower()}


@pytest.mark.parametrize(("received", "told"), [([1000.0] * 3, True), ([0.0] * 3, False)])
def test_an_empty_histogram_of_omb_is_no_latency(received: list[float], told: bool) -> None:
    """That there is none is a defect where messages were received."""
    run = omb(consumeRate=received, **of_nothing("endtoendlatency"))

    assert [each.path for each in run.latencies] == ["latency.ack.service", None]
    assert not any(key.startswith("end_to_end") for span in run.spans for key in span.values)
    assert ("latency.end_to_end" in defects(run)) == told


def test_a_period_of_omb_without_messages_has_no_latency() -> None:
    series = {f"publishLatency{key}": [3.9, 0.0, 3.9] for key in ("50pct", "99pct", "Max")}
    run = omb(publishRate=[10_000.0, 0.0, 10_000.0], **series | {"publishLatency50pct": [0.0, 0.0, 3.9]})

    assert [span.values.get("ack.service.p50_ms") for span in run.spans] == [0.0, None, 3.9]
    assert [span.values.get("ack.service.max_ms") for span in run.spans] == [3.9, None, 3.9]
    assert [span.values["acked_per_second"] for span in run.spans] == [10_000, 0, 10_000]


def test_errors_of_omb_are_whole() -> None:
    """One error in a period of 10.4 s is one, and not 0.957."""
    run = omb(publishErrorRate=[0.0957, 0.0, 0.2])

    assert [span.values["errors"] for span in run.spans] == [1, 0, 2]


def test_what_omb_clips_has_no_upper_end() -> None:
    [run] = runs_of("omb-clipped.json")

    assert points(run, "latency.ack.service")[99.999] == (60_000, None)
    assert defects(run)["latency.ack.service"][2] == ">= 60000 ms"


@pytest.mark.parametrize(("name", "messages", "p99"), [("producer-3.log", 150_000, 18), ("producer-4.log", 60_000, 18)])
def test_producer_perf_test(name: str, messages: int, p99: float) -> None:
    """Of a run with a warm-up, the steady state counts. Whole ms are cut off, and MB are MiB."""
    [run] = runs_of(name)

    assert run.delivery == {"acked": messages}
    assert points(run, "latency.ack.service")[99.0] == (p99, p99 + 1)
    assert run.throughput["sent_mb_per_second"] == close({150_000: 4.88, 60_000: 9.76}[messages] * 1.048576)


def test_consumer_perf_test() -> None:
    one, detailed = runs_of("consumer-3.log")[0], runs_of("consumer-4.log")[0]

    assert one.throughput["received_per_second"] == close(300_203 / 0.606)
    assert (one.latencies, one.figures["rebalance.time.ms"]) == ((), 403)
    assert (detailed.delivery, detailed.throughput["received_per_second"]) == ({"received": 100_000}, 10_000)


def test_a_row_of_detailed_stats_is_the_end_of_its_interval() -> None:
    """The first interval began before the first row, and one row has a rate, too."""
    lines = sample("consumer-4.log").text().splitlines()
    [both], [first] = (read_text("\n".join(lines[:rows])) for rows in (3, 2))

    assert (both.seconds, first.seconds) == (10, 5)
    assert first.throughput["received_per_second"] == 10_000
    assert both.started_s == first.started_s == close(epoch_of("2026-01-01T10:00:00"))
    assert [(span.from_s, span.to_s) for span in both.spans] == [(0, 5), (5, 10)]
    assert {span.values["received_per_second"] for span in both.spans} == {10_000}


@pytest.mark.parametrize("odd", ["Infinity", "NaN", "-1.5"])
def test_a_rate_of_no_time_is_left_out(odd: str) -> None:
    """It is one beside the figures of the run."""
    lines = sample("consumer-3.log").text().splitlines()
    cells = dict(zip([head.strip() for head in lines[-2].split(",")], lines[-1].split(","), strict=True))
    [whole] = read_text("\n".join(lines))
    [found] = read_text("\n".join([lines[-2], ",".join((cells | {"fetch.MB.sec": f" {odd}"}).values())]))

    assert "fetch.MB.sec" in whole.figures
    assert found.figures == {key: value for key, value in whole.figures.items() if key != "fetch.MB.sec"}
    assert found.throughput == whole.throughput


def test_e2e_latency() -> None:
    [run] = runs_of("e2e.log")

    assert points(run, "latency.end_to_end.service") == {50.0: (1, 2), 99.0: (5, 6), 99.9: (20, 21)}
    assert (run.throughput, run.seconds) == ({}, None)


def test_ssp() -> None:
    """CPU is left out, drain and delivery are recomputed from lag and offsets; MB are MiB."""
    [run] = runs_of("results-recovery.json")
    found = defects(run)

    assert found["avg_cpu_fraction_pct"] == ("left_out", 99.39, None)
    # The cause ends 30 s after the warm-up of 3 s; the lag is 198,000 then, and at its floor at 35 s.
    assert found["recovery_drain_rate_msg_per_sec"][:2] == ("recomputed", 6506.9)
    assert run.figures["drain_per_second"] == close((198_000 - 9_320) / 2)
    assert run.figures["drain_s"] == 2
    assert found["delivery share, %"] == ("recomputed", close(103.33, near=0.01), close(98.52, near=0.01))
    assert points(run, "latency.end_to_end.service")[99.9] == (20_188, 20_188)
    assert latency(run, "latency.ack.service").cdf[5] == (2.0, 1.0)
    assert run.lag is not None
    assert run.lag.samples[0] == (-2.0, 6_000)


def test_a_minute_of_ssp_is_written_as_go_does() -> None:
    """The cause ends 1m0s after the warm-up, at 63 s: the lag was at its floor long before, and rises no more."""
    document = json.loads(sample("results-recovery.json").text())
    document["config"]["phase_duration"] = "0m30s"
    [run] = read_text(json.dumps(document))

    assert run.figures["drain_s"] == 2
    document["config"]["phase_duration"] = "1m0s"
    assert "drain_s" not in read_text(json.dumps(document))[0].figures


def test_kafkabench() -> None:
    """Each row of a summary is a test; rows by partition are put together, for their consumer is shared."""
    first, second = runs_of(SUMMARY)
    [together] = runs_of(BY_PARTITION)

    assert (latency(first, "latency.end_to_end.service").max_ms, first.seconds) == (897, 28.4 / 4)
    assert second.throughput["received_per_second"] == close(64 / (14.2 / 4))
    assert latency(together, "latency.end_to_end.service").mean_ms == (150 * 16 + 170 * 48) / 64
    assert together.delivery == {"received": 64}
    assert defects(together)["rows by partition"][0] == "recomputed"


def test_trogdor() -> None:
    """Clipped percentiles have no upper end, and those of few messages that are 0 are left out."""
    [produced] = runs_of("trogdor-produce.json")
    [consumed] = runs_of("trogdor-consume.json")

    assert points(produced, "latency.ack.service") == {50.0: (12, 13), 95.0: (75, 76), 99.0: (10_000, None)}
    assert produced.throughput["sent_per_second"] == close(50_000 / 6)
    assert points(consumed, "latency.end_to_end.service") == {95.0: (7, 8), 99.0: (9, 10)}
    assert consumed.latencies[0].path is None


def test_a_record_processor_of_trogdor_has_bins_of_its_own() -> None:
    """They are as wide as the specification says, and the last one has all that is longer."""
    clients = json.loads(sample("trogdor-consume.json").text())
    [status] = clients.values()
    status["totalMessagesReceived"] = 1000
    status["recordProcessorStatus"] = {"p50LatencyMs": 505, "p95LatencyMs": 900, "p99LatencyMs": 1000}
    bins = {"type": "timestamp", "histogramMinMs": 0, "histogramMaxMs": 1000, "histogramStepMs": 5}
    [run] = read_text(json.dumps({"spec": {"recordProcessor": bins}, "status": clients}))

    assert points(run, "latency.end_to_end.service") == {50.0: (505, 510), 95.0: (900, 905), 99.0: (1000, None)}
    assert defects(run)["latency.end_to_end.service p99LatencyMs"] == ("kept", 1000, ">= 1000")
    assert "5 ms" in latency(run, "latency.end_to_end.service").resolution
    assert run.latencies[0].resolution.startswith("whole ms")


@pytest.mark.parametrize(
    ("processing", "send", "expected"),
    [
        ("60000", "5000", ((60_000, None), (5000, None))),
        ("59999", "4999", ((50_000, 60_000), (4500, 5000))),
        ("5000", "47", ((4500, 5000), (0, 50))),
    ],
)
def test_the_last_edge_of_mqperf_stands_for_all_above_it(processing: str, send: str, expected: object) -> None:
    """60 s of processing and 5 s of sending are what Prometheus says of longer times."""
    heads = (
        "| threads | sender nodes | receiver nodes | send msgs/s | receive msgs/s | send latency | processing latency |"
    )
    [run] = read_text(f"{heads}\n|---|---|---|---|---|---|---|\n| 1 | 2 | 4 | 10 | 10 | {send} | {processing} |\n")

    found = points(run, "latency.end_to_end.service")[95.0], points(run, "latency.batch")[95.0]
    assert found == expected
    assert ("infinity" in str(run.defects)) == (expected[0][1] is None)


def test_a_percentile_of_mqperf_is_known_within_its_bucket() -> None:
    """47 ms means between 0 and 50 ms."""
    first, second = runs_of("mqperf.md")

    assert points(first, "latency.end_to_end.service") == {95.0: (0, 50)}
    assert points(second, "latency.end_to_end.service") == {95.0: (50, 100)}
    assert first.throughput == {"acked_per_second": 7_458, "received_per_second": 7_463}
    assert defects(first)["latency.end_to_end.service.p95_ms"] == ("recomputed", 47, 50)


@pytest.mark.parametrize("name", ["k6.json", "k6-summary.json"])
def test_k6(name: str) -> None:
    """Both forms of its summary; there is no end-to-end latency."""
    [run] = runs_of(name)

    assert points(run, "latency.batch") == {50.0: (1.0, 1.0), 90.0: (2.0, 2.0), 95.0: (2.6, 2.6)}
    assert run.seconds == (None if name == "k6.json" else 10)


def test_a_distribution_of_hdrhistogram() -> None:
    [run] = runs_of("percentiles.txt", asked=Asked("us", ("end_to_end", "response")))
    found = latency(run, "latency.end_to_end.response")

    assert (found.count, found.max_ms, found.mean_ms) == (10_000, close(0.02), close(0.001234))
    assert found.points[1] == exact_point(90.0, 0.002)


def test_samples() -> None:
    """Units follow from heads; of the second form, rows of the warm-up are left out."""
    [plain] = runs_of("samples.csv", asked=Asked(latency=("ack", "service")))
    [second] = runs_of("samples-2.csv")

    assert (plain.latencies[0].count, plain.latencies[0].min_ms, len(plain.spans)) == (100, 0.04, 10)
    assert {each.kind: (each.count, each.max_ms) for each in second.latencies} == {
        "service": (7, close(409)), "response": (7, close(411)),
    }  # fmt: skip


def test_a_code_is_no_latency() -> None:
    """Of columns that begin like a latency, those that measure time are taken."""
    [run] = read_text("timestamp_s,response_code,service_host,response_time_ms\n1,200,a,2\n2,500,b,4\n")

    assert [(each.kind, each.max_ms) for each in run.latencies] == [("response", close(4))]
    with pytest.raises(ForeignError, match="unknown format"):
        recognised(ForeignFile("x", "", b"timestamp_s,response_code\n1,200\n"))


def test_tlp_stress() -> None:
    """Counts add up; there are no percentiles of the run, and none are made up."""
    [run] = runs_of("tlp.csv")

    assert run.delivery == {"acked": 159_233, "failed": 0}
    assert all(not each.points and each.spread is None for each in run.latencies)
    assert run.spans[0].values["ack.service.p99_ms"] == 8.11
    assert math.isclose(run.spans[1].values["acked_per_second"], (159_233 - 111_157) / 60)
