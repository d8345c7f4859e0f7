"""Stages add up whatever is not known, and every offset finds the batches that held it."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.pipeline.stream.stages import (
    BATCH,
    DUE,
    EDGES,
    RECEIVED,
    SENT,
    SINK,
    SOURCE,
    WHOLE,
    Advanced,
    began_ms,
    block_bits,
    blocks,
    segments,
    stages,
)


@given(st.sets(st.sampled_from(EDGES[:-1])))
def test_stages_follow_each_other_from_the_first_edge_that_is_known_to_the_last(missing: set[str]) -> None:
    found = stages({edge: f"no {edge}" for edge in missing})
    present = [each for each in found[:-1] if each.absent is None]
    known = [edge for edge in EDGES if edge not in missing]
    assert [each.begin for each in present] == known[:-1]
    assert [each.end for each in present] == known[1:]
    whole = found[-1]
    assert (whole.name, whole.begin, whole.end) == (WHOLE, known[0], RECEIVED)
    assert all(each.absent == f"no {each.end}" for each in found[:-1] if each.end in missing)


@pytest.mark.parametrize(
    ("missing", "stage", "begin", "error_ms"),
    [
        ((), "stage_process", BATCH, 1.0),
        ((BATCH,), "stage_process", SOURCE, 1.0),
        ((BATCH, SOURCE, SINK), "stage_deliver", SENT, 0.0),
        ((DUE,), WHOLE, SENT, 0.0),
        ((), "stage_schedule", DUE, 0.0),
    ],
)
def test_a_stage_begins_at_the_last_edge_that_is_known(
    missing: tuple[str, ...], stage: str, begin: str, error_ms: float
) -> None:
    (found,) = [each for each in stages(dict.fromkeys(missing, "why")) if each.name == stage]
    assert (found.begin, found.error_ms) == (begin, error_ms)


@pytest.mark.parametrize(
    ("missing", "stage", "rounding"),
    [
        ((), "stage_schedule", (0, 0, False)),
        ((), "stage_produce", (0, 1_000_000, True)),
        ((), "stage_wait", (1_000_000, 1_000_000, True)),
        ((), "stage_deliver", (1_000_000, 0, True)),
        ((), WHOLE, (0, 0, False)),
        ((DUE,), "stage_produce", (0, 1_000_000, False)),
        ((DUE,), "stage_deliver", (1_000_000, 0, True)),
    ],
)
def test_edges_are_rounded_down_and_all_but_the_first_move(
    missing: tuple[str, ...], stage: str, rounding: tuple[int, int, bool]
) -> None:
    known = {each.name: each for each in stages(dict.fromkeys(missing, "why"))}

    assert known[stage].rounding(known[WHOLE].begin) == rounding


ADVANCES = st.lists(
    st.builds(
        lambda began, partition, first, length: Advanced(began, partition, first, first + length),
        st.integers(0, 5), st.integers(0, 1), st.integers(0, 30), st.integers(0, 12),
    ),
    max_size=12,
)  # fmt: skip


@given(ADVANCES)
def test_every_offset_is_in_one_segment_with_all_batches_that_held_it(advances: list[Advanced]) -> None:
    """And in exactly one block in which it is looked for, of any size."""
    held: dict[tuple[int, int], list[int]] = defaultdict(list)
    for each in set(advances):
        for offset in range(each.from_offset, each.to_offset):
            held[each.partition, offset].append(each.began_ms)
    found = segments(advances)
    told = {(each.partition, at): each.began_ms for each in found for at in range(each.from_offset, each.to_offset)}
    assert told == {place: tuple(sorted(begun)) for place, begun in held.items()}
    assert len(told) == sum(each.to_offset - each.from_offset for each in found)
    for bits in (0, 2, block_bits(found)):
        looked = [
            (each.partition, at)
            for block, each in blocks(found, bits)
            for at in range(each.from_offset, each.to_offset)
            if at >> bits == block
        ]
        assert sorted(looked) == sorted(told)


@given(ADVANCES)
def test_messages_meet_few_segments_however_unequal_these_are(advances: list[Advanced]) -> None:
    found = segments(advances)
    bits = block_bits(found)
    messages = sum(each.to_offset - each.from_offset for each in found)
    of_block: dict[tuple[int, int], int] = defaultdict(int)
    for block, each in blocks(found, bits):
        of_block[each.partition, block] += 1
    met = sum(of_block[each.partition, at >> bits] for each in found for at in range(each.from_offset, each.to_offset))
    assert met <= 4 * messages


@pytest.mark.parametrize(
    ("begun", "appended", "wanted"),
    [([5], 9, 5), ([5, 7], 6, 5), ([5, 7], 7, 7), ([5, 7], 4, 5), ([5, 7], None, 7)],
)
def test_the_batch_that_wrote_a_message_is_the_last_that_began_before(
    begun: list[int], appended: int | None, wanted: int
) -> None:
    assert began_ms(begun, appended) == wanted
