"""The classes of delivery, one small story each."""

from collections import Counter

import pytest

from streamgauge.delivery.audit import MESSAGE_CLASSES, Audit, audit
from streamgauge.delivery.claims import unaccounted
from streamgauge.delivery.ends import LostBlock, remains
from streamgauge.delivery.rows import Lag, MeasureSpan, Received, Sent
from streamgauge.domain.events import ABORTED, COMMITTED, FATE_UNKNOWN, UNDECIDED, UNSENT

ALWAYS = MeasureSpan(0, 1_000_000)
GROUP = 0


def sent(seq: int, offset: int | None = -1, *, error: str | None = None, partition: int = 0) -> Sent:
    """Message `seq`, acknowledged at the offset of the same number unless told otherwise."""
    return Sent(0, 0, seq, partition, seq if offset == -1 else offset, seq * 10, seq * 10 + 1, error)


def got(
    seq: int | None, offset: int | None = None, *, poll: int = 0, at: int | None = None, intact: bool | None = True,
    consumer: int = 0, partition: int = 0,
) -> Received:  # fmt: skip
    """A delivery of message `seq` at the offset of the same number unless told otherwise."""
    place = offset if offset is not None else seq if seq is not None else 0
    stamped = seq is not None
    return Received(
        0, GROUP, consumer, poll, 0 if stamped else None, seq, partition, place, seq * 10 if seq is not None else None,
        None, at if at is not None else place * 10 + 5, intact if stamped else None,
    )  # fmt: skip


def ended(position: int, end: int, start: int = 0, partition: int = 0) -> list[Lag]:
    return [
        Lag("final", 0, GROUP, None, partition, start, None, None, end),
        Lag("final", 0, GROUP, 0, partition, None, None, position, None),
    ]


READ_OUT = ended(position=10, end=10)


def of(messages: list[Sent], deliveries: list[Received], lag: list[Lag] | None = None) -> Audit:
    return audit(messages, deliveries, READ_OUT if lag is None else lag, GROUP, ALWAYS)


@pytest.mark.parametrize(
    ("deliveries", "name"),
    [
        ([got(5)], "delivered_once"),
        ([got(5, intact=None)], "delivered_once"),
        ([got(5), got(5, poll=1)], "duplicate_consumer"),
        ([got(5), got(5, offset=7)], "duplicate_producer"),
        ([got(5), got(5, offset=7), got(5, poll=1)], "duplicate_producer"),
        ([got(5), got(5, offset=5, partition=1)], "duplicate_producer"),
        ([], "lost"),
        # The checksum differs, but something did arrive at its offset.
        ([got(5, intact=False)], "delivered_once"),
        ([got(6, offset=5, intact=False)], "delivered_once"),
        ([got(None, offset=5)], "delivered_once"),
        ([got(5, intact=False), got(5, poll=1)], "duplicate_consumer"),
        # Its offset holds another message of the run: it is not there.
        ([got(6, offset=5)], "lost"),
        # A stamp that may be garbled says nothing of a message that stands elsewhere.
        ([got(5, offset=7, intact=False)], "lost"),
    ],
)
def test_the_deliveries_of_a_message_say_its_class(deliveries: list[Received], name: str) -> None:
    assert of([sent(5)], deliveries).classes == {(0, 0, 5): name}


def test_classes_partition_the_acknowledged_messages() -> None:
    said = of([sent(seq) for seq in range(10)] + [sent(20, None, error="unsent")], [got(1), got(2), got(2, poll=1)])
    assert sum(said.run[name] for name in MESSAGE_CLASSES) == 10
    assert +Counter(said.run) == Counter(delivered_once=1, duplicate_consumer=1, lost=8, received=3)


def test_a_failed_message_that_came_is_counted_and_is_in_no_class() -> None:
    said = of([sent(1, None, error="_MSG_TIMED_OUT"), sent(2, None, error="unsent")], [got(1), got(2)])
    assert said.classes == {}
    assert said.run["unacked_received"] == 1


