"""Messages, made in blocks: bodies from their source, stamps in front of them or apart, for headers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import concat
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain import stamp
from streamgauge.domain.blocks import Outgoing
from streamgauge.domain.stamp import Stamps
from streamgauge.engine.produce.sources import Recipe, keys_of, source_of
from streamgauge.workload import payload
from streamgauge.workload.pacing import Int64s
from streamgauge.workload.payload import PayloadSource
from streamgauge.workload.payload.keys import (
    KeysOf,
)
from streamgauge.workload.payload.pool import Body

FEW: Final = 6
"""Up to so many messages are made one by one: numpy's cost per call, some ten calls, would exceed theirs."""

LARGEST_IN_ARRAY: Final = 1_024
"""Values of up to so many bytes are put together in one array, larger ones each by itself, copied fewer times."""

_HEAD: Final = f"V{stamp.SIZE}"

_JOIN: Final[Any] = concat


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
    _timed: list[payload.Generated] = field(init=False)
    """What begins with the time of sending, so that it is made for it."""

    def __post_init__(self) -> None:
        """Make source and room; raises BadInput for files and WorkerError for functions that cannot be used."""
        recipe = self.recipe
        self._source = source_of(recipe)
        keys = keys_of(recipe)
        self._keys = keys.keys if isinstance(keys, payload.Generated) else keys
        parts = self._source.components if isinstance(self._source, payload.Weighted) else [self._source]
        self._timed = [
            each for each in (*parts, keys) if isinstance(each, payload.Generated) and each.generator.is_timed
        ]
        self._stamps = stamp.blank(self.block, recipe.tag, recipe.producer, scheduled=recipe.scheduled)
        self._matrix = None if recipe.in_headers else _matrix(self._source, self.block)
        self._is_routed = bool(self._keys) or recipe.topics != (0,) or recipe.partition != "client"

    def compose(self, seqs: Int64s, due_ns: Int64s | None, sent_ns: int) -> Outgoing:
        """The messages `seqs`, at most `block` of them, sent now.

        The stamps are overwritten by the next call. Raises WorkerError where a user's function fails.
        """
        for each in self._timed:
            each.at(sent_ns)
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
        topic_count = len(topics)
        match recipe.partition:
            case "client":
                partitions = None
            case "round-robin":
                partitions = [(seq // topic_count + recipe.producer) % recipe.partitions for seq in seqs]
            case number:
                partitions = [number] * len(seqs)
        return Outgoing(
            values,
            stamps,
            keys=self._keys(seqs) if self._keys else None,
            topics=None if topics == (0,) else [topics[seq % topic_count] for seq in seqs],
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
