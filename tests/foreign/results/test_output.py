"""Figures of any program: named groups of patterns become rates, counts and latencies."""

import re

import pytest

from streamgauge.domain.errors import BadValue
from streamgauge.foreign.results.asked import Asked, parse_latency
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import ForeignError
from streamgauge.foreign.results.output import measured_by, numbers_of, parse_pattern
from streamgauge.foreign.results.reading import read_results

TEXT = """starting
5000 records, 990.5 records/sec, p50 1500 us p99 9000 us
10,000 records, 1,000.5 records/sec, p50 1200 us p99 8000 us
done in 10 s by worker-7
"""
PATTERN = (
    r"^(?P<acked>[\d,]+) records, (?P<acked_per_second>[\d.,]+) .* p50 (?P<ack_service_p50_us>\d+) us "
    r"p99 (?P<ack_service_p99_us>\d+)"
)


def asked(*patterns: str, latency: str | None = None) -> Asked:
    return Asked(None, parse_latency(latency) if latency else None, tuple(map(parse_pattern, patterns)))


def test_the_last_match_counts() -> None:
    """Tools report on their way, and the whole at their end."""
    run = measured_by(asked(PATTERN, r"done in (?P<seconds>\d+) s by (?P<worker>\S+)"), TEXT, "x", "tool")

    assert (run.delivery, run.throughput, run.seconds) == ({"acked": 10_000}, {"acked_per_second": 1000.5}, 10.0)
    assert run.figures == {"worker": "worker-7"}
    [latency] = run.latencies
    assert (latency.path, latency.unit) == ("latency.ack.service", "us")
    assert [(point.percent, point.ms) for point in latency.points] == [(50.0, 1.2), (99.0, 8.0)]


@pytest.mark.parametrize(
    ("group", "text", "percent", "ms"),
    [("p99_9_ms", "7.5", 99.9, 7.5), ("p50_s", "0.25", 50.0, 250.0), ("p99_ns", "1,500,000", 99.0, 1.5)],
)
def test_percentiles_have_units_in_their_names(group: str, text: str, percent: float, ms: float) -> None:
    run = measured_by(asked(f"v=(?P<{group}>\\S+)", latency="end-to-end.response"), f"v={text}", "x", "tool")

    assert run.latencies[0].path == "latency.end_to_end.response"
    assert [(point.percent, point.ms) for point in run.latencies[0].points] == [(percent, ms)]


def test_moments_have_their_places() -> None:
    text = "min 1 mean 2 max 30 dev 4 of 100"
    found = r"min (?P<min_ms>\d+) mean (?P<mean_ms>\d+) max (?P<max_ms>\d+) dev (?P<stddev_ms>\d+) of (?P<count>\d+)"
    [latency] = measured_by(asked(found), text, "x", "tool").latencies

    assert latency.path is None
    assert (latency.min_ms, latency.mean_ms, latency.max_ms, latency.stddev_ms, latency.count) == (1, 2, 30, 4, 100)


def test_groups_of_java_are_groups() -> None:
    assert parse_pattern(r"(?<rate>\d+)").search("at 5").group("rate") == "5"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"(\d+)", "no named groups"),
        (r"(?P<a>", "not a regular"),
        (r"[", "not a regular"),
        ("(?P<a>x){99999999999}", "not a regular"),
    ],
)
def test_a_pattern_that_finds_nothing_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(BadValue) as error:
        parse_pattern(pattern)

    assert said in error.value.what


@pytest.mark.parametrize(
    ("pattern", "text", "said"),
    [
        (r"rate (?P<sent_per_second>\S+)", "no such line", "no match of"),
        (r"rate (?P<sent_per_second>\S+)", "rate fast", "`sent_per_second`"),
        (r"rate (?P<sent_per_second>\S+)", "rate -1", "below 0"),
        (r"n (?P<sent>\S+)", "n 1.5", "must be whole"),
        (r"p (?P<p101_ms>\S+)", "p 1", "above 100"),
        (r"(?P<p50_ms>\d+) (?P<p99_ms>\d+)", "9 1", "no distribution"),
        (r"(?P<count>\S+)", "x", "`count`"),
    ],
)
def test_what_is_no_figure_is_refused(pattern: str, text: str, said: str) -> None:
    with pytest.raises(ForeignError, match=re.escape(said)):
        measured_by(asked(pattern), text, "x", "tool")


def test_numbers_of_any_document() -> None:
    document = {"a": {"b": 1, "c": {"d": 2.5}}, "e": "text", "f": [1], "g": None, "h": True}

    assert numbers_of(document) == {"a.b": 1, "a.c.d": 2.5, "e": "text"}
    assert numbers_of(None) == {}


def test_a_text_is_imported_by_a_pattern() -> None:
    [found] = read_results([ForeignFile("tool.log", "x", TEXT.encode())], asked(PATTERN), "pattern")

    assert [run.name for run in found.runs] == ["tool"]
    assert found.runs[0].throughput == {"acked_per_second": 1000.5}