def test_a_message_that_failed_owns_no_offset() -> None:
    failed = sent(1, error="_MSG_TIMED_OUT")
    assert of([failed], [got(None, offset=1)]).run["foreign"] == 1


def test_unrecorded_are_stamps_not_deliveries() -> None:
    said = of([], [got(3), got(3, poll=1), got(4), got(9, offset=6, intact=False)])
    assert (said.run["unrecorded"], said.run["corrupt"]) == (2, 1)


def test_a_delivery_without_stamp_is_foreign_unless_a_message_owns_its_offset() -> None:
    said = of([sent(5)], [got(None, offset=5), got(None, offset=6)])
    assert (said.run["corrupt"], said.run["foreign"]) == (1, 1)


def test_with_acks_0_a_corrupt_delivery_belongs_to_the_message_of_its_stamp() -> None:
    said = of([sent(5, None)], [got(5, intact=False)])
    assert said.classes == {(0, 0, 5): "delivered_once"}
    assert len(said.timed) == 1


@pytest.mark.parametrize(
    ("lag", "name"), [(READ_OUT, "lost"), (READ_OUT + ended(3, 4, partition=1), "unknown"), ([], "unknown")]
)
def test_without_an_offset_every_partition_must_have_been_read(lag: list[Lag], name: str) -> None:
    assert of([sent(5, None)], [], lag).classes == {(0, 0, 5): name}


@pytest.mark.parametrize(
    ("order", "falling"),
    [
        ([0, 1, 2, 3], []),
        ([1, 0, 2, 3], [0]),
        ([3, 0, 1, 2], [0, 1, 2]),
        ([0, 2, 1, 3], [1]),
        ([], []),
    ],
)
def test_reordered_is_what_lies_behind_a_higher_sequence(order: list[int], falling: list[int]) -> None:
    said = of([sent(seq, order.index(seq)) for seq in order], [got(seq, offset) for offset, seq in enumerate(order)])
    assert said.run["reordered"] == len(falling)


def test_a_double_of_the_producer_is_not_reordered_nor_is_a_redelivery() -> None:
    messages = [sent(seq) for seq in range(4)]
    deliveries = [got(seq) for seq in range(4)]
    assert of(messages, [*deliveries, got(0, offset=8), got(1, poll=5)]).run["reordered"] == 0


def test_the_first_delivery_is_timed_and_no_other() -> None:
    late, early, corrupt = got(5, poll=1, at=900), got(5, at=100), got(6, intact=False)
    stranger = got(7, offset=6, intact=False, poll=3)
    assert of([sent(5), sent(6)], [late, early, corrupt, stranger]).timed == {early, corrupt}


def test_the_measure_phase_goes_by_due_then_sent_then_received() -> None:
    measure = MeasureSpan(30, 60)
    said = audit([sent(seq) for seq in range(10)], [got(seq) for seq in range(10)], READ_OUT, GROUP, measure)
    assert (said.measure["delivered_once"], said.measure["received"]) == (3, 3)
    unscheduled = [message._replace(due_ns=None) for message in (sent(2), sent(3), sent(5))]
    assert audit(unscheduled, [], READ_OUT, GROUP, measure).measure["lost"] == 2
    foreign = audit([], [got(None, at=30), got(None, at=60)], [], GROUP, measure)
    assert (foreign.run["foreign"], foreign.measure["foreign"]) == (2, 1)


def test_groups_are_audited_apart() -> None:
    deliveries = [got(5), got(5)._replace(group=1, poll=9)]
    assert audit([sent(5)], deliveries, READ_OUT, GROUP, ALWAYS).classes == {(0, 0, 5): "delivered_once"}


