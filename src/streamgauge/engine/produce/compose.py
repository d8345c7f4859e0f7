"""Messages, made in blocks: bodies from their source, stamps in front of them or apart, for headers."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from operator import concat
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain import stamp
from streamgauge.domain.blocks import Outgoing
from streamgauge.domain.errors import WorkerError
from streamgauge.domain.stamp import Stamps
from streamgauge.processes.functions import load_function
from streamgauge.scenario.model.content import (
    BodyKind,
    ConstantKey,
    ConstantPayload,
    Content,
    FromFile,
    Keys,
    MadePayload,
    Partition,
    RandomPayload,
    SequentialPayload,
    SingleContent,
    Sizes,
    UniformKeys,
    UserFunction,
    ZipfKeys,
)
from streamgauge.workload import payload
from streamgauge.workload.pacing import Int64s
from streamgauge.workload.payload import PayloadSource
from streamgauge.workload.payload.keys import (
    KeysOf,
    constant_keys,
    drawn_keys,
    listed_keys,
    sequential_keys,
    uniform,
    zipf,
)
from streamgauge.workload.payload.pool import Body, Crcs, Make
from streamgauge.workload.payload.sizes import Sizes as Draws
from streamgauge.workload.payload.sizes import drawn, law_of
from streamgauge.workload.payload.sources import one_by_one

FEW: Final = 6
"""Up to so many messages are made one by one: numpy's cost per call, some ten calls, would exceed theirs."""
LARGEST_IN_ARRAY: Final = 1_024
"""Values of up to so many bytes are put together in one array, larger ones each by itself, copied fewer times."""
_HEAD: Final = f"V{stamp.SIZE}"
_SIZES, _TURNS = 0x7369_7A65, 0x7475_726E
"""What is drawn, in the seed of each: no two kinds of draws share their numbers."""
_JOIN: Final[Any] = concat
_CRC_OF_NOTHING: Final = zlib.crc32(b"")

ReadEvents = Callable[[str, str | None], Sequence[bytes | None]]
"""(path, column) -> events in their order; raises BadInput."""
UserCall = Callable[..., object]
ARGUMENTS: Final = ("producer", "seq", "size", "seed")
"""What a user's payload function is called with; it returns bytes, text or None."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the messages of one producer are made of; plain values that can be sent to another process."""

    producer: int
    tag: int
    payload: Content
    size: Sizes
    seed: int
    in_headers: bool
    scheduled: bool
    keys: Keys = "none"
    topics: tuple[int, ...] = (0,)
    """Numbers of the topics that the messages go to in turn."""
    partition: Partition = "client"
    partitions: int = 1
    """Of each topic, for messages that go to all in turn."""
    producers: int = 1
    """Of the whole load: this one takes every so many-th event of a file."""
    read_events: ReadEvents | None = None
    """Reads files that payload or keys name; None where they name none."""


