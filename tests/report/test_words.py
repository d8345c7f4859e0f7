"""Words that terminal, Markdown and page share."""

from typing import Any

import pytest

from streamgauge.report.pages import details, words
from streamgauge.result import Result
from streamgauge.result.model.clients import ConnectionsOfKind, ConnectionsSection, WireOfRole, WireSection
from streamgauge.result.model.delivery import DeliverySection, MissingMessage
from streamgauge.result.model.pressure import ReplicationSection
from streamgauge.result.model.resources import HostUsage, ResourcesSection
from streamgauge.result.model.verdict import ExpectationResult

NOTHING = Result.model_construct(missing=[], connections=None, wire=None, transactions=None, processing=None)


def account(**counts: int) -> Result:
    """The result of a delivery with these counts, the others not known."""
    known = {**dict.fromkeys(DeliverySection.model_fields), **counts}
    return Result.model_construct(delivery=DeliverySection.model_construct(None, **known), trust={})


def test_what_few_runs_have_is_told_in_a_line_each() -> None:
    """Connections kind by kind, bytes on the wire; nothing where there is nothing."""
    assert details.also(NOTHING) == details.also(Result.model_construct(missing=[])) == {}
    figures = {"target_per_second": 50.0, "per_second": 49.9, "p50_ms": 3.7, "p99_ms": 125.0}
    kinds = ConnectionsSection.model_construct(
        open=ConnectionsOfKind.model_construct(None, **figures, failed=2),
        metadata=None,
        hold_producer=ConnectionsOfKind.model_construct(None, **figures, failed=0),
        reasons={"metadata": "none"},
    )
    sent = WireOfRole.model_construct(ratio=3.625, messages_per_request=28.9, retried_messages=1_234)
    wire = WireSection.model_construct(producers=sent, consumers=None)

    told = details.also(Result.model_construct(missing=[], connections=kinds, wire=wire))

    assert told == {
        "Connections": "open 49.9/s of 50.0/s, p50 3.70 ms, p99 125 ms, 2 failed; "
        "hold producer 49.9/s of 50.0/s, p50 3.70 ms, p99 125 ms, none failed",
        "Wire": "payload is 3.62 times the bytes on the wire, 28.9 messages a request, 1,234 messages retried",
    }


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ({}, "3 of each partition, all in sync; {0}"),
        ({"replicas": None}, "different numbers, all in sync; {0}"),
        ({"replicas": 1, "least_in_sync": 1}, "1 of each partition; {0}"),
        (
            {"replicas": 1, "under_replicated_partitions": 2, "least_in_sync": 0, "leaderless_partitions": 2}
            | {"leaderless_seconds": 1.5, "controller_changes": 1},
            "1 of each partition; 2 of 6 partitions had no leader, for up to 1.50 s; {0}, 1 controller change",
        ),
        (
            {"under_replicated_partitions": 6, "under_replicated_seconds": 13.9, "least_in_sync": 2},
            "3 of each partition; 6 of 6 partitions lacked some, for up to 13.9 s (as few as 2 in sync); {0}",
        ),
    ],
)  # fmt: skip
def test_what_became_of_replicas_is_told_as_far_as_there_are_any(seen: dict[str, Any], told: str) -> None:
    fine = {"replicas": 3, "partitions": 6, "least_in_sync": 3, "leader_changes": 0}
    fine |= dict.fromkeys(("under_replicated_partitions", "under_replicated_seconds"), 0)
    fine |= dict.fromkeys(("leaderless_partitions", "leaderless_seconds"), 0)
    found = ReplicationSection.model_construct(None, **{**fine, **seen})
    assert details.replicas(Result.model_construct(replication=found)) == told.format("0 leader changes")


@pytest.mark.parametrize(
    ("wanted", "found", "shown"),
    [
        ("<= 20", 15.400959, "15.4"),
        ("<= 15.4", 15.400959, "15.401"),
        ("< 0.0123", 0.0123000001, "0.0123"),
        ("> 1", 120_000, "120,000"),
        (0, 12, "12"),
        (True, False, "false"),
        ("finished", "interrupted", "interrupted"),
        (0, None, "-"),
    ],
)
def test_what_was_found_has_digits_enough(wanted: float | str, found: float | str | None, shown: str) -> None:
    """To see on which side of the bound it lies, and no more."""
    judged = ExpectationResult(path="x", wanted=wanted, found=found, passed=False, reason=None)
    assert words.found(judged) == f"found {shown}"


def test_messages_that_did_not_come_back_are_named() -> None:
    """By producer and sequence, ten at most."""
    lost = [MissingMessage.model_construct(class_="lost", producer=seq % 2, seq=seq) for seq in range(4)]
    many = [MissingMessage.model_construct(class_="failed", producer=0, seq=seq) for seq in range(12)]

    assert details.missing(NOTHING) == ""
    assert details.missing(Result.model_construct(missing=lost)) == "lost of producer 0: 0, 2; lost of producer 1: 1, 3"
    assert details.missing(Result.model_construct(missing=many)).endswith("8, 9; more in the table problems")


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        ({}, "38 % idle, 0.12 % steal"),
        ({"throttled_share": None, "throttled_periods_share": None}, "38 % idle, 0.12 % steal"),
        ({"throttled_share": 0.0, "throttled_periods_share": 0.0}, "38 % idle, 0.12 % steal"),
        (
            {"throttled_share": 0.9, "throttled_periods_share": 0.93},
            "38 % idle, 0.12 % steal, a CPU quota used up in 93 % of the time",
        ),
    ],
)
def test_a_quota_is_told_of_where_it_was_used_up(quota: dict[str, float | None], expected: str) -> None:
    """Older results do not know of quotas."""
    host = HostUsage.model_construct(None, idle_share=0.381, steal_share=0.0012, **quota)
    assert words.spare(ResourcesSection.model_construct(host=host)) == expected


def test_messages_without_a_report_are_told_with_the_other_troubles() -> None:
    """Once, and with what became of them; what is unaccounted for is as grave as what was lost."""
    counts = {"fate_unknown": 400, "fate_unknown_received": 150, "unacked_received": 150, "unknown": 250}

    told = words.troubles(account(**counts, unaccounted=0))

    assert [(str(each), each.grave) for each in told] == [
        ("250 undecided", False),
        ("150 received though not acknowledged", False),
        ("400 of unknown fate", False),
    ]
    assert [(str(each), each.grave) for each in words.troubles(account(unaccounted=3))] == [("3 unaccounted for", True)]
