"""Results of format 1 in the names of today."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.result.figures import other_figures

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.assemble.result import assemble
from streamgauge.result import FORMAT
from streamgauge.result.formats import current_path, upgraded
from streamgauge.result.reading import NotAResultError, TooNewError, parse_result, result_of

Row = dict[str, Any]
GOLDEN = Path(__file__).parents[1] / "report" / "golden" / "format-1"
OLD = GOLDEN / "result.json"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"throughput": {"asked_per_second": 5}}, {"throughput": {"target_per_second": 5}}),
        (
            {"throughput": {"asked_per_second": None, "reasons": {"asked_per_second": "nothing is sent"}}},
            {"throughput": {"target_per_second": None, "reasons": {"target_per_second": "nothing is sent"}}},
        ),
        ({"lateness": {"p99_ms": 1}}, {"schedule_delay": {"p99_ms": 1}}),
        (
            {"lateness": None, "reasons": {"lateness": "why"}},
            {"schedule_delay": None, "reasons": {"schedule_delay": "why"}},
        ),
        ({"latency": {"own_lateness": None, "ack": {}}}, {"latency": {"own_schedule_delay": None, "ack": {}}}),
        (
            {"processing": {"asked_ms": 3, "consumers": [{"asked_ms": 3}, {"asked_ms": 4}], "phases": []}},
            {"processing": {"target_ms": 3, "consumers": [{"target_ms": 3}, {"target_ms": 4}], "phases": []}},
        ),
        (
            {"connections": {"open": {"asked_per_second": 1, "late_max_ms": 2}, "metadata": None}},
            {"connections": {"open": {"target_per_second": 1, "schedule_delay_max_ms": 2}, "metadata": None}},
        ),
        ({"backpressure": {"uncredited_max": 7}}, {"backpressure": {"credits_used_max": 7}}),
        (
            {"pipeline": {"behind": 3, "life": [{"what": "died"}]}},
            {"pipeline": {"committed_lag": 3, "events": [{"event": "died"}]}},
        ),
        (
            {"expectations": [{"path": "lateness.p99_ms", "held": True}, 5]},
            {"expectations": [{"path": "schedule_delay.p99_ms", "passed": True}, 5]},
        ),
        # What is of the user's own making is left alone, and what is no part of a result.
        (
            {"run": {"scenario": {"lateness": 1}}, "mood": ["good"]},
            {"run": {"scenario": {"lateness": 1}}, "mood": ["good"]},
        ),
    ],
)
def test_names_of_format_1_become_those_of_today(old: Row, new: Row) -> None:
    """At every place, with the reasons beside them."""
    known = {"format": FORMAT, "expectations": [], "schedule_delay": None}

    assert upgraded({"format": 1, **old}) == known | new


@pytest.mark.parametrize("document", [{"format": 2, "lateness": 1}, {"lateness": 1}, {"format": "1"}])
def test_another_format_is_left_alone(document: Row) -> None:
    assert upgraded(document) == document


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("delivery.lost", "delivery.lost"),
        ("lateness.producers.1.p99_ms", "schedule_delay.producers.1.p99_ms"),
        ("connections.hold_producer.late_p99_ms", "connections.hold_producer.schedule_delay_p99_ms"),
        ("pipeline.life.3.what", "pipeline.events.3.event"),
        ("expectations.0.held", "expectations.0.passed"),
        ("latency.lateness", "latency.lateness"),
    ],
)
def test_a_path_of_format_1_becomes_one_of_today(old: str, new: str) -> None:
    assert current_path(old) == new


def test_a_result_of_format_1_has_the_figures_that_its_tables_have() -> None:
    """As far as the version that wrote it knew them."""
    old, new = parse_result(OLD.read_bytes()), assemble(RunFolder(GOLDEN))

    for section in ("throughput", "schedule_delay", "expectations"):
        assert getattr(old, section) == getattr(new, section), section
    untitled = [check.model_copy(update={"title": ""}) for check in new.verdict.checks]
    assert (old.verdict.valid, old.verdict.checks) == (new.verdict.valid, untitled)
    for path in ("ack", "end_to_end", "processing"):
        assert getattr(old.latency, path) == getattr(new.latency, path)
    assert old.delivery.lost == new.delivery.lost == 0


def test_no_figure_of_format_1_is_another_today() -> None:
    """Key by key, in the names of today; texts may be better, and keys may have come."""
    written = upgraded(json.loads(OLD.read_bytes()))
    today = assemble(RunFolder(GOLDEN)).document()

    assert other_figures(written, today) == {}


def test_what_is_read_is_written_again() -> None:
    """Key by key, those that are absent included; keys of a later version are left out."""
    document = assemble(RunFolder(GOLDEN)).document()

    assert json.loads(result_of(document).text()) == document
    assert "p99_hi_ms" not in document["latency"]["ack"]["response"]
    assert result_of({**document, "mood": "good"}).document() == document


@pytest.mark.parametrize(
    ("change", "kind", "why"),
    [
        ({"format": 3}, TooNewError, "format 3 is newer than this version reads (2)"),
        ({"format": "2"}, NotAResultError, "format is not 2"),
        ({"delivery": {"sent": 1}}, NotAResultError, "delivery has no `acked`"),
        ({"throughput": 5}, NotAResultError, "throughput is not object"),
        ({"timeline": {}}, NotAResultError, "timeline is not array"),
        ({"latency": {"ack": 5}}, NotAResultError, "latency has no `end_to_end`"),
    ],
)
def test_what_is_no_result_says_where(change: Row, kind: type[Exception], why: str) -> None:
    """In its outermost part that is wrong."""
    with pytest.raises(kind) as caught:
        result_of({**assemble(RunFolder(GOLDEN)).document(), **change})

    assert str(caught.value) == why


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "5", True, {"x": 1}])
def test_a_number_is_a_number(value: Any) -> None:
    """Finite, and no text."""
    document = assemble(RunFolder(GOLDEN)).document()
    document["throughput"]["sent_per_second"] = value

    with pytest.raises(NotAResultError, match=r"throughput\.sent_per_second is not"):
        result_of(document)
