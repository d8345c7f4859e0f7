"""The words of deliveries that are acknowledged one by one, which all reports share: from the result alone."""

from collections.abc import Sequence
from typing import Final

from streamgauge.domain.text.numbers import UNKNOWN, milliseconds, percent, plural, significant, whole
from streamgauge.report.pages.belief import cell, in_words
from streamgauge.result import Result
from streamgauge.result.model.clients import RedeliverySection

HEADS: Final = ("delivery", "deliveries", "expected", "accepted", "failed", "too late", "not answered", "dead letters")
TIME_HEADS: Final = ("time", "p50", "p90", "p99", "max")
_TIMES: Final = {
    "success": "from due to processed",
    "answer": "from due to acknowledged",
    "delay": "from the deadline to the next delivery",
}


def rows(result: Result) -> list[Sequence[str]]:
    """Rows under HEADS, one for each number of a delivery."""
    return [
        (
            str(each.number),
            whole(each.deliveries),
            "" if each.expected is None else whole(round(each.expected)),
            whole(each.accepted),
            whole(each.released + each.rejected),
            whole(each.timed_out),
            whole(each.unanswered),
            whole(each.dead_letter),
        )
        for each in (result.redelivery.by_number if result.redelivery else ())
    ]


def times(result: Result) -> list[Sequence[str]]:
    """Rows under TIME_HEADS: how long success, acknowledgement and redelivery took."""
    found = result.redelivery
    if found is None:
        return []
    return [
        (words, *(_time(result, f"{name}_{each}_ms") for each in ("p50", "p90", "p99", "max")))
        for name, words in _TIMES.items()
    ]


def _time(result: Result, name: str) -> str:
    """A time; struck out where it is not believed."""
    return cell(getattr(result.redelivery, name), result.trust.get(f"redelivery.{name}"), milliseconds)


def in_short(result: Result) -> dict[str, str]:
    """Deliveries in a line; nothing where offsets are committed."""
    return {"Redelivery": _told(result, result.redelivery)} if result.redelivery else {}


def _told(result: Result, found: RedeliverySection) -> str:
    per_message = UNKNOWN if found.deliveries_per_message is None else significant(found.deliveries_per_message)
    expected = "" if found.expected_per_message is None else f" (expected {significant(found.expected_per_message)})"
    told = [f"{whole(found.deliveries)} deliveries, {per_message} a message{expected}"]
    told.append(f"{whole(found.succeeded)} of {whole(found.messages)} messages acknowledged")
    if found.dead:
        share = "" if found.dead_share is None else f" ({percent(found.dead_share)})"
        told.append(f"{whole(found.dead)} dead {plural(found.dead, 'letter')}{share}")
    for count, words in (
        (found.archived, "given up without a dead letter"),
        (found.open, "open at the end"),
        (found.overtaken, "out of order"),
        (found.duplicates, "delivered again after success"),
        (found.early, "delivered before the deadline"),
    ):
        if count:
            told.append(f"{whole(count)} {words}")
    if found.delay_p99_ms is not None:
        median, p99 = (in_words(_time(result, f"delay_{each}_ms")) for each in ("p50", "p99"))
        told.append(f"redelivered {median} after the deadline, p99 {p99}")
    return "; ".join(told)
