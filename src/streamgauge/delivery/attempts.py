"""What became of deliveries where messages are acknowledged one by one: the definition, in plain Python.

A *delivery* of a message is an offset that it was read from, and its number. A message that is delivered again is
written again, and stands at another offset; a share group delivers it from the same offset, with another number. What
was read twice with the same number is one delivery, begun when it was first read. A *redelivery*
follows a delivery that did not succeed; a *duplicate* begins when the message was processed already. A message is
*overtaken* where a later one of its producer and partition was processed successfully before it.
`pipeline.pressure.redelivery` computes the same on any scale.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from streamgauge.delivery.deliveries import Position, Stamp

ACCEPTED: Final = "accepted"
RELEASED: Final = "released"
REJECTED: Final = "rejected"
"""Its processing failed, and it is not to come again."""
TIMED_OUT: Final = "timed_out"
"""Acknowledged when its lock was over: the broker did not take it."""
REDELIVERED: Final = "redelivered"
DEAD_LETTER: Final = "dead_letter"
UNANSWERED: Final = "unanswered"
"""A delivery of which its consumer told nothing: it took too long, or died."""

ANSWERS: Final = (ACCEPTED, REJECTED, RELEASED, TIMED_OUT)
"""What a consumer may tell of a delivery; the first of these counts where it told more."""
MESSAGE_COUNTS: Final = ("messages", "succeeded", "dead", "dead_after_success", "archived", "open", "overtaken")
DELIVERY_COUNTS: Final = ("deliveries", *ANSWERS, UNANSWERED, "reread", "duplicates", "early")


class Delivery(NamedTuple):
    """What is needed of a row of `received`."""

    stamp: Stamp
    place: Position
    number: int
    """Which delivery of its message it is, from 1."""
    received_ns: int
    ended_ns: int | None
    """When it was processed; None where it never was."""
    deadline_ns: int | None
    """When it was due again unless it was acknowledged; of one that was to come again, when it was due then."""
    due_ns: int | None = None
    """When it was due itself, as a message of a retry topic says; None where nothing says it."""


class Attempt(NamedTuple):
    """What is needed of a row of `attempts`."""

    place: Position
    at_ns: int
    outcome: str
    number: int
    """Which delivery of its message it is, from 1."""


class Carried(NamedTuple):
    """What a carrier does with deliveries that fail."""

    in_place: bool = False
    """Whether it delivers from the same offset again, and at once where a delivery is released."""
    limit: int | None = None
    """Redeliveries after which it archives a message, one that does; None for one that does not."""


@dataclass(frozen=True, slots=True)
class Redeliveries:
    """What became of the messages of one group, and of their deliveries."""

    counts: Mapping[str, int]
    """By MESSAGE_COUNTS and DELIVERY_COUNTS."""
    by_number: Mapping[int, Mapping[str, int]]
    """By number of the delivery: `deliveries`, and how many had each outcome, dead letters among them."""
    delays_ns: Sequence[int]
    """Of each redelivery whose deadline is known, from that to its begin, sorted; negative is early."""
    answers_ns: Mapping[Stamp, int]
    """Of each message that was accepted, when that was first confirmed."""


def redeliveries(
    received: Iterable[Delivery],
    attempts: Iterable[Attempt],
    carried: Carried = Carried(),  # noqa: B008 - a constant
) -> Redeliveries:
    """What became of the deliveries of one group, all with a sound stamp."""
    rows = sorted(received, key=lambda row: (row.received_ns, row.place))
    firsts: dict[_Key, Delivery] = {}
    for row in rows:
        firsts.setdefault(_key(row), row)
    said: dict[_Key, dict[str, int]] = defaultdict(dict)
    for each in attempts:
        known = said[_key(each)]
        known[each.outcome] = min(each.at_ns, known.get(each.outcome, each.at_ns))
    of_message: dict[Stamp, list[Delivery]] = defaultdict(list)
    for row in firsts.values():
        of_message[row.stamp].append(row)
    counts: Counter[str] = Counter(reread=len(rows) - len(firsts))
    by_number: dict[int, Counter[str]] = defaultdict(Counter)
    delays: list[int] = []
    answers: dict[Stamp, int] = {}
    successes: dict[tuple[int, int, int], list[tuple[int, int]]] = defaultdict(list)
    for stamp, deliveries in of_message.items():
        accepted = [said[_key(row)][ACCEPTED] for row in deliveries if ACCEPTED in said[_key(row)]]
        ends = [_end(row) for row in deliveries if ACCEPTED in said[_key(row)]]
        dead = any(DEAD_LETTER in said[_key(row)] for row in deliveries)
        spent = carried.limit is not None and max(row.number for row in deliveries) > carried.limit
        left = not accepted and not dead
        counts["messages"] += 1
        counts["succeeded"] += bool(accepted)
        counts["dead"] += dead
        counts["dead_after_success"] += dead and bool(accepted)
        counts["archived"] += left and spent
        counts["open"] += left and not spent
        if accepted:
            answers[stamp] = min(accepted)
            topic, producer, seq = stamp
            successes[topic, producer, deliveries[0].place[1]].append((seq, min(ends)))
        for row in deliveries:
            outcome = _outcome(said[_key(row)])
            for name in ("deliveries", outcome):
                counts[name] += 1
                by_number[row.number][name] += 1
            by_number[row.number][DEAD_LETTER] += DEAD_LETTER in said[_key(row)]
            counts["duplicates"] += bool(ends) and row.received_ns > min(ends)
            deadline_ns = _deadline_before(row, deliveries, said, carried.in_place)
            if deadline_ns is not None:
                delays.append(row.received_ns - deadline_ns)
    counts["overtaken"] = sum(map(overtaken, successes.values()))
    counts["early"] = sum(delay < 0 for delay in delays)
    names = (*MESSAGE_COUNTS, *DELIVERY_COUNTS)
    return Redeliveries({name: counts[name] for name in names}, by_number, sorted(delays), answers)


def overtaken(successes: Iterable[tuple[int, int]]) -> int:
    """How many messages of a producer and partition succeeded after a later one; of each its sequence and the time."""
    found, earliest = 0, None
    for _, at_ns in sorted(successes, reverse=True):
        found += earliest is not None and at_ns > earliest
        earliest = at_ns if earliest is None else min(earliest, at_ns)
    return found


_Key = tuple[Position, int]
"""Where a delivery was read, and its number."""


def _key(row: Delivery | Attempt) -> _Key:
    return row.place, row.number


def _outcome(said: Mapping[str, int]) -> str:
    return next((name for name in ANSWERS if name in said), UNANSWERED)


def _end(row: Delivery) -> int:
    """When a delivery that was accepted ended; without processing that is when it was read."""
    return row.received_ns if row.ended_ns is None else row.ended_ns


def _deadline_before(
    row: Delivery, deliveries: Iterable[Delivery], said: Mapping[_Key, Mapping[str, int]], in_place: bool
) -> int | None:
    """When this delivery was due: as it says, or else the deadline of the one before it; None where that is not known.

    After a crash there may be several before it, and nothing tells which of them this one follows: the earliest counts,
    so that none is called early which was not.
    """
    if row.due_ns is not None and row.number > 1:
        return row.due_ns
    before = (each for each in deliveries if each.number == row.number - 1)
    ends = (_deadline(each, said.get(_key(each), {}), in_place) for each in before)
    return min((end for end in ends if end is not None), default=None)


def _deadline(row: Delivery, said: Mapping[str, int], in_place: bool) -> int | None:
    """When a delivery is over: with its deadline, or by its release where that makes it come again.

    What was sent again before it was read here had been read before, by a consumer that died and recorded nothing. A
    lock of which the broker says that it was over sooner began sooner: its consumer hung before it read the message.
    """
    if row.deadline_ns is None or said.get(REDELIVERED, row.received_ns) < row.received_ns:
        return None
    if not in_place:
        return row.deadline_ns
    if said.get(TIMED_OUT, row.deadline_ns) < row.deadline_ns:
        return None
    return min(row.deadline_ns, said.get(RELEASED, row.deadline_ns))


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
