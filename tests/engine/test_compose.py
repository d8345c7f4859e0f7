"""Messages in blocks are what one message after the other would be."""

import json
import pickle
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from streamgauge.domain import stamp
from streamgauge.domain.blocks import Outgoing
from streamgauge.domain.errors import WorkerError
from streamgauge.domain.stamp import Stamps
from streamgauge.engine.produce.compose import FEW, Composer
from streamgauge.engine.produce.sources import Recipe
from streamgauge.scenario.model.content import KINDS, BodyKind, Content, Keys, Sizes, needs_headers
from streamgauge.workload import payload
from streamgauge.workload.pacing import Int64s
from streamgauge.workload.payload import pool
from streamgauge.workload.payload.build import content_of, keys_of, law_of
from streamgauge.workload.payload.described import Described, Portion
from streamgauge.workload.payload.trogdor import PlainGenerator, bodies

CONTENT: TypeAdapter[Content] = TypeAdapter(Content)
SIZES: TypeAdapter[Sizes] = TypeAdapter(Sizes)
KEYS: TypeAdapter[Keys] = TypeAdapter(Keys)

LONGEST = 200
EVENTS = [b"first", None, b"", b"fourth", b"x" * 500]
FILE = {"file": {"path": "events", "column": "value"}}
FUNCTION = {"function": {"name": "user_events:plain"}}
RAGGED = {"uniform": {"from": 100, "to": 300}}
HELD = {"gaussian": {"mean": 300, "deviation": 20, "hold": 7}}
WEIGHTED = {
    "weighted": [
        {"percent": 50, "payload": "text"},
        {"percent": 20, "payload": "tombstone"},
        {"percent": 10, "payload": "sequential", "size": RAGGED},
        {"percent": 10, "payload": FILE},
        {"percent": 10, "payload": "json", "size": 20},
    ]
}
PAYLOADS: tuple[object, ...] = (
    *KINDS,
    {"constant": {"text": "abc"}},
    {"constant": {}},
    {"sequential": {"offset": 2**62}},
    {"random": {"padding": 10}},
    FILE,
    FUNCTION,
    WEIGHTED,
    {"weighted": [{"percent": 50, "payload": "mixed"}, {"percent": 50, "payload": "random", "size": 100}]},
)
ALL_KEYS: tuple[object, ...] = (
    "none",
    "sequential",
    {"constant": {"text": "k"}},
    {"uniform": {"keys": 100_000}},
    {"zipf": {"keys": 100, "exponent": 1.1}},
    FILE,
)
USER_EVENTS = """
from functools import partial

def plain(producer, seq, size, seed):
    return None if seq % 5 == 0 else f"{producer}/{seq}/{size}/{seed}" if seq % 2 else bytes(size)

def number(producer, seq, size, seed):
    return seq

def fails(producer, seq, size, seed):
    return b"x" if seq < 3 else {}["nothing"]

def needs_more(producer, seq, size, seed, more):
    return b""

class Events:
    @staticmethod
    def of_a_class(*args):
        return b"x"

constant = 5
native = int.from_bytes
"""


def read_events(path: str, column: str | None) -> Sequence[bytes | None]:
    assert (path, column) == ("events", "value")
    return EVENTS


def recipe(content: object = "mixed", size: object = 300, **more: Any) -> Recipe:
    chosen, sizes = CONTENT.validate_python(content), SIZES.validate_python(size)
    fields = {"in_headers": needs_headers(chosen, sizes), "scheduled": True, "read_events": read_events, **more}
    fields["keys"] = keys_of(fields.get("keys", "none"))
    made = content_of(chosen), law_of(sizes)
    return Recipe(fields.pop("producer", 3), 7, *made, fields.pop("seed", 42), **fields)


def made(composer: Composer, seqs: Int64s, due_ns: Int64s | None, sent_ns: int) -> tuple[list[bytes], Stamps]:
    block = composer.compose(seqs, due_ns, sent_ns)
    return [value for value in block.values if value is not None], block.stamps


def columns(blocks: Sequence[Outgoing]) -> list[Any]:
    """All that the blocks say, together."""
    return [
        [value for block in blocks for value in block.values],
        b"".join(block.stamps.tobytes() for block in blocks),
        *(
            [each for column in parts if column is not None for each in column]
            for parts in zip(*((block.keys, block.topics, block.partitions) for block in blocks), strict=True)
        ),
    ]


