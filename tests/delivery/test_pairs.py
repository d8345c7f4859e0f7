"""Every class of the audit and of the ledger, each with each other: in one run, and of one message."""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import combinations

import pytest
from tests.delivery.test_log import (
    Story,
    early,
    seen_elsewhere,
    skipped,
    truncated,
    unseen,
    vanished,
    went_back,
)

from streamgauge.delivery.audit import MESSAGE_CLASSES
from streamgauge.delivery.log import LEDGER_CLASSES
from streamgauge.delivery.rows import Received, Sent
from streamgauge.domain.events import ABORTED, FATE_UNKNOWN, UNDECIDED

Plant = Callable[["LongStory"], None]
FREE = (33, 34, 35)
"""Offsets of nobody."""
FAILED = "_MSG_TIMED_OUT"


class LongStory(Story):
    """Forty messages but for those of the offsets FREE: enough for every class to have one of its own."""

    def __init__(self) -> None:
        super().__init__(40, 40)
        self.sent = [row for row in self.sent if row.seq not in FREE]
        self.received = [row for row in self.received if row.seq not in FREE]
        for offset in FREE:
            del self.standing[offset]

    def now(self, seq: int, **its: object) -> None:
        """What is different about a message."""
        self.sent = [row._replace(**its) if row.seq == seq else row for row in self.sent]  # type: ignore[arg-type]

    def delivery(self, seq: int) -> Received:
        """How the first group received a message."""
        return next(row for row in self.received if (row.group, row.seq) == (0, seq))

    def came_as(self, seq: int, **its: object) -> None:
        """What is different about its delivery to the first group."""
        row = self.delivery(seq)
        self.received[self.received.index(row)] = row._replace(**its)  # type: ignore[arg-type]

    def came_again(self, seq: int, offset: int, consumer: int = 0) -> None:
        """It came to the first group once more."""
        self.received.append(self._came(0, seq, offset)._replace(consumer=consumer))

    def counts(self) -> Counter[str]:
        """All that is counted of the first group."""
        return Counter(self.said(0).run) + Counter(self.found())


def healthy() -> Counter[str]:
    return LongStory().counts()


def conflicting(story: Story) -> None:
    """A message that failed, of another producer, was received from an offset that another one has."""
    story.sent.append(Sent(0, 1, 33, 0, None, 30, 31, FAILED))
    story.received.append(story._came(0, 33, 3, poll=3)._replace(producer=1))


def again(story: LongStory) -> None:
    """Another consumer of the group received it, too."""
    story.came_again(12, 12, consumer=2)


def doubled(story: LongStory) -> None:
    """It was written twice, and came twice."""
    story.standing[33] = 14
    story.came_again(14, 33)


def swapped(story: LongStory) -> None:
    """Two messages stand the other way round."""
    for seq, offset in ((16, 17), (17, 16)):
        story.now(seq, offset=offset)
        story.standing[offset] = seq
        story.came_as(seq, offset=offset, poll=offset)


def corrupted(story: LongStory) -> None:
    story.came_as(18, intact=False)


def of_somebody_else(story: LongStory) -> None:
    story.standing[34] = None
    story.received.append(Received(0, 0, 0, 34, None, None, 0, 34, None, None, 345, None))


def without_a_row(story: LongStory) -> None:
    """Of the stamp of a message that nobody recorded."""
    story.received.append(story._came(0, 34, 35))
    story.standing[35] = 34


def unreported(story: LongStory) -> None:
    """Nobody knows what became of it, and it did not come."""
    story.now(20, partition=None, offset=None, sent_ns=None, error=FATE_UNKNOWN)
    story.never_came(0, 20)
    story.never_came(1, 20)


def failed_and_came(story: LongStory) -> None:
    story.now(22, offset=None, error=FAILED)


def aborted_and_came(story: LongStory) -> None:
    story.in_transaction(24, ABORTED, 240)


def undecided(story: LongStory) -> None:
    """Of a transaction whose end nobody knows, and nobody received it."""
    story.in_transaction(26, UNDECIDED, 260)
    story.never_came(0, 26)
    story.never_came(1, 26)


def waiting(story: LongStory) -> None:
    """The group had not come to it."""
    story.position = 39
    story.never_came(0, 39)
    story.never_came(1, 39)


def expired(story: LongStory) -> None:
    """Retention deleted it before anybody read it."""
    story.log_start = story.start = 1
    del story.standing[0]
    story.never_came(0, 0)
    story.never_came(1, 0)


MISSING = {"delivered_once": -1, "received": -1}
PLANTED: Mapping[Plant, Mapping[str, int]] = {
    truncated: {**MISSING, "lost": 1, "truncated": 1},
    vanished: {"delivered_once": -1, "vanished": 1, "unacked_received": 1},
    conflicting: {"received": 1, "unacked_received": 1, "vanished": 1, "offset_conflicts": 1},
    skipped: {**MISSING, "lost": 1, "skipped_polls": 1},
    seen_elsewhere: {**MISSING, "lost": 1, "skipped_polls": 1, "seen_elsewhere": 1},
    went_back: {"delivered_once": -1, "received": 1, "duplicate_consumer": 1, "went_back": 1},
    unseen: {**MISSING, "lost": 1, "skipped_polls": 1, "committed_unseen": 1},
    early: {"received_early": 1},
    again: {"delivered_once": -1, "received": 1, "duplicate_consumer": 1},
    doubled: {"delivered_once": -1, "received": 1, "duplicate_producer": 1},
    swapped: {"reordered": 1},
    corrupted: {"corrupt": 1},
    of_somebody_else: {"received": 1, "foreign": 1},
    without_a_row: {"received": 1, "unrecorded": 1},
    unreported: {**MISSING, "fate_unknown": 1, "unknown": 1},
    failed_and_came: {"delivered_once": -1, "unacked_received": 1},
    aborted_and_came: {"delivered_once": -1, "aborted": 1, "aborted_received": 1},
    undecided: {**MISSING, "unknown": 1},
    waiting: {**MISSING, "undelivered": 1},
    expired: {**MISSING, "expired": 1},
}
OF_DELIVERIES = {
    "reordered", "corrupt", "foreign", "unrecorded", "unacked_received", "aborted_received", "fate_unknown",
}  # fmt: skip


