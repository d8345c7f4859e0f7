"""The lag of a run in a line, and whether it is backlog or waits for commits."""

from typing import Final

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.text.numbers import seconds, whole
from streamgauge.report.pages.belief import cell, in_words
from streamgauge.result import Result

BACKLOG: Final = 0.5
"""From this share of the committed lag on, outstanding messages may be what it consists of. Below, most of what is not
committed was processed, and waits for a commit only."""


def lag_in_short(result: Result) -> str:
    """Committed lag and outstanding messages; empty where neither is known."""
    lag = result.lag
    # Position lag says little that the others do not.
    known = {"committed": lag.committed, "outstanding": lag.outstanding} if lag else {}
    note = {"committed": _of_commits(result)}
    return "; ".join(
        f"{name} max {_lag(result, name, 'max')}{note.get(name, '')}, last {_lag(result, name, 'final')}"
        for name, each in known.items()
        if each and each.max is not None
    )


def _of_commits(result: Result) -> str:
    """Where the committed lag comes from its commits, how often they are; nothing where it may be backlog."""
    lag, consume = result.lag, result.run.profile.consume
    committed = lag.committed.max if lag and lag.committed else None
    waiting = _most_outstanding(result)
    if committed is None or waiting is None or waiting >= BACKLOG * committed:
        return ""
    if consume is None or consume.commit_every_ms is None:
        return " (between commits)"
    return f" (commits every {seconds(consume.commit_every_ms * NS_PER_MS / NS_PER_SECOND)})"


def _most_outstanding(result: Result) -> float | None:
    """The most messages that can have been outstanding; None where no bound of them is believed."""
    figure = result.trust.get("lag.outstanding.max")
    if figure is None:
        return result.lag.outstanding.max if result.lag and result.lag.outstanding else None
    if figure.trust == "believed":
        return figure.value
    return figure.high if figure.trust == "bounded" else None


def _lag(result: Result, name: str, figure: str) -> str:
    shown = cell(getattr(getattr(result.lag, name), figure), result.trust.get(f"lag.{name}.{figure}"), whole)
    return in_words(shown)