@pytest.fixture(autouse=True, scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Pools that are made quickly, and a user's module where Python finds it."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "user_events.py").write_text(USER_EVENTS)
    (folder / "user_broken.py").write_text("import nothing_of_this_name\n")
    (folder / "user_exits.py").write_text("raise SystemExit(3)\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "LONGEST_PERIOD", LONGEST)
        patch.setattr(pool, "LONGEST_RAGGED_PERIOD", 4 * LONGEST)
        patch.setattr(sys, "path", [str(folder), *sys.path])
        patch.setattr(sys, "dont_write_bytecode", True)
        yield
    sys.modules.pop("user_events", None)


@pytest.mark.parametrize("kind", ["mixed", "zeros", "logline"])
@pytest.mark.parametrize("size", [40, 41, 512, 20_000])
@pytest.mark.slow
def test_a_value_is_stamp_and_body(kind: BodyKind, size: int) -> None:
    """Body and checksum follow from (seed, producer, sequence), also after the pool has begun anew."""
    composer = Composer(Recipe(3, 7, kind, size, 42, in_headers=False, scheduled=True), 10)
    period = payload.period_of(size - stamp.SIZE, LONGEST)
    seqs = np.array([0, 5, period, period + 5, 10**12, 1, 2, 3])

    values, _ = made(composer, seqs, seqs * 10, 99)

    for seq, value in zip(seqs.tolist(), values, strict=True):
        head = stamp.decode(value[: stamp.SIZE])[0]
        body = value[stamp.SIZE :]
        assert len(value) == size
        assert body == payload.body(kind, 42, 3, seq % period, size - stamp.SIZE)
        assert (head["seq"], head["due_ns"], head["sent_ns"], head["tag"], head["producer"]) == (
            seq,
            seq * 10,
            99,
            7,
            3,
        )
        assert head["crc"] == zlib.crc32(body)
        assert head["flags"] == 0


@pytest.mark.parametrize("size", [0, 1, 39, 300])
def test_in_headers_the_value_is_the_body(size: int) -> None:
    """Untouched, and the checksum covers all of it."""
    composer = Composer(Recipe(0, 7, "text", size, 1, in_headers=True, scheduled=False), 10)

    values, stamps = made(composer, np.arange(10), None, 5)

    for place, value in enumerate(values):
        assert value == payload.body("text", 1, 0, place, size)
        assert stamps["crc"][place] == zlib.crc32(value)
    assert set(stamps["flags"].tolist()) == {stamp.NO_SCHEDULE}


def test_a_block_may_be_smaller_than_the_last() -> None:
    """What an earlier block left behind is not seen."""
    composer = Composer(Recipe(0, 7, "random", 64, 1, in_headers=False, scheduled=True), 2 * FEW)
    composer.compose(np.arange(2 * FEW), np.arange(2 * FEW), 1)

    for count in (1, FEW + 1):
        values, stamps = made(composer, np.arange(100, 100 + count), np.arange(count), 2)

        assert len(values) == len(stamps) == count
        assert [stamp.decode(value[: stamp.SIZE])["seq"][0] for value in values] == list(range(100, 100 + count))


@settings(max_examples=60, deadline=None)
@given(
    content=st.sampled_from(PAYLOADS),
    size=st.sampled_from([512, 300, RAGGED, HELD]),
    keys=st.sampled_from(ALL_KEYS),
    seqs=st.lists(st.integers(0, 2**62), min_size=FEW + 1, max_size=3 * FEW, unique=True),
    scheduled=st.booleans(),
    in_headers=st.booleans(),
    topics=st.sampled_from([(0,), (2,), (0, 1, 2)]),
    partition=st.sampled_from(["client", "round-robin", 4]),
)
@pytest.mark.slow
def test_one_by_one_and_in_a_block_are_the_same(
    content: object, size: object, keys: object, seqs: list[int], in_headers: bool, **more: Any
) -> None:
    """Few messages are made without numpy, a run is made again from its seed: nobody can tell."""
    needed = recipe(content, size).in_headers
    made_of = recipe(content, size, in_headers=in_headers or needed, keys=KEYS.validate_python(keys), **more)
    first, again = Composer(made_of, 3 * FEW), Composer(pickle.loads(pickle.dumps(made_of)), 3 * FEW)
    numbers = np.array(seqs, np.int64)

    block = columns([first.compose(numbers, numbers // 3, 77)])
    apart = columns([again.compose(numbers[at : at + 1], numbers[at : at + 1] // 3, 77) for at in range(len(seqs))])

    assert apart == block


@pytest.mark.parametrize("content", PAYLOADS, ids=str)
@pytest.mark.parametrize("size", [512, RAGGED, HELD, 5], ids=str)
def test_checksums_cover_what_a_consumer_checks(content: object, size: object) -> None:
    """The value without its stamp; a tombstone's is that of no bytes."""
    made_of = recipe(content, size)

    block = Composer(made_of, 200).compose(np.arange(200), None, 5)

    head = 0 if made_of.in_headers else stamp.SIZE
    assert [zlib.crc32((value or b"")[head:]) for value in block.values] == block.stamps["crc"].tolist()
    if head:
        assert b"".join(value[:head] for value in block.values if value) == block.stamps.tobytes()


@pytest.mark.parametrize("in_headers", [False, True])
@pytest.mark.parametrize("content", ["mixed", "sequential", {"constant": {"text": "abc"}}])
def test_sizes_are_those_that_were_asked_for(content: object, in_headers: bool) -> None:
    """With the stamp in the value or beside it; held as long as they should be."""
    gaussian = Composer(recipe(content, HELD, in_headers=in_headers), 7_000).compose(np.arange(7_000), None, 5)
    sizes = [len(value) for value in gaussian.values if value is not None]

    assert np.mean(sizes) == pytest.approx(300, abs=2)
    assert np.std(sizes) == pytest.approx(20, rel=0.1)
    assert all(len(set(sizes[at : at + 7])) == 1 for at in range(0, 7_000, 7))
    assert len(set(sizes[::7])) > 30
    uniform = Composer(recipe(content, RAGGED, in_headers=in_headers), 7_000).compose(np.arange(7_000), None, 5)
    assert {len(value) for value in uniform.values if value is not None} == set(range(100, 301))


@pytest.mark.parametrize("count", [FEW, 3 * FEW])
def test_positions_are_counted_from_the_offset(count: int) -> None:
    """Behind the stamp, and within the size that was asked for."""
    made_of = recipe({"sequential": {"offset": 1000}}, 50)

    values, _ = made(Composer(made_of, count), np.arange(5, 5 + count), None, 5)

    assert {len(value) for value in values} == {50}
    assert [int.from_bytes(value[stamp.SIZE :], "little") for value in values] == list(range(1005, 1005 + count))


def test_json_stays_json() -> None:
    """In a header the stamp leaves it whole, whatever its size."""
    block = Composer(recipe("json", {"uniform": {"from": 2, "to": 600}}), 500).compose(np.arange(500), None, 5)

    assert all(isinstance(json.loads(value or b""), dict) for value in block.values)
    assert len(set(block.values)) > 350


def test_components_have_their_shares_and_sizes() -> None:
    """50 text, 20 tombstone, 10 position, 10 from a file, 10 json."""
    count = 100_000
    block = Composer(recipe(WEIGHTED, 40), count).compose(np.arange(count), None, 5)

    sizes = Counter(None if value is None else len(value) for value in block.values)
    from_file = count * 0.1 / len(EVENTS)
    assert sizes[None] == pytest.approx(count * 0.2 + from_file, rel=0.05)
    assert sizes[40] == count * 0.5
    assert sizes[20] == count * 0.1
    assert sum(sizes[size] for size in range(100, 301)) == count * 0.1
    assert sizes[500] == pytest.approx(from_file, rel=0.1)


def test_producers_share_the_events_of_a_file() -> None:
    """In their order; values and keys of one file stay together."""
    keys = KEYS.validate_python(FILE)
    blocks = [
        Composer(recipe(FILE, producer=producer, producers=2, keys=keys), 10).compose(np.arange(10), None, 5)
        for producer in range(2)
    ]

    sent = [value for pair in zip(*(block.values for block in blocks), strict=True) for value in pair]
    assert sent == EVENTS * 4
    assert [block.keys for block in blocks] == [block.values for block in blocks]


def test_a_file_needs_somebody_who_reads_it() -> None:
    """And a tombstone among its events needs a stamp beside it."""
    with pytest.raises(WorkerError, match="events: no file reader is available"):
        Composer(recipe(FILE, read_events=None), 10)
    with pytest.raises(WorkerError, match="a tombstone has no value to stamp; write `stamp: headers`"):
        Composer(recipe(FILE, in_headers=False), 10)


def test_messages_go_to_topics_and_partitions_in_turn() -> None:
    """Producers begin at different partitions; what is not asked for is not there."""
    plain = Composer(recipe(), 12).compose(np.arange(12), None, 5)
    one = Composer(recipe(topics=(2,), partition=5), 12).compose(np.arange(12), None, 5)
    spread = Composer(recipe(topics=(4, 1, 9), partition="round-robin", partitions=3), 12).compose(
        np.arange(12), None, 5
    )

    assert (plain.keys, plain.topics, plain.partitions) == (None, None, None)
    assert (one.topics, one.partitions) == ([2] * 12, [5] * 12)
    assert spread.topics == [4, 1, 9] * 4
    assert spread.partitions == [0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0]
    other = Composer(recipe(producer=4, partition="round-robin", partitions=3), 3).compose(np.arange(3), None, 5)
    assert (other.topics, other.partitions) == (None, [1, 2, 0])


def test_a_users_function_makes_the_values() -> None:
    """It is told producer, sequence, size and seed."""
    block = Composer(recipe(FUNCTION, RAGGED), 10).compose(np.arange(1, 8), None, 5)

    sizes = [len(value) for value in block.values[1:4:2] if value is not None]
    assert all(100 <= size <= 300 for size in sizes)
    assert block.values[4] is None
    producer, seq, size, seed = (block.values[0] or b"").decode().split("/")
    assert (producer, seq, seed) == ("3", "1", "42")
    assert 100 <= int(size) <= 300


@pytest.mark.parametrize(
    ("name", "first", "message"),
    [
        ("number", 0, "user_events:number, message 0 of producer 3: returned a value of type int, not bytes, text or"),
        ("fails", 1, "user_events:fails, message 3 of producer 3: KeyError: 'nothing'"),
        ("plain", 1, "user_events:plain, message 5 of producer 3: returned None, which has no value to stamp"),
    ],
)
@pytest.mark.parametrize("count", [FEW, 3 * FEW])
def test_a_function_that_fails_is_named_with_its_message(name: str, first: int, message: str, count: int) -> None:
    """What it did, for which message; one by one and in a block."""
    composer = Composer(recipe({"function": {"name": f"user_events:{name}"}}, 100, in_headers=False), count)

    with pytest.raises(WorkerError) as caught:
        composer.compose(np.arange(first, first + count), None, 5)

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nothing_of_this_name:f", "cannot be imported: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("user_broken:f", "cannot be imported: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("user_exits:f", "cannot be imported: SystemExit: 3"),
        ("user_events:other", "cannot be imported: AttributeError: module 'user_events' has no attribute 'other'"),
        ("user_events:constant", "a value of type int, not a function"),
        (
            "user_events:needs_more",
            "cannot be called with (producer, seq, size, seed): missing a required argument: 'more'",
        ),
    ],
)
def test_why_a_function_cannot_be_used(name: str, reason: str) -> None:
    """Before anything starts."""
    with pytest.raises(WorkerError) as caught:
        Composer(recipe({"function": {"name": name}}), 10)

    assert str(caught.value) == f"{name}: {reason}"


def test_a_generator_of_trogdor_is_sent_as_it_is() -> None:
    """Values and keys begin with the time of sending, also those of a share of the messages; few and many alike."""
    timed = PlainGenerator("timestampRandom", 12, seed=7)
    for count in (2, 50):
        made = composed_with(count, Described("trogdor", {"generator": timed}), at_ns=5 * 10**18)
        values = [value or b"" for value in made.values]
        assert {value[:8] for value in values} == set(made.keys or [])
        assert [value[8:] for value in values] == [(body or b"")[8:] for body in bodies(timed, np.arange(count))]
        assert made.stamps["crc"].tolist() == [zlib.crc32(value) for value in values]

    weighted = (Portion(50.0, Described("trogdor", {"generator": timed}), None), Portion(50.0, "tombstone", None))
    values = [value for value in composed_with(40, weighted, at_ns=5 * 10**18).values if value]
    assert len({value[:8] for value in values}) == 1
    assert int.from_bytes(values[0][:8], "little") > 5 * 10**12


def composed_with(count: int, payload: Any, at_ns: int) -> Outgoing:
    keys = Described("trogdor", {"generator": PlainGenerator("timestampConstant", 8)})
    recipe = Recipe(0, 1, payload, 0, seed=1, in_headers=True, scheduled=False, keys=keys)
    return Composer(recipe, 64).compose(np.arange(count), None, at_ns)
