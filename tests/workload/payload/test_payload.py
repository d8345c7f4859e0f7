"""Bodies are functions of (seed, producer, index)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.scenario.model.content import KINDS, BodyKind, PayloadKind
from streamgauge.workload import payload
from streamgauge.workload.payload import MIXED

KINDS_OF_BODIES: tuple[BodyKind, ...] = ("random", "zeros", "text", "json", "logline", "mixed")
kinds = st.sampled_from(KINDS_OF_BODIES)


def test_all_kinds_are_known() -> None:
    """Those with bodies from a pool, and the others."""
    others: tuple[PayloadKind, ...] = ("sequential", "tombstone")

    assert KINDS_OF_BODIES + others == KINDS


@given(kind=kinds, size=st.integers(0, 3000), index=st.integers(0, 5000))
def test_a_body_has_exactly_the_asked_size(kind: BodyKind, size: int, index: int) -> None:
    """Whatever the kind."""
    assert size == len(payload.body(kind, 1, 0, index, size))


@given(kind=kinds, seed=st.integers(0, 2**62), producer=st.integers(0, 300), index=st.integers(0, 4000))
def test_the_same_position_has_the_same_body(kind: BodyKind, seed: int, producer: int, index: int) -> None:
    """Asked twice, in any order, alone or in a pool."""
    assert payload.body(kind, seed, producer, index, 200) == payload.body(kind, seed, producer, index, 200)


@pytest.mark.parametrize("kind", ["text", "json", "logline", "random"])
def test_different_positions_differ(kind: BodyKind) -> None:
    """Seed, producer and sequence each change the content."""
    bodies = {payload.body(kind, seed, producer, i, 300) for seed in (1, 2) for producer in (0, 1) for i in range(50)}

    assert len(bodies) == 200


@given(size=st.integers(2, 2000), index=st.integers(0, 4000))
def test_json_is_json(size: int, index: int) -> None:
    """At every size that can hold an object."""
    assert isinstance(json.loads(payload.body("json", 5, 1, index, size)), dict)


def test_mixed_takes_the_kinds_in_turn() -> None:
    """By (producer << 32 | index) mod 5."""
    for index in range(11):
        kind = MIXED[((3 << 32) | index) % 5]
        assert payload.body("mixed", 42, 3, index, 100) == payload.body(kind, 42, 3, index, 100)


@given(size=st.integers(0, 100), padding=st.integers(0, 100), index=st.integers(1, 4000))
def test_padding_is_the_same_in_all_bodies_of_a_producer(size: int, padding: int, index: int) -> None:
    """And what is before it is not."""
    first, other, elsewhere = (payload.padded(7, *each, size, padding) for each in ((1, 0), (1, index), (2, index)))
    fixed = min(padding, size)

    assert len(first) == len(other) == size
    assert first[size - fixed :] == other[size - fixed :]
    if size - fixed >= 8:
        assert first[: size - fixed] != other[: size - fixed]
    if fixed >= 8:
        assert other[-fixed:] != elsewhere[-fixed:]


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [("abc", 7, b"abcabca"), ("abc", 2, b"ab"), ("abc", 0, b""), (None, 3, bytes(3)), ("ü", 3, b"\xc3\xbc\xc3")],
)
def test_a_text_is_repeated_to_the_size(text: str | None, size: int, expected: bytes) -> None:
    """Zeros where there is none."""
    assert expected == payload.repeated(text, size)
