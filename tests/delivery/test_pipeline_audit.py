"""What became of a message on its way through a pipeline, one case at a time."""

from dataclasses import replace
from typing import Any

import pytest

from streamgauge.delivery.audit import AT_SOURCE, BY_PIPELINE, DROPPED, UNEXPECTED, Audit, audit
from streamgauge.delivery.ends import LostBlock
from streamgauge.delivery.rows import Lag, MeasureSpan, PipelineUnderTest, Received, Sent, Stood
from streamgauge.domain.events import FATE_UNKNOWN
from streamgauge.scenario.model.jobs import AGGREGATE, CHANGED, SUBSET, Does

SAME = PipelineUnderTest(0, 1, 7)
MESSAGE = Sent(0, 0, 0, 0, 5, 10, 11, None)
SILENT = Sent(0, 0, 0, None, None, None, None, FATE_UNKNOWN)
"""The same of a producer that died before it could report it, and had no schedule."""
GOT = Received(1, 0, 0, 0, 0, 0, 2, 40, 10, 11, 20, True)
STOOD = Stood(0, 0, 5, 0, 0, True)
QUERY = Lag("final", 0, 7, None, 0, 0, 8, None, 9)
READ = Lag("final", 1, 0, 0, 2, 0, None, 50, 50)


def told(
    received: list[Received],
    sent: Sent = MESSAGE,
    query: Lag = QUERY,
    read: Lag = READ,
    appended: tuple[Stood, ...] = (STOOD,),
    does: Does = "same",
    **more: Any,
) -> Audit:
    pipeline = replace(SAME, does=does)
    return audit([sent], received, [query, read], 0, MeasureSpan(0, 100), pipeline=pipeline, appended=appended, **more)


def counted(found: Audit) -> dict[str, int]:
    return {name: count for name, count in found.run.items() if count and name != "received"}


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, "lost"),
        ({"query": QUERY._replace(committed=5)}, "undelivered"),
        ({"query": QUERY._replace(committed=6)}, "lost"),
        ({"query": QUERY._replace(committed=3, position=6)}, "lost"),
        ({"query": QUERY._replace(committed=None)}, "unknown"),
        ({"query": QUERY._replace(end=None)}, "unknown"),
        ({"query": QUERY._replace(start=6)}, "expired"),
        ({"query": QUERY._replace(start=6), "read": READ._replace(position=49)}, "expired"),
        ({"query": QUERY._replace(end=5)}, "lost"),
        ({"query": QUERY._replace(partition=1)}, "unknown"),
        ({"read": READ._replace(position=49)}, "unknown"),
        ({"read": READ._replace(position=49), "query": QUERY._replace(committed=5)}, "undelivered"),
        ({"read": READ._replace(group=1)}, "unknown"),
        ({"sent": MESSAGE._replace(offset=None)}, "unknown"),
        ({"sent": MESSAGE._replace(offset=None), "query": QUERY._replace(committed=9)}, "lost"),
        ({"dead": frozenset([4])}, "unknown"),
        ({"does": SUBSET, "appended": ()}, "unknown"),
        ({"does": SUBSET, "appended": (STOOD._replace(expected=None),)}, "unknown"),
        ({"does": SUBSET}, "lost"),
        ({"does": SUBSET, "appended": (STOOD._replace(expected=False), STOOD)}, "lost"),
    ],
)
def test_a_message_that_did_not_come(changes: dict[str, Any], wanted: str) -> None:
    """The query says whether it may still come, and the readers whether it came; below both it is lost."""
    assert counted(told([], **changes)) == {wanted: 1}


AGAIN, BESIDE = GOT._replace(poll=1, received_ns=30), GOT._replace(offset=41, received_ns=30)