def test_the_lost_block_begins_above_the_last_record_and_ends_at_the_next_of_another() -> None:
    rows = [got(4, consumer=9), got(5, consumer=9, poll=1), got(8, poll=2), got(3, partition=1, poll=3), got(7, poll=4)]
    starts = [Lag("start", 0, GROUP, None, partition, None, 2, None, 2) for partition in (0, 1, 2)]
    left = remains(rows, starts, GROUP, frozenset([9]))
    assert left.highest == {(0, 0, 0): 8, (0, 0, 1): 3}
    assert left.blocks == {
        (0, 0, 0): (LostBlock(5, 7),),
        (0, 0, 1): (LostBlock(1, 3),),
        (0, 0, 2): (LostBlock(1, None),),
    }
    said = audit([sent(6), sent(9, partition=0)], rows, [*starts, *READ_OUT], GROUP, ALWAYS, frozenset([9]))
    assert said.classes == {(0, 0, 6): "unknown", (0, 0, 9): "lost"}


COMMIT, ABORT, UNSAID = 7, 8, 9
OUTCOMES = {(0, COMMIT): COMMITTED, (0, ABORT): ABORTED, (0, UNSAID): UNDECIDED, (1, COMMIT): ABORTED}


def transacted(transaction: int | None, deliveries: list[Received], *, error: str | None = None) -> Audit:
    message = sent(5, error=error)._replace(transaction=transaction)
    return audit([message], deliveries, READ_OUT, GROUP, ALWAYS, outcomes=OUTCOMES)


@pytest.mark.parametrize(
    ("transaction", "deliveries", "name"),
    [
        (None, [], "lost"),
        (COMMIT, [], "lost"),
        (COMMIT, [got(5)], "delivered_once"),
        (UNSAID, [], "unknown"),
        (UNSAID, [got(5)], "delivered_once"),
        (UNSAID, [got(5), got(5, poll=1)], "duplicate_consumer"),
        # No row tells how it ended.
        (99, [], "unknown"),
        (ABORT, [], None),
        (ABORT, [got(5)], None),
    ],
)
def test_a_message_shares_the_fate_of_its_transaction(
    transaction: int | None, deliveries: list[Received], name: str | None
) -> None:
    said = transacted(transaction, deliveries)
    assert said.classes == ({} if name is None else {(0, 0, 5): name})
    aborted = int(transaction == ABORT)
    assert (said.run["aborted"], said.run["aborted_received"]) == (aborted, aborted * len(deliveries))
    assert len(said.timed) == (min(1, len(deliveries)) if name else 0)


def test_a_message_that_failed_in_an_aborted_transaction_failed() -> None:
    said = transacted(ABORT, [got(5)], error="_PURGE_QUEUE")
    assert (said.run["aborted"], said.run["aborted_received"], said.run["unacked_received"]) == (0, 0, 1)


def test_a_corrupt_delivery_of_an_aborted_message_is_one_of_it() -> None:
    said = transacted(ABORT, [got(None, offset=5)])
    assert (said.run["aborted_received"], said.run["corrupt"]) == (1, 1)


def test_what_a_group_is_told_not_to_read_is_not_lost() -> None:
    messages = [sent(5), sent(6, partition=1), sent(7, error="_MSG_TIMED_OUT", partition=1), sent(8, None, partition=1)]
    messages.append(sent(9)._replace(partition=None, offset=None))
    said = audit(messages, [], READ_OUT, GROUP, ALWAYS, reads=frozenset([0, 2]))
    assert said.classes == {(0, 0, 5): "lost", (0, 0, 9): "lost"}
    assert said.run["unread"] == 2


def silent(seq: int, *, due: bool = True) -> Sent:
    """Message `seq`, taken up by a producer that died before it could report it."""
    return Sent(0, 0, seq, None, None, seq * 10 if due else None, None, FATE_UNKNOWN)


