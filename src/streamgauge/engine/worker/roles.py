"""What the workers of a run do: one job for each role, each with the clients that it opens."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT64, ClientSpec, Place
from streamgauge.engine.board import Cell, Order, Slot
from streamgauge.engine.consume.buffer import REDELIVERING
from streamgauge.engine.consume.loop import Consumer, ConsumerSinks, Consuming, Reading, consume_all
from streamgauge.engine.ports.clients import (
    OpenProducer,
    OpenReader,
    ProducerClient,
    Reader,
)
from streamgauge.engine.ports.rows import Sink
from streamgauge.engine.produce.compose import Composer
from streamgauge.engine.produce.labelled import LabelledSink
from streamgauge.engine.produce.loop import LARGEST_BLOCK, Producer, Sending
from streamgauge.engine.produce.round_robin import run_round_robin
from streamgauge.engine.produce.sent import ProducerSinks
from streamgauge.engine.produce.sources import Recipe
from streamgauge.engine.produce.throttle import Throttle
from streamgauge.engine.worker.context import Context


@dataclass(frozen=True, slots=True)
class ProducerMember:
    """One producer: its client, what it sends, and how."""

    client: ClientSpec
    recipe: Recipe
    sending: Sending

    @property
    def number(self) -> int:
        """The number of the producer."""
        return self.recipe.producer


@dataclass(frozen=True, slots=True)
class ProducerJob:
    """Send a load, by one producer or by several round robin."""

    open_client: OpenProducer
    members: tuple[ProducerMember, ...]
    held_back: bool = False
    """Whether a policy lets messages go."""

    def run(self, context: Context) -> None:
        """Send what is due between start and end of the load."""
        with contextlib.ExitStack() as stack:
            told = stack.enter_context(context.sink("client", {}))
            sinks = self._sinks(context, stack)
            producers = [
                self._producer(context, place, member, sinks, stack) for place, member in enumerate(self.members)
            ]
            context.ready()
            context.await_go()
            times = context.times()
            if len(producers) == 1:
                producers[0].run(times)
            else:
                run_round_robin(producers, times)
            for producer in producers:
                _record_statistics(told, producer.client)

    def _producer(
        self, context: Context, place: int, member: ProducerMember, sinks: ProducerSinks, stack: contextlib.ExitStack
    ) -> Producer:
        client = stack.enter_context(contextlib.closing(self.open_client(member.client)))
        labels = {"producer": member.number} | ({"topic": member.recipe.topics[0]} if not self._one_topic else {})
        return Producer(
            client,
            Composer(member.recipe, LARGEST_BLOCK),
            sinks if len(self.members) == 1 else sinks.labelled(labels),
            context.slots[place],
            context.latencies(place),
            context.order,
            member.sending,
            throttle=Throttle(context.slots[place]) if self.held_back else None,
        )

    def _sinks(self, context: Context, stack: contextlib.ExitStack) -> ProducerSinks:
        """The sinks that the producers of this process share; what is the same in all rows is said once."""
        first, sending = self.members[0], self.members[0].sending
        who = {"producer": first.number} if len(self.members) == 1 else {}
        where = {"topic": first.recipe.topics[0]} if self._one_topic else {}
        absent: dict[str, None] = {} if sending.transactions else {"transaction": None}
        absent |= {} if self.held_back else {"admitted_ns": None}

        def sink(kind: str, constants: Mapping[str, int | str | None], wanted: object) -> Sink | None:
            return stack.enter_context(context.sink(kind, constants)) if wanted else None

        return ProducerSinks(
            sent=stack.enter_context(context.sink("sent", {**who, **where, **absent})),
            batches=sink("batches", who, sending.flush),
            transactions=sink("transactions", who, sending.transactions),
            attempts=sink("resends", {**who, **where}, sending.resend),
        )

    @property
    def _one_topic(self) -> bool:
        """Whether all messages of this process go to one topic."""
        return len({member.recipe.topics for member in self.members}) == 1 and len(self.members[0].recipe.topics) == 1


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """One consumer: its client, how it reads stamps, and how it consumes."""

    client: ClientSpec
    reading: Reading
    consuming: Consuming
    group: int
    number: int


@dataclass(frozen=True, slots=True)
class ConsumerJob:
    """Read topics, by one consumer or by several round robin."""

    open_reader: OpenReader
    members: tuple[ConsumerMember, ...]
    hold: bool
    """Whether to take no message before the start: where a topic is already full."""
    tells_progress: bool = False
    """Whether a policy wants to know at once how far each consumer is."""
    redelivers: bool = False
    """Whether messages are acknowledged one by one."""
    shares: bool = False
    """Whether these are members of share groups, which have no positions."""

    def run(self, context: Context) -> None:
        """Consume until the run is over; at the end write the positions and leave the groups."""
        context.await_join()
        with contextlib.ExitStack() as stack:
            # Closed last: leaving the group may take its time, and by then the rows are safe.
            readers = [
                stack.enter_context(contextlib.closing(self.open_reader(member.client))) for member in self.members
            ]
            sinks = self._sinks(context, stack)
            lag = stack.enter_context(context.sink("lag", {"moment": "final"}))
            told = stack.enter_context(context.sink("client", {}))
            consumers = [self._consumer(context, place, reader, sinks) for place, reader in enumerate(readers)]
            for reader in readers:
                reader.hold(held=self.hold)
            context.ready()
            consume_all(consumers, Order.GO)
            if self.hold:
                context.await_start()
                for reader in readers:
                    reader.hold(held=False)
            consume_all(consumers, Order.FINISH)
            for consumer, reader in zip(consumers, readers, strict=True):
                consumer.finish()
                if reader.commits:
                    # Leaving the group takes partitions away once more, when sinks are closed and all is told.
                    reader.commits.watch(_nobody_cares)
                _record_statistics(told, reader)
            # Who leaves before the others is no longer where the group stands in the end.
            if context.order() == Order.FINISH:
                for member, reader in zip(self.members, readers, strict=True):
                    _record_positions(lag, member, reader.positions())

    def _consumer(self, context: Context, place: int, reader: Reader, sinks: ConsumerSinks) -> Consumer:
        member = self.members[place]
        leaves = context.slots[place][Slot.LEAVE : Slot.LEAVE + 1]
        return Consumer(
            reader,
            member.reading,
            member.consuming,
            sinks if len(self.members) == 1 else _labelled(sinks, member),
            context.slots[place],
            np.zeros_like(context.positions(place)) if self.shares else context.positions(place),
            context.latencies(place),
            lambda: Order.FINISH if leaves.item() else context.order(),
            lambda: int(context.board.control[Cell.MEASURE_NS]),
            progress=context.progress(place, member.group) if self.tells_progress else None,
        )

    def _sinks(self, context: Context, stack: contextlib.ExitStack) -> ConsumerSinks:
        """The sinks that the consumers of this process share; what is the same in all rows is said once."""
        first = self.members[0]
        who = {"consumer": first.number} if len(self.members) == 1 else {}
        where = {"group": first.group} if len(self.members) == 1 else {}
        topic = {"topic": 0} if len(first.consuming.topics) == 1 else {}
        once = {} if self.redelivers else dict.fromkeys(REDELIVERING)
        attempts = context.sink("attempts", {**topic, **where}) if self.redelivers else None
        return ConsumerSinks(
            received=stack.enter_context(context.sink("received", {**topic, **where, **who, **once})),
            polls=stack.enter_context(context.sink("polls", who)),
            commits=stack.enter_context(context.sink("commits", who)),
            attempts=stack.enter_context(attempts) if attempts else None,
        )


def _nobody_cares(_revoked: Sequence[Place]) -> None:
    """What happens when partitions go to others and there is nothing left to do for them."""


def _labelled(sinks: ConsumerSinks, member: ConsumerMember) -> ConsumerSinks:
    """The same sinks, shared with others, for the rows of one consumer."""
    who = {"consumer": member.number}
    return ConsumerSinks(
        received=LabelledSink(sinks.received, {**who, "group": member.group}),
        polls=LabelledSink(sinks.polls, who),
        commits=LabelledSink(sinks.commits, who) if sinks.commits else None,
        attempts=LabelledSink(sinks.attempts, {"group": member.group}) if sinks.attempts else None,
    )


def _record_statistics(told: Sink, client: ProducerClient | Reader) -> None:
    """Write what a client said of itself."""
    block, count = client.statistics()
    if count:
        told.append(block, count)


def _record_positions(lag: Sink, member: ConsumerMember, positions: list[tuple[int, int, int | None]]) -> None:
    """Write where a consumer stands at the end: without these rows no message could be called lost."""
    if not positions:
        return
    topics, partitions, offsets = zip(*positions, strict=True)
    known = [NULL_INT64 if position is None else position for position in offsets]
    lag.append(
        {
            "at_ns": clock.monotonic_ns(),
            "answered_ns": None,
            "topic": np.array(topics, np.int32),
            "group": member.group,
            "consumer": member.number,
            "partition": np.array(partitions, np.int32),
            "start": None,
            "committed": None,
            "position": np.array(known, np.int64),
            "end": None,
            "error": None,
        },
        len(positions),
    )