@dataclass(slots=True)
class Composer:
    """Makes the messages of one producer; keeps its source of bodies and the room for one block of stamps."""

    recipe: Recipe
    block: int
    _source: PayloadSource = field(init=False)
    _keys: KeysOf | None = field(init=False)
    _stamps: Stamps = field(init=False)
    _matrix: "_Matrix | None" = field(init=False)
    _is_routed: bool = field(init=False)

    def __post_init__(self) -> None:
        """Make source and room; raises BadInput for files and WorkerError for functions that cannot be used."""
        recipe = self.recipe
        self._source = _source(recipe)
        self._keys = _keys(recipe)
        self._stamps = stamp.blank(self.block, recipe.tag, recipe.producer, scheduled=recipe.scheduled)
        self._matrix = None if recipe.in_headers else _matrix(self._source, self.block)
        self._is_routed = bool(self._keys) or recipe.topics != (0,) or recipe.partition != "client"

    def compose(self, seqs: Int64s, due_ns: Int64s | None, sent_ns: int) -> Outgoing:
        """The messages `seqs`, at most `block` of them, sent now.

        The stamps are overwritten by the next call. Raises WorkerError where a user's function fails.
        """
        if len(seqs) <= FEW:
            return self._compose_few(seqs.tolist(), None if due_ns is None else due_ns.tolist(), sent_ns)
        stamps = self._stamps[: len(seqs)]
        stamps["seq"] = seqs
        stamps["due_ns"] = 0 if due_ns is None else due_ns
        stamps["sent_ns"] = sent_ns
        values: Sequence[Body]
        if self._matrix:
            values = self._matrix.values(seqs, stamps)
        else:
            bodies, stamps["crc"] = self._source.many(seqs)
            values = bodies if self.recipe.in_headers else list(map(_JOIN, stamps.view(_HEAD).tolist(), bodies))
        return self._routed(values, stamps, seqs.tolist()) if self._is_routed else Outgoing(values, stamps)

    def _compose_few(self, seqs: list[int], due_ns: list[int] | None, sent_ns: int) -> Outgoing:
        recipe, body_of = self.recipe, self._source.one
        in_headers = recipe.in_headers
        flags = 0 if recipe.scheduled else stamp.NO_SCHEDULE
        heads, values = [], []
        for place, seq in enumerate(seqs):
            body, crc = body_of(seq)
            due = due_ns[place] if due_ns else 0
            head = stamp.ONE.pack(
                stamp.MAGIC, stamp.VERSION, flags, recipe.tag, recipe.producer, crc, seq, due, sent_ns
            )
            heads.append(head)
            values.append(body if in_headers or body is None else head + body)
        stamps = stamp.decode(b"".join(heads))
        return self._routed(values, stamps, seqs) if self._is_routed else Outgoing(values, stamps)

    def _routed(self, values: Sequence[Body], stamps: Stamps, seqs: list[int]) -> Outgoing:
        """Messages with keys, topics and partitions."""
        recipe, topics = self.recipe, self.recipe.topics
        turns = len(topics)
        match recipe.partition:
            case "client":
                partitions = None
            case "round-robin":
                partitions = [(seq // turns + recipe.producer) % recipe.partitions for seq in seqs]
            case number:
                partitions = [number] * len(seqs)
        return Outgoing(
            values,
            stamps,
            keys=self._keys(seqs) if self._keys else None,
            topics=None if topics == (0,) else [topics[seq % turns] for seq in seqs],
            partitions=partitions,
        )


@dataclass(frozen=True, slots=True)
class _Matrix:
    """Stamps and small bodies of one size, put together in one array: cheaper than one value after the other."""

    pool: payload.Pool
    bodies: NDArray[np.uint8]
    room: NDArray[np.uint8]

    def values(self, seqs: Int64s, stamps: Stamps) -> list[bytes]:
        """Values of messages; puts their checksums into the stamps."""
        values, places = self.room[: len(seqs)], self.pool.place(seqs)
        stamps["crc"] = self.pool.crcs[places]
        values[:, : stamp.SIZE] = stamps.view(np.uint8).reshape(len(seqs), stamp.SIZE)
        values[:, stamp.SIZE :] = self.bodies[places]
        listed: list[bytes] = values.view(f"V{values.shape[1]}").ravel().tolist()
        return listed


def _matrix(source: PayloadSource, block: int) -> _Matrix | None:
    """The array for a pool of one small size; None for other sources."""
    if not isinstance(source, payload.Pool) or (bodies := source.matrix(LARGEST_IN_ARRAY - stamp.SIZE)) is None:
        return None
    return _Matrix(source, bodies, np.zeros((block, stamp.SIZE + bodies.shape[1]), np.uint8))


def _source(recipe: Recipe) -> PayloadSource:
    """Where the bodies of a producer come from."""
    content = recipe.payload
    if not isinstance(content, MadePayload) or content.weighted is None:
        return _single(recipe, content, recipe.size, 0)
    components = [
        _single(recipe, component.payload, recipe.size if component.size is None else component.size, number)
        for number, component in enumerate(content.weighted)
    ]
    percents = [component.percent for component in content.weighted]
    return payload.Weighted(components, payload.turns_of(percents, [recipe.seed, _TURNS, recipe.producer]))


def _single(recipe: Recipe, content: SingleContent, size: Sizes, component: int) -> PayloadSource:
    """Where the bodies of one kind come from; `component` is the number of the kind."""
    law, less = law_of(size), 0 if recipe.in_headers else stamp.SIZE
    seeds = (recipe.seed, _SIZES, recipe.producer, component)
    match content if isinstance(content, str) else content.chosen[1]:
        case "tombstone":
            return _pool([None], recipe)
        case "sequential":
            return payload.Sequential(0, drawn(law, seeds, less))
        case SequentialPayload(offset=offset):
            return payload.Sequential(offset, drawn(law, seeds, less))
        case FromFile() as file:
            return _pool(_events(recipe, file), recipe)
        case UserFunction(name=name):
            return _Calls(load_function(name, ARGUMENTS), name, recipe, drawn(law, seeds, less))
        case made:
            return payload.fill(_make(recipe, made), law, seeds, less)


def _make(recipe: Recipe, content: BodyKind | ConstantPayload | RandomPayload) -> Make:
    """How the bodies of a pool are made."""
    match content:
        case ConstantPayload(text=text):
            return lambda _index, size: payload.repeated(text, size)
        case RandomPayload(padding=padding):
            return lambda index, size: payload.padded(recipe.seed, recipe.producer, index, size, padding)
        case kind:
            return partial(payload.body, kind, recipe.seed, recipe.producer)


def _pool(bodies: Sequence[Body], recipe: Recipe) -> PayloadSource:
    """Bodies that are sent as they are."""
    if not recipe.in_headers and None in bodies:
        raise WorkerError("load.stamp: a tombstone has no value for a stamp; write `stamp: headers`")
    return payload.Pool(bodies)


def _keys(recipe: Recipe) -> KeysOf | None:
    """Which keys the messages of a producer have; None for none."""
    match recipe.keys if isinstance(recipe.keys, str) else recipe.keys.chosen[1]:
        case "none":
            return None
        case "sequential":
            return sequential_keys
        case ConstantKey(text=text):
            return constant_keys(text)
        case UniformKeys(keys=keys):
            return drawn_keys(uniform(keys), keys, recipe.seed, recipe.producer)
        case ZipfKeys(keys=keys, exponent=exponent):
            return drawn_keys(zipf(keys, exponent), keys, recipe.seed, recipe.producer)
        case file:
            return listed_keys(_events(recipe, file))


def _events(recipe: Recipe, file: FromFile) -> Sequence[Body]:
    """What a file holds for one producer."""
    if recipe.read_events is None:
        raise WorkerError(f"{file.path}: nobody here reads files")
    return payload.share_of(_read(recipe.read_events, file.path, file.column), recipe.producer, recipe.producers)


@lru_cache
def _read(read_events: ReadEvents, path: str, column: str | None) -> Sequence[Body]:
    """A file's events, held once for all producers of a process."""
    return read_events(path, column)


@dataclass(frozen=True, slots=True)
class _Calls:
    """Bodies from a user's function, asked for each message when it is sent."""

    function: UserCall
    name: str
    recipe: Recipe
    sizes: Draws

    def one(self, seq: int) -> tuple[Body, int]:
        """Body and checksum of a message; raises WorkerError where the function does not give one."""
        producer = self.recipe.producer
        try:
            made = self.function(producer, seq, self.sizes.of(seq), self.recipe.seed)
            body = made.encode() if isinstance(made, str) else made
        except Exception as error:
            raise self._failed(seq, f"{type(error).__name__}: {error}") from error
        if isinstance(body, bytes):
            return body, zlib.crc32(body)
        if body is not None:
            raise self._failed(seq, f"returned a value of type {type(body).__name__}, not bytes, text or None")
        if not self.recipe.in_headers:
            raise self._failed(seq, "returned None, which has no room for a stamp; write `stamp: headers`")
        return None, _CRC_OF_NOTHING

    def many(self, seqs: Int64s) -> tuple[Sequence[Body], Crcs]:
        """Bodies and checksums of messages."""
        return one_by_one(self, seqs)

    def _failed(self, seq: int, what: str) -> WorkerError:
        return WorkerError(f"{self.name}, message {seq} of producer {self.recipe.producer}: {what}")
