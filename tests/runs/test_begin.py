"""A begin that is asked for lies ahead, and far enough for broker and workers to be ready."""

from typing import Any

import pytest

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.runs.request.options import (
    EMBEDDED_READY_SECONDS,
    READY_SECONDS,
    SPARK_READY_SECONDS,
    ready_seconds,
    start_faults,
)
from streamgauge.scenario import Scenario, parse
from streamgauge.scenario.model.values import epoch_ns

START_AT = "2026-11-21T18:00:00Z"
SPARK: Any = {"job": "pass", "engine": "micro-batch"}
CLIENT: Any = {"job": "pass", "engine": "client"}


def scenario(start_at: str | None = START_AT, **given: Any) -> Scenario:
    phases = {} if start_at is None else {"start_at": start_at}
    return parse({"name": "x", "load": {"rate": "1k/s"}, "phases": phases, **given})


def told(in_seconds: float, *, embedded: bool, start_at: str | None = START_AT) -> list[str]:
    now_ns = epoch_ns(START_AT) - round(in_seconds * NS_PER_SECOND)
    return [str(fault) for fault in start_faults(scenario(start_at), now_ns, embedded=embedded)]


@pytest.mark.parametrize(
    ("embedded", "pipeline", "seconds", "who"),
    [
        (True, None, EMBEDDED_READY_SECONDS, "broker and workers"),
        (False, None, READY_SECONDS, "workers"),
        (True, SPARK, EMBEDDED_READY_SECONDS + SPARK_READY_SECONDS, "broker, Spark and workers"),
        (False, SPARK, READY_SECONDS + SPARK_READY_SECONDS, "Spark and workers"),
        (False, CLIENT, READY_SECONDS, "workers"),
    ],
)
def test_what_takes_how_long(embedded: bool, pipeline: Any, seconds: int, who: str) -> None:
    given = scenario() if pipeline is None else scenario(pipeline=pipeline)

    assert ready_seconds(given, embedded=embedded) == (seconds, who)


@pytest.mark.parametrize(
    ("in_seconds", "embedded", "begins"),
    [
        (EMBEDDED_READY_SECONDS, True, None),
        (
            EMBEDDED_READY_SECONDS - 0.1,
            True,
            f"{START_AT} is in {EMBEDDED_READY_SECONDS - 0.1:.1f} s; broker and workers",
        ),
        (3.2, True, f"{START_AT} is in 3.2 s; broker and workers take up to {EMBEDDED_READY_SECONDS} s to be ready"),
        (READY_SECONDS, False, None),
        (3.2, False, f"{START_AT} is in 3.2 s; workers take up to {READY_SECONDS} s to be ready"),
        (0, False, f"{START_AT} has passed; workers"),
        (-3_600, True, f"{START_AT} has passed; broker and workers"),
    ],
)
def test_a_begin_that_cannot_be_kept_is_refused(in_seconds: float, embedded: bool, begins: str | None) -> None:
    """With how long it takes, and what to write instead."""
    faults = told(in_seconds, embedded=embedded)

    assert len(faults) == (begins is not None)
    if begins:
        needed = EMBEDDED_READY_SECONDS if embedded else READY_SECONDS
        assert faults[0].startswith(f"phases.start_at: {begins}")
        assert faults[0].endswith(f"Write a time at least {needed} s from now, or leave it out to start at once")


def test_without_a_begin_there_is_nothing_to_keep() -> None:
    assert told(-5, embedded=True, start_at=None) == []
