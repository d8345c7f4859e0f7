"""The words of the scorecards of faults, which all reports share: from the result alone."""

from collections.abc import Sequence
from typing import Final

from streamgauge.domain.text.numbers import UNKNOWN, milliseconds, significant, whole
from streamgauge.result import Result
from streamgauge.result.model.delivery import FaultScorecard

IN_SHORT: Final = 3
"""Faults that are told where there is little room: those that kept a partition from being written for longest."""
MOST: Final = 100
"""Scorecards that the report lists; result.json has all."""
HEADS: Final = (
    "fault", "of", "at second", "noticed", "unwritable", "next leader", "median", "unreadable", "median",
    "messages held", "failed", "worst message", "leaders back", "in sync",
)  # fmt: skip
NUMBERS: Final = 2
"""The first column of numbers."""
PROMISE_HEADS: Final = ("fault", "at second", "compared with settings")


def rows(result: Result) -> list[Sequence[str]]:
    """Rows under HEADS, one for each fault."""
    return [_row(card) for card in (result.scorecards or [])[:MOST]]


def _row(card: FaultScorecard) -> Sequence[str]:
    return (
        " ".join(filter(None, (card.kind, card.detail, card.error and f"(its end: {card.error})"))),
        card.target,
        significant(card.began_second),
        _seconds(card.noticed_s),
        _seconds(card.unwritable_s),
        _seconds(card.unwritable_leader_s),
        _seconds(card.unwritable_median_s),
        _seconds(card.unreadable_s),
        _seconds(card.unreadable_median_s),
        whole(card.held),
        whole(card.failed),
        milliseconds(card.worst_message_ms),
        _seconds(card.leaders_s),
        _seconds(card.in_sync_s),
    )


def kept(result: Result) -> list[Sequence[str]]:
    """Rows under PROMISE_HEADS: what each fault did, beside what the settings allow."""
    return [
        (f"{card.kind} of {card.target}", significant(card.began_second), promise.text)
        for card in (result.scorecards or [])[:MOST]
        for promise in card.promises
    ]


def in_short(result: Result) -> dict[str, str]:
    """The faults that did most, in a line; nothing where no fault was over."""
    cards = sorted(result.scorecards or [], key=lambda card: -(card.unwritable_s or 0.0))
    if not cards:
        return {}
    told = "; ".join(_short(card) for card in cards[:IN_SHORT])
    more = f"; {len(cards) - IN_SHORT} more in the report" if len(cards) > IN_SHORT else ""
    return {"Scorecards": told + more}


def _short(card: FaultScorecard) -> str:
    unwritable, unreadable = (_longest(getattr(card, name), name.removesuffix("_s")) for name in _LASTED)
    if card.unwritable_leader_s is not None:
        unwritable += f" (next leader after {_seconds(card.unwritable_leader_s)})"
    worst = f"worst message {milliseconds(card.worst_message_ms)}" if card.worst_message_ms is not None else ""
    promised = next((promise.limit for promise in card.promises), None)
    told = ", ".join(filter(None, (unwritable, unreadable, worst)))
    return f"{card.kind} of {card.target}: {told or UNKNOWN}{f' ({promised})' if promised else ''}"


_LASTED: Final = ("unwritable_s", "unreadable_s")


def _longest(seconds: float | None, words: str) -> str:
    return "" if seconds is None else f"{words} for up to {_seconds(seconds)}"


def _seconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{significant(value)} s"