@pytest.mark.parametrize(
    ("received", "changes", "wanted"),
    [
        ([GOT], {}, {"delivered_once": 1}),
        ([GOT, AGAIN], {}, {"duplicate_consumer": 1}),
        ([GOT, BESIDE], {}, {"duplicate_producer": 1, BY_PIPELINE: 1}),
        ([GOT, BESIDE], {"appended": (STOOD, STOOD._replace(offset=6))}, {"duplicate_producer": 1, AT_SOURCE: 1}),
        ([GOT, BESIDE], {"appended": ()}, {"duplicate_producer": 1}),
        ([GOT], {"does": SUBSET, "appended": (STOOD._replace(expected=False),)}, {DROPPED: 1, UNEXPECTED: 1}),
        ([], {"does": SUBSET, "appended": (STOOD._replace(expected=False),)}, {DROPPED: 1}),
        ([GOT], {"does": SUBSET, "appended": ()}, {"delivered_once": 1}),
        ([GOT._replace(intact=False)], {}, {"delivered_once": 1, "corrupt": 1}),
        ([GOT._replace(intact=False)], {"does": CHANGED}, {"delivered_once": 1}),
        ([GOT._replace(producer=None)], {}, {"lost": 1, "foreign": 1}),
        ([GOT._replace(seq=9)], {}, {"lost": 1, "unrecorded": 1}),
        ([GOT, BESIDE], {"does": AGGREGATE}, {}),
        ([GOT], {"sent": MESSAGE._replace(error="_MSG_TIMED_OUT")}, {"unacked_received": 1}),
        ([GOT], {"sent": SILENT}, {"fate_unknown": 1, "fate_unknown_received": 1, "unacked_received": 1}),
        ([GOT, BESIDE], {"sent": SILENT}, {"fate_unknown": 1, "fate_unknown_received": 1, "unacked_received": 1}),
        ([], {"sent": SILENT}, {"fate_unknown": 1, "unknown": 1}),
        ([], {"sent": SILENT, "does": SUBSET}, {"fate_unknown": 1, "unknown": 1}),
        ([GOT], {"sent": SILENT, "does": AGGREGATE}, {}),
    ],
)
def test_a_message_that_came(received: list[Received], changes: dict[str, Any], wanted: dict[str, int]) -> None:
    found = told(received, **changes)
    assert counted(found) == wanted
    assert found.run["received"] == len(received)


def test_a_message_of_unknown_fate_was_sent_when_the_stamp_of_what_came_out_says() -> None:
    """That decides its phase."""
    for measure, wanted in ((MeasureSpan(0, 11), 0), (MeasureSpan(11, 12), 1)):
        found = audit([SILENT], [GOT], [QUERY, READ], 0, measure, pipeline=SAME, appended=(STOOD,))
        assert found.measure["fate_unknown"] == wanted


def test_the_first_delivery_is_timed_and_every_output_of_several_messages() -> None:
    assert told([GOT, BESIDE]).timed == {GOT}
    outputs = told([GOT, BESIDE], does=AGGREGATE).timed
    assert {(row.topic, row.offset) for row in outputs} == {(1, 40), (1, 41)}


def test_order_is_that_within_one_partition_of_source_and_of_sink() -> None:
    """A later message at a smaller offset of the sink is out of order only where both came from one partition."""
    sent = [MESSAGE._replace(seq=seq, partition=partition, offset=seq) for seq, partition in ((0, 0), (1, 0), (2, 1))]
    orders = {(1, 0, 2): 1, (2, 0, 1): 0, (0, 1, 2): 0}
    for order, wanted in orders.items():
        received = [GOT._replace(seq=seq, offset=place) for place, seq in enumerate(order)]
        found = audit(sent, received, [QUERY, READ], 0, MeasureSpan(0, 100), pipeline=SAME)
        assert found.run["reordered"] == wanted, order


@pytest.mark.parametrize(
    ("block", "end", "empty"),
    [
        (LostBlock(4, 5), 9, True), (LostBlock(4, 6), 9, False), (LostBlock(8, None), 9, True),
        (LostBlock(7, None), 9, False), (LostBlock(7, None), None, False),
    ],
)  # fmt: skip
def test_a_block_without_an_offset_is_empty(block: LostBlock, end: int | None, empty: bool) -> None:
    assert block.is_empty(end) is empty
