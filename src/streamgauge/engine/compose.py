"""Values of messages, made in blocks: body from the pool, stamp in front (or apart, for headers)."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain import payload, stamp
from streamgauge.domain.blocks import Outgoing
from streamgauge.domain.pacing import Int64s
from streamgauge.domain.payload import PayloadKind
from streamgauge.domain.stamp import Stamps

FEW: Final = 6
"""Up to so many messages are made one by one: numpy's cost per call, some ten calls, would exceed theirs."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the messages of one producer are made of."""

    producer: int
    tag: int
    kind: PayloadKind
    size_bytes: int
    seed: int
    in_headers: bool
    scheduled: bool


@dataclass(slots=True)
class Composer:
    """Makes the messages of one producer; keeps its pool and the room for one block."""

    recipe: Recipe
    block: int
    _pool: payload.Pool = field(init=False)
    _stamps: Stamps = field(init=False)
    _values: NDArray[np.uint8] = field(init=False)
    _head: int = field(init=False)

    def __post_init__(self) -> None:
        """Make pool and room."""
        recipe = self.recipe
        self._head = 0 if recipe.in_headers else stamp.SIZE
        self._pool = payload.pool(recipe.kind, recipe.seed, recipe.producer, recipe.size_bytes - self._head)
        self._stamps = stamp.blank(self.block, recipe.tag, recipe.producer, scheduled=recipe.scheduled)
        self._values = np.zeros((self.block, recipe.size_bytes), np.uint8)

    def compose(self, seqs: Int64s, due_ns: Int64s | None, sent_ns: int) -> Outgoing:
        """The messages `seqs`, at most `block` of them, sent now.

        The stamps are overwritten by the next call.
        """
        if len(seqs) <= FEW:
            return self._compose_few(seqs.tolist(), None if due_ns is None else due_ns.tolist(), sent_ns)
        count = len(seqs)
        stamps = self._stamps[:count]
        stamps["seq"] = seqs
        stamps["due_ns"] = 0 if due_ns is None else due_ns
        stamps["sent_ns"] = sent_ns
        places = seqs % self._pool.period
        stamps["crc"] = self._pool.crcs[places]
        if self.recipe.size_bytes == 0:
            return Outgoing([b""] * count, stamps)
        values = self._values[:count]
        if self._head:
            values[:, : self._head] = stamps.view(np.uint8).reshape(count, self._head)
        values[:, self._head :] = self._pool.bodies[places]
        # A list of bytes in one call: four times cheaper than slicing one value after the other.
        return Outgoing(values.view(f"V{self.recipe.size_bytes}").ravel().tolist(), stamps)

    def _compose_few(self, seqs: list[int], due_ns: list[int] | None, sent_ns: int) -> Outgoing:
        recipe, pool = self.recipe, self._pool
        flags = 0 if recipe.scheduled else stamp.NO_SCHEDULE
        heads, values = [], []
        for place, seq in enumerate(seqs):
            body = seq % pool.period
            due = due_ns[place] if due_ns else 0
            head = stamp.ONE.pack(
                stamp.MAGIC, stamp.VERSION, flags, recipe.tag, recipe.producer, pool.crcs.item(body), seq, due, sent_ns
            )
            heads.append(head)
            values.append(head + pool.bodies[body].tobytes() if self._head else pool.bodies[body].tobytes())
        return Outgoing(values, stamp.decode(b"".join(heads)))
