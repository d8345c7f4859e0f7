"""Where bodies and keys of messages come from."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final, Literal

from streamgauge.domain import clock, stamp
from streamgauge.domain.errors import WorkerError
from streamgauge.processes.functions import load_function
from streamgauge.workload import payload
from streamgauge.workload.pacing import Int64s
from streamgauge.workload.payload import PayloadSource
from streamgauge.workload.payload.described import Described, PlainContent, Portion
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
from streamgauge.workload.payload.sizes import Law, Sizes, Uniform, drawn
from streamgauge.workload.payload.sources import one_by_one

_CRC_OF_NOTHING: Final = zlib.crc32(b"")

ReadEvents = Callable[[str, str | None], Sequence[bytes | None]]
"""(path, column) -> events in their order; raises BadInput."""

UserCall = Callable[..., object]

ARGUMENTS: Final = ("producer", "seq", "size", "seed")
"""What a user's payload function is called with; it returns bytes, text or None."""

_SIZES, _TURNS = 0x7369_7A65, 0x7475_726E
"""What is random, in the seed of each: no two kinds of random numbers share theirs."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the messages of one producer are made of; plain values that can be sent to another process."""

    producer: int
    tag: int
    payload: PlainContent | tuple[Portion, ...]
    size: Law | int
    seed: int
    in_headers: bool
    scheduled: bool
    keys: PlainContent = "none"
    topics: tuple[int, ...] = (0,)
    """Numbers of the topics that the messages go to round robin."""
    partition: int | Literal["client", "round-robin"] = "client"
    partitions: int = 1
    """Of each topic, for messages that go to all of them round robin."""
    producers: int = 1
    """Of the whole load: this one takes every so many-th event of a file."""
    read_events: ReadEvents | None = None
    """Reads files that payload or keys name; None where they name none."""


def source_of(recipe: Recipe) -> PayloadSource:
    """Where the bodies of a producer come from."""
    content = recipe.payload
    if isinstance(content, str | Described):
        return _single(recipe, content, recipe.size, 0)
    components = [
        _single(recipe, portion.content, recipe.size if portion.size is None else portion.size, number)
        for number, portion in enumerate(content)
    ]
    percents = [portion.percent for portion in content]
    return payload.Weighted(components, payload.turns_of(percents, [recipe.seed, _TURNS, recipe.producer]))


def _single(recipe: Recipe, content: PlainContent, size: Law | int, component: int) -> PayloadSource:
    """Where the bodies of one kind come from; `component` is the number of the kind."""
    law = Uniform(size, size) if isinstance(size, int) else size
    less = 0 if recipe.in_headers else stamp.SIZE
    seeds = (recipe.seed, _SIZES, recipe.producer, component)
    match content:
        case "tombstone":
            return _pool([None], recipe)
        case "sequential" | Described("sequential", _):
            offset = 0 if isinstance(content, str) else content.options["offset"]
            return payload.Sequential(offset, drawn(law, seeds, less))
        case Described("file", file):
            return _pool(_events(recipe, **file), recipe)
        case Described("trogdor", {"generator": generator}):
            return payload.Generated(generator, clock.clock_pair().ahead_ns)
        case Described("function", {"name": name}):
            return _Calls(load_function(name, ARGUMENTS), name, recipe, drawn(law, seeds, less))
        case made:
            return payload.fill(_make(recipe, made), law, seeds, less)


def _make(recipe: Recipe, content: PlainContent) -> Make:
    """How the bodies of a pool are made."""
    match content:
        case Described("constant", {"text": text}):
            return lambda _index, size: payload.repeated(text, size)
        case Described("random", {"padding": padding}):
            return lambda index, size: payload.padded(recipe.seed, recipe.producer, index, size, padding)
        case str(kind):
            return partial(payload.body, kind, recipe.seed, recipe.producer)
        case unknown:
            raise ValueError(f"unknown content: {unknown}")


def _pool(bodies: Sequence[Body], recipe: Recipe) -> PayloadSource:
    """Bodies that are sent as they are."""
    if not recipe.in_headers and None in bodies:
        raise WorkerError("load.stamp: a tombstone has no value to stamp; write `stamp: headers`")
    return payload.Pool(bodies)


def keys_of(recipe: Recipe) -> KeysOf | payload.Generated | None:
    """Which keys the messages of a producer have; None for none.

    Raises ValueError for keys that are not known, and WorkerError for those of a file where nothing reads files.
    """
    match recipe.keys:
        case "none":
            return None
        case "sequential":
            return sequential_keys
        case Described("constant", {"text": text}):
            return constant_keys(text)
        case Described("uniform" | "zipf" as law, options):
            keys = options["keys"]
            draw = uniform(keys) if law == "uniform" else zipf(keys, options["exponent"])
            return drawn_keys(draw, keys, recipe.seed, recipe.producer)
        case Described("file", file):
            return listed_keys(_events(recipe, **file))
        case Described("trogdor", {"generator": generator}):
            return payload.Generated(generator, clock.clock_pair().ahead_ns)
        case unknown:
            raise ValueError(f"unknown keys: {unknown}")


def _events(recipe: Recipe, path: str, column: str | None) -> Sequence[Body]:
    """What a file holds for one producer."""
    if recipe.read_events is None:
        raise WorkerError(f"{path}: no file reader is available")
    return payload.share_of(_read(recipe.read_events, path, column), recipe.producer, recipe.producers)


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
    sizes: Sizes

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
            raise self._failed(seq, "returned None, which has no value to stamp; write `stamp: headers`")
        return None, _CRC_OF_NOTHING

    def many(self, seqs: Int64s) -> tuple[Sequence[Body], Crcs]:
        """Bodies and checksums of messages."""
        return one_by_one(self, seqs)

    def _failed(self, seq: int, what: str) -> WorkerError:
        return WorkerError(f"{self.name}, message {seq} of producer {self.recipe.producer}: {what}")