@pytest.mark.parametrize(
    ("deliveries", "wanted"),
    [
        ([], {"unknown": 1}),
        ([got(5)], {"unacked_received": 1, "fate_unknown_received": 1}),
        ([got(5), got(5, poll=1)], {"unacked_received": 1, "fate_unknown_received": 1}),
        ([got(5), got(5, offset=7)], {"unacked_received": 1, "fate_unknown_received": 1}),
        # A stamp with a wrong checksum is its, since nobody knows where it stands; one without a stamp is nobody's.
        ([got(5, intact=False)], {"unacked_received": 1, "fate_unknown_received": 1, "corrupt": 1}),
        ([got(None, offset=5)], {"unknown": 1, "foreign": 1}),
        ([got(6)], {"unknown": 1, "unrecorded": 1}),
    ],
)
def test_a_message_of_unknown_fate_is_undecided_unless_it_came(
    deliveries: list[Received], wanted: dict[str, int]
) -> None:
    """Also below the position that the group reached: it is never lost, in no class, and not unrecorded."""
    said = of([silent(5)], deliveries)
    assert +Counter(said.run) == Counter({**wanted, "fate_unknown": 1, "received": len(deliveries)})
    assert said.classes == {}


def test_a_message_of_unknown_fate_that_came_is_timed() -> None:
    assert of([silent(5)], [got(5), got(5, poll=1)]).timed == {got(5)}


def test_a_message_of_unknown_fate_was_sent_when_its_stamp_says() -> None:
    """Without a due time that decides its phase; where it did not come, it has none. Any group shows it."""
    stamped = [got(seq)._replace(due_ns=None, sent_ns=seq * 10 + 1) for seq in (4, 5, 6)]
    stamped[1] = stamped[1]._replace(group=1)
    messages = [silent(seq, due=False) for seq in (4, 5, 6, 7)]
    said = audit(messages, stamped, READ_OUT, GROUP, MeasureSpan(45, 60))
    assert (said.run["fate_unknown"], said.run["fate_unknown_received"], said.run["unknown"]) == (4, 2, 2)
    counts = said.measure
    assert (counts["fate_unknown"], counts["fate_unknown_received"], counts["unknown"]) == (1, 0, 1)
    garbled = [stamped[0]._replace(intact=False)]
    assert audit(messages[:1], garbled, READ_OUT, GROUP, MeasureSpan(0, 60)).measure["fate_unknown"] == 0


def test_a_message_of_unknown_fate_owns_no_transaction_and_no_partition() -> None:
    message = silent(5)._replace(transaction=ABORT)
    said = audit([message], [got(5)], READ_OUT, GROUP, ALWAYS, outcomes=OUTCOMES, reads=frozenset([0]))
    assert (said.run["aborted"], said.run["unread"], said.run["unacked_received"]) == (0, 0, 1)


@pytest.mark.parametrize(
    ("sequences", "next_seqs", "wanted"),
    [
        ([], {}, 0),
        ([], {0: 3}, 3),
        ([0, 1, 2], {0: 3}, 0),
        ([0, 2], {0: 3}, 1),
        # A row too many does not make up for one that is missing.
        ([0, 2, 2], {0: 3}, 2),
        ([0, 1, 2, 2, 2], {0: 3}, 2),
        # Above, only what was never sent may have a row, and only one.
        ([0, 1, 2, 3], {0: 3}, 1),
        ([0, 1, 2, (3, UNSENT)], {0: 3}, 0),
        ([0, 1, 2, (3, UNSENT), (3, UNSENT)], {0: 3}, 1),
        ([0, 1, 2, (3, FATE_UNKNOWN)], {0: 3}, 1),
        ([0, (1, UNSENT), (2, FATE_UNKNOWN)], {0: 3}, 0),
        # Another producer's rows are not its.
        ([0, 1, 2], {0: 3, 1: 2}, 2),
        ([0], {}, 1),
    ],
)
def test_every_sequence_that_was_taken_up_has_one_row(
    sequences: list[int | tuple[int, str]], next_seqs: dict[int, int], wanted: int
) -> None:
    pairs = [each if isinstance(each, tuple) else (each, None) for each in sequences]
    assert unaccounted([sent(seq, error=error) for seq, error in pairs], next_seqs) == wanted
