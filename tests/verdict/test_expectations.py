"""Expectations: paths into a result, and what counts as held."""

from typing import Any

import pytest

from streamgauge.verdict.expectations import expectations

RESULT: dict[str, Any] = {
    "run": {"ending": "finished"},
    "verdict": {"valid": True},
    "delivery": {"lost": 0, "undelivered": 12, "corrupt": None, "reasons": {"corrupt": "nothing was verified"}},
    "throughput": {"sent_per_second": 9_999.5},
    "latency": {
        "ack": {
            "response": {"p50_ms": 2.0, "p99_ms": 5.0, "p99_hi_ms": 9.0, "p99_9_ms": 6.0, "p99_9_hi_ms": None},
            "service": None,
        }
    },
    "timeline": [{"second": 0, "outstanding": 7}],
}


@pytest.mark.parametrize(
    ("path", "wanted", "held"),
    [
        ("delivery.lost", 0, True),
        ("delivery.lost", 0.0, True),
        ("delivery.lost", "== 0", True),
        ("delivery.lost", False, False),
        ("delivery.lost", "0", False),
        ("delivery.undelivered", 0, False),
        ("delivery.undelivered", "<= 12", True),
        ("delivery.undelivered", "< 12", False),
        ("delivery.undelivered", "!= 12", False),
        ("throughput.sent_per_second", "> 9_990", True),
        ("throughput.sent_per_second", ">= 10000", False),
        ("verdict.valid", True, True),
        ("verdict.valid", 1, False),
        ("run.ending", "finished", True),
        ("run.ending", "failed", False),
        ("run.ending", "< 5", False),
        ("timeline.0.outstanding", "<= 7", True),
        ("latency.ack.response.p50_ms", "<= 2", True),
        # Held at the low end; the high end of the interval decides.
        ("latency.ack.response.p99_ms", "<= 9", True),
        ("latency.ack.response.p99_ms", "<= 8", False),
        ("latency.ack.response.p99_ms", 5, False),
        ("latency.ack.response.p99_ms", ">= 4", True),
        ("latency.ack.response.p99_9_ms", "<= 1000", False),
        ("latency.ack.response.p99_9_ms", "> 5", True),
    ],
)
def test_an_expectation_holds_or_not(path: str, wanted: Any, held: bool) -> None:
    """Numbers with numbers, truths with truths; an interval keeps below a bound only as a whole."""
    (only,) = expectations(RESULT, {path: wanted})

    assert only.passed is held
    assert (only.path, only.wanted) == (path, wanted)


@pytest.mark.parametrize(
    ("path", "wanted", "reason"),
    [
        ("delivery.lots", 0, "delivery has no `lots`"),
        ("nothing.at.all", 0, "the result has no `nothing`"),
        ("delivery.lost.more", 0, "delivery.lost has no `more`"),
        ("timeline.1.second", 0, "timeline has no `1`"),
        ("delivery", 0, "is not a scalar value; name one below it"),
        ("timeline", 0, "is not a scalar value; name one below it"),
        ("delivery.corrupt", 0, "nothing was verified"),
        ("latency.ack.service.p99_ms", "< 5", "latency.ack.service is not known"),
        ("delivery.lost", "< few", "not a bound; write one of < <= > >= == != and a number, like '<= 5'"),
        ("latency.ack.response.p99_ms", "<= 8", "counting messages that never arrived it may be as high as 9"),
        ("latency.ack.response.p99_9_ms", "<= 8", "counting messages that never arrived it may be as high as infinite"),
        ("delivery.undelivered", 0, None),
    ],
)
def test_a_broken_expectation_says_why(path: str, wanted: Any, reason: str | None) -> None:
    """A path that leads nowhere, or to something unknown, has not held."""
    (only,) = expectations(RESULT, {path: wanted})

    assert (only.passed, only.reason) == (False, reason)