def changed(story: LongStory) -> dict[str, int]:
    """What is counted more, or less, than in a healthy run."""
    found, before = story.counts(), healthy()
    return {name: found[name] - before[name] for name in found | before if found[name] != before[name]}


def test_every_class_is_planted() -> None:
    planted = {name for counts in PLANTED.values() for name in counts}

    assert {*MESSAGE_CLASSES, *LEDGER_CLASSES, *OF_DELIVERIES} <= planted


@pytest.mark.parametrize("plant", [*PLANTED], ids=lambda plant: plant.__name__)
def test_each_is_counted_and_nothing_else(plant: Plant) -> None:
    story = LongStory()
    plant(story)

    assert changed(story) == PLANTED[plant]


@pytest.mark.parametrize("pair", [*combinations(PLANTED, 2)], ids=lambda pair: "-".join(each.__name__ for each in pair))
def test_two_of_one_run_are_counted_together(pair: tuple[Plant, Plant]) -> None:
    """But what two of them have in common counts once: one poll passes over two messages that follow each other."""
    story, expected = LongStory(), Counter[str]()
    for plant in pair:
        plant(story)
        expected.update(PLANTED[plant])
    if set(pair) == {skipped, seen_elsewhere}:
        expected["skipped_polls"] -= 1

    assert changed(story) == {name: count for name, count in expected.items() if count}


def corrupted_and_gone(story: LongStory) -> None:
    """Something came from its offset, and nobody knows what."""
    corrupted(story)
    del story.standing[18]


def again_and_gone(story: LongStory) -> None:
    again(story)
    del story.standing[12]


def doubled_and_gone(story: LongStory) -> None:
    """Of the place where it was acknowledged; the other copy stands."""
    doubled(story)
    del story.standing[14]


def again_and_conflicting(story: LongStory) -> None:
    """It came twice, and a message that failed came from its offset."""
    conflicting(story)
    story.came_again(3, 3, consumer=2)


def doubled_and_conflicting(story: LongStory) -> None:
    """Its other copy came from where another message stands, which is not the one that the group received there."""
    story.came_again(14, 16)


def swapped_and_gone(story: LongStory) -> None:
    swapped(story)
    del story.standing[17]


def waiting_and_gone(story: LongStory) -> None:
    """The group had not come to it, and never will."""
    waiting(story)
    del story.standing[39]


def expired_and_gone(story: LongStory) -> None:
    """What retention deleted was not cut off: its offset was not read again."""
    expired(story)
    truncated(story)
    story.log_start = story.start = 2


def failed_and_gone(story: LongStory) -> None:
    """Nobody promised to keep it, and one has it."""
    failed_and_came(story)
    del story.standing[22]


def aborted_and_gone(story: LongStory) -> None:
    aborted_and_came(story)
    del story.standing[24]


def undecided_and_gone(story: LongStory) -> None:
    """Nobody promised that it would stay."""
    undecided(story)
    del story.standing[26]


def early_and_gone(story: LongStory) -> None:
    early(story)
    del story.standing[9]


def written_over_by_somebody_else(story: LongStory) -> None:
    """One delivery from the offset is its own; the other may be anything, and belongs to who was acknowledged there."""
    story.standing[12] = None
    story.received.append(Received(0, 0, 2, 12, None, None, 0, 12, None, None, 126, None))


OF_ONE: Mapping[Plant, Mapping[str, int]] = {
    corrupted_and_gone: {"corrupt": 1, "truncated": 1},
    again_and_gone: {**PLANTED[again], "truncated": 1, "vanished": 1},
    doubled_and_gone: {**PLANTED[doubled], "truncated": 1, "vanished": 1},
    again_and_conflicting: {
        "delivered_once": -1, "received": 2, "duplicate_consumer": 1, "unacked_received": 1, "vanished": 1,
        "offset_conflicts": 1,
    },
    doubled_and_conflicting: {**PLANTED[doubled], "vanished": 1, "offset_conflicts": 1},
    swapped_and_gone: {"reordered": 1, "truncated": 1, "vanished": 1},
    waiting_and_gone: {**PLANTED[waiting], "truncated": 1},
    expired_and_gone: {"delivered_once": -2, "received": -2, "expired": 2},
    failed_and_gone: {**PLANTED[failed_and_came], "vanished": 1},
    aborted_and_gone: {**PLANTED[aborted_and_came], "vanished": 1},
    undecided_and_gone: PLANTED[undecided],
    early_and_gone: {"received_early": 1, "truncated": 1, "vanished": 1},
    written_over_by_somebody_else: {
        "delivered_once": -1, "received": 1, "duplicate_consumer": 1, "corrupt": 1, "truncated": 1, "vanished": 1,
    },
}  # fmt: skip
"""What happens to one message in two ways."""


@pytest.mark.parametrize("plant", [*OF_ONE], ids=lambda plant: plant.__name__)
def test_two_of_one_message_are_counted_each_for_itself(plant: Plant) -> None:
    story = LongStory()
    plant(story)

    assert changed(story) == OF_ONE[plant]
