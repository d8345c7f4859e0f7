"""What became of deliveries where messages are acknowledged one by one: the definition, in plain Python.

A *delivery* of a message is an offset that it was read from: a message that is delivered again is written again, and
stands at another offset. An offset that was read twice is one delivery, begun when it was first read. A *redelivery*
follows a delivery that did not succeed; a *duplicate* begins when the message was processed already.
`pipeline.pressure.redelivery` computes the same on any scale.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

_Stamp = tuple[int, int, int]
"""Topic that the message was sent to, producer, sequence."""
_Position = tuple[int, int, int]
"""Topic, partition, offset."""

ACCEPTED: Final = "accepted"
RELEASED: Final = "released"
REJECTED: Final = "rejected"
"""A delivery that failed, and that its consumer knew to be the last one."""
REDELIVERED: Final = "redelivered"
DEAD_LETTER: Final = "dead_letter"
UNANSWERED: Final = "unanswered"
"""A delivery of which its consumer told nothing: it took too long, or died."""

MESSAGE_COUNTS: Final = ("messages", "succeeded", "dead", "dead_after_success", "open")
DELIVERY_COUNTS: Final = ("deliveries", ACCEPTED, RELEASED, REJECTED, UNANSWERED, "reread", "duplicates", "early")


class Delivery(NamedTuple):
    """What is needed of a row of `received`."""

    stamp: _Stamp
    place: _Position
    number: int
    """Which delivery of its message it is, from 1."""
    received_ns: int
    ended_ns: int | None
    """When it was processed; None where it never was."""
    deadline_ns: int | None
    """When it was due again unless it was acknowledged; of one that was to come again, when it was due then."""


class Attempt(NamedTuple):
    """What is needed of a row of `attempts`."""

    place: _Position
    at_ns: int
    outcome: str


@dataclass(frozen=True, slots=True)
class Redeliveries:
    """What became of the messages of one group, and of their deliveries."""

    counts: Mapping[str, int]
    """By MESSAGE_COUNTS and DELIVERY_COUNTS."""
    by_number: Mapping[int, Mapping[str, int]]
    """By number of the delivery: `deliveries`, and how many had each outcome, dead letters among them."""
    delays_ns: Sequence[int]
    """Of each redelivery whose deadline is known, from that to its begin, sorted; negative is early."""
    answers_ns: Mapping[_Stamp, int]
    """Of each message that was accepted, when that was first confirmed."""


def redeliveries(received: Iterable[Delivery], attempts: Iterable[Attempt]) -> Redeliveries:
    """What became of the deliveries of one group, all with a sound stamp."""
    rows = sorted(received, key=lambda row: (row.received_ns, row.place))
    firsts: dict[_Position, Delivery] = {}
    for row in rows:
        firsts.setdefault(row.place, row)
    said: dict[_Position, dict[str, int]] = defaultdict(dict)
    for each in attempts:
        known = said[each.place]
        known[each.outcome] = min(each.at_ns, known.get(each.outcome, each.at_ns))
    of_message: dict[_Stamp, list[Delivery]] = defaultdict(list)
    for row in firsts.values():
        of_message[row.stamp].append(row)
    counts: Counter[str] = Counter(reread=len(rows) - len(firsts))
    by_number: dict[int, Counter[str]] = defaultdict(Counter)
    delays: list[int] = []
    answers: dict[_Stamp, int] = {}
    for stamp, deliveries in of_message.items():
        accepted = [said[row.place][ACCEPTED] for row in deliveries if ACCEPTED in said[row.place]]
        ends = [_end(row) for row in deliveries if ACCEPTED in said[row.place]]
        dead = any(DEAD_LETTER in said[row.place] for row in deliveries)
        counts["messages"] += 1
        counts["succeeded"] += bool(accepted)
        counts["dead"] += dead
        counts["dead_after_success"] += dead and bool(accepted)
        counts["open"] += not accepted and not dead
        if accepted:
            answers[stamp] = min(accepted)
        for row in deliveries:
            outcome = _outcome(said[row.place])
            for name in ("deliveries", outcome):
                counts[name] += 1
                by_number[row.number][name] += 1
            by_number[row.number][DEAD_LETTER] += DEAD_LETTER in said[row.place]
            counts["duplicates"] += bool(ends) and row.received_ns > min(ends)
            deadline_ns = _deadline_before(row, deliveries)
            if deadline_ns is not None:
                delays.append(row.received_ns - deadline_ns)
    counts["early"] = sum(delay < 0 for delay in delays)
    names = (*MESSAGE_COUNTS, *DELIVERY_COUNTS)
    return Redeliveries({name: counts[name] for name in names}, by_number, sorted(delays), answers)


def _outcome(said: Mapping[str, int]) -> str:
    return next((outcome for outcome in (ACCEPTED, RELEASED, REJECTED) if outcome in said), UNANSWERED)


def _end(row: Delivery) -> int:
    """When a delivery that was accepted ended; without processing that is when it was read."""
    return row.received_ns if row.ended_ns is None else row.ended_ns


def _deadline_before(row: Delivery, deliveries: Iterable[Delivery]) -> int | None:
    """The deadline of the delivery before this one; None where it is not known.

    After a crash there may be several, and nothing tells which of them this one follows: the earliest counts, so that
    none is called early which was not.
    """
    known = [each.deadline_ns for each in deliveries if each.number == row.number - 1 and each.deadline_ns is not None]
    return min(known, default=None)


def expected_by_number(fail: float, poison: float, limit: int | None, most: int) -> list[float]:
    """The share of the messages that is delivered a first, second, … time, up to `most` times.

    A message is delivered again where it is poisoned, or failed each time before: p + (1 - p) f^n.
    """
    last = most if limit is None else min(most, limit + 1)
    return [poison + (1 - poison) * fail**number for number in range(last)]


def expected_deliveries(fail: float, poison: float, limit: int | None) -> float:
    """Deliveries of a message on average: the sum of these shares, infinite where something fails without end."""
    if limit is not None:
        return sum(expected_by_number(fail, poison, limit, limit + 1))
    return float("inf") if poison or fail == 1 else 1 / (1 - fail)


def expected_dead(fail: float, poison: float, limit: int | None) -> float:
    """The share of the messages that become dead letters: p + (1 - p) f^(limit + 1); 0 without a limit."""
    return 0.0 if limit is None else poison + (1 - poison) * float(fail ** (limit + 1))
