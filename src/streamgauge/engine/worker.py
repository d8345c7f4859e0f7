"""One worker: a process with one role, told by a specification what to do.

Started as `python -c "from streamgauge.engine.worker import main; main()"` with a pickled `WorkerSpec` on standard
input. It exchanges with the supervisor nothing but the shared cells.
"""

import contextlib
import ctypes
import gc
import logging
import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT64, Block, ClientSpec, Place
from streamgauge.domain.errors import StreamgaugeError
from streamgauge.domain.pacing import Int64s
from streamgauge.domain.scenario.connections import Work
from streamgauge.engine.compose import Composer, Recipe
from streamgauge.engine.connect import Connector, OpenConnections
from streamgauge.engine.consume import Consumer, Consuming, Progress, Reading, consume_all
from streamgauge.engine.consume import Sinks as ConsumerSinks
from streamgauge.engine.control import Controlled, Controller, policy_of
from streamgauge.engine.gate import Gate
from streamgauge.engine.labelled import Labelled
from streamgauge.engine.lag import LagSampler, Sampled
from streamgauge.engine.live import Cell, Latencies, Live, Order, Slot, State
from streamgauge.engine.ports import (
    ConsumerClient,
    OpenConsumer,
    OpenOffsets,
    OpenProducer,
    OpenSink,
    ProducerClient,
    Sink,
)
from streamgauge.engine.produce import LARGEST_BLOCK, Producer, Sending, Sinks, Times
from streamgauge.engine.sample import Sampler, Watched
from streamgauge.engine.turns import run_together

PR_SET_TIMERSLACK: Final = 29
_ORPHAN_SECONDS: Final = 0.5


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
    """Send a load, by one producer or by several in turn."""

    open_client: OpenProducer
    members: tuple[ProducerMember, ...]
    held_back: bool = False
    """Whether a policy lets messages go."""

    def run(self, context: "Context") -> None:
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
                run_together(producers, times)
            for producer in producers:
                _record_statistics(told, producer.client)

    def _producer(
        self, context: "Context", place: int, member: ProducerMember, sinks: Sinks, stack: contextlib.ExitStack
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
            gate=Gate(context.slots[place]) if self.held_back else None,
        )

    def _sinks(self, context: "Context", stack: contextlib.ExitStack) -> Sinks:
        """The sinks that the producers of this process share; what is the same in all rows is said once."""
        first, sending = self.members[0], self.members[0].sending
        who = {"producer": first.number} if len(self.members) == 1 else {}
        where = {"topic": first.recipe.topics[0]} if self._one_topic else {}
        absent: dict[str, None] = {} if sending.transactions else {"transaction": None}
        absent |= {} if self.held_back else {"admitted_ns": None}

        def sink(kind: str, constants: Mapping[str, int | str | None], wanted: object) -> Sink | None:
            return stack.enter_context(context.sink(kind, constants)) if wanted else None

        return Sinks(
            sent=stack.enter_context(context.sink("sent", {**who, **where, **absent})),
            batches=sink("batches", who, sending.flush),
            transactions=sink("transactions", who, sending.transactions),
            attempts=sink("attempts", {**who, **where}, sending.resend),
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
    """Read topics, by one consumer or by several in turn."""

    open_client: OpenConsumer
    members: tuple[ConsumerMember, ...]
    hold: bool
    """Whether to take no message before the start: where a topic is already full."""
    tells_progress: bool = False
    """Whether a policy wants to know at once how far each consumer is."""

    def run(self, context: "Context") -> None:
        """Consume until the run is over; at the end write the positions and leave the groups."""
        with contextlib.ExitStack() as stack:
            # Closed last: leaving the group may take its time, and by then the rows are safe.
            clients = [
                stack.enter_context(contextlib.closing(self.open_client(member.client))) for member in self.members
            ]
            sinks = self._sinks(context, stack)
            lag = stack.enter_context(context.sink("lag", {"moment": "final"}))
            told = stack.enter_context(context.sink("client", {}))
            consumers = [self._consumer(context, place, client, sinks) for place, client in enumerate(clients)]
            for client in clients:
                client.hold(held=self.hold)
            context.ready()
            consume_all(consumers, Order.GO)
            if self.hold:
                context.await_start()
                for client in clients:
                    client.hold(held=False)
            consume_all(consumers, Order.FINISH)
            for consumer, client in zip(consumers, clients, strict=True):
                consumer.finish()
                # Leaving the group takes partitions away once more, when sinks are closed and all is told.
                client.watch(_nobody_cares)
                _record_statistics(told, client)
            if context.order() == Order.FINISH:
                for member, client in zip(self.members, clients, strict=True):
                    _record_positions(lag, member, client.positions())

    def _consumer(self, context: "Context", place: int, client: ConsumerClient, sinks: ConsumerSinks) -> Consumer:
        member = self.members[place]
        return Consumer(
            client,
            member.reading,
            member.consuming,
            sinks if len(self.members) == 1 else _labelled(sinks, member),
            context.slots[place],
            context.positions(place),
            context.latencies(place),
            context.order,
            lambda: int(context.live.control[Cell.MEASURE_NS]),
            progress=context.progress(place, member.group) if self.tells_progress else None,
        )

    def _sinks(self, context: "Context", stack: contextlib.ExitStack) -> ConsumerSinks:
        """The sinks that the consumers of this process share; what is the same in all rows is said once."""
        first = self.members[0]
        who = {"consumer": first.number} if len(self.members) == 1 else {}
        where = {"group": first.group} if len(self.members) == 1 else {}
        topic = {"topic": 0} if len(first.consuming.topics) == 1 else {}
        return ConsumerSinks(
            received=stack.enter_context(context.sink("received", {**topic, **where, **who, "delivery_count": None})),
            polls=stack.enter_context(context.sink("polls", who)),
            commits=stack.enter_context(context.sink("commits", who)),
        )


def _nobody_cares(_revoked: Sequence[Place]) -> None:
    """What happens when partitions go to others and there is nothing left to do for them."""


def _labelled(sinks: ConsumerSinks, member: ConsumerMember) -> ConsumerSinks:
    """The same sinks, shared with others, for the rows of one consumer."""
    who = {"consumer": member.number}
    return ConsumerSinks(
        received=Labelled(sinks.received, {**who, "group": member.group}),
        polls=Labelled(sinks.polls, who),
        commits=Labelled(sinks.commits, who) if sinks.commits else None,
    )


@dataclass(frozen=True, slots=True)
class ConnectorJob:
    """Hold connections, and open some."""

    open_client: OpenConnections
    client: ClientSpec
    work: tuple[Work, ...]

    def run(self, context: "Context") -> None:
        """Use connections from the start of the load to its end."""
        with (
            contextlib.closing(self.open_client(self.client)) as connections,
            context.sink("connections", {"worker": context.spec.name}) as sink,
        ):
            connector = Connector(connections, self.work, sink, context.slots[0], context.order)
            connector.prepare()
            context.ready()
            context.await_go()
            times = context.times()
            connector.run(times.start_ns, times.end_ns)


@dataclass(frozen=True, slots=True)
class SamplerJob:
    """Look at the processes of the run."""

    watched: tuple[Watched, ...]

    def run(self, context: "Context") -> None:
        """Look until the run is over."""
        with context.sink("resources", {}) as sink:
            context.ready()
            Sampler(self.watched, context.live, sink, context.order).run()


@dataclass(frozen=True, slots=True)
class LagJob:
    """Ask the cluster where every partition stands."""

    open_offsets: OpenOffsets
    client: ClientSpec
    groups: tuple[str, ...]
    sampled: Sampled
    timeout_seconds: float

    def run(self, context: "Context") -> None:
        """Sample until the run is over."""
        opened = self.open_offsets(self.client, self.groups, self.sampled.partitions, self.timeout_seconds)
        with (
            contextlib.closing(opened) as offsets,
            context.sink("lag", {"moment": "sample", "consumer": None}) as sink,
        ):
            sampler = LagSampler(offsets, self.sampled, context.live, sink, context.order)
            sampler.sample()
            context.ready()
            sampler.run()


@dataclass(frozen=True, slots=True)
class ControllerJob:
    """Hold producers back."""

    controlled: Controlled

    def run(self, context: "Context") -> None:
        """Decide until the run is over."""
        policy = self.controlled.policy
        with context.sink("decisions", {"policy": policy.chosen[0]}) as sink:
            controller = Controller(policy_of(self.controlled, context.live), policy.poll_ns, sink, context.order)
            controller.begin()
            context.ready()
            controller.run()


Job = ProducerJob | ConsumerJob | ConnectorJob | LagJob | ControllerJob | SamplerJob


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """Everything a worker process needs."""

    name: str
    rows: tuple[int, ...]
    """Its rows of the shared cells, one for each of its clients."""
    run: Path
    open_sink: OpenSink
    job: Job
    parent_pid: int
    descriptor: int
    shape: tuple[int, int, int]
    """Workers, partitions and groups of the shared cells."""


@dataclass(slots=True)
class Context:
    """What a job sees of its surroundings."""

    spec: WorkerSpec
    live: Live

    @property
    def slots(self) -> list[Int64s]:
        """The cells of each of its clients."""
        return [self.live.slots[row] for row in self.spec.rows]

    def positions(self, place: int = 0) -> Int64s:
        """The positions of one of its clients."""
        cells: Int64s = self.live.positions[self.spec.rows[place]]
        return cells

    def progress(self, place: int, group: int) -> Progress:
        """Where one of its clients tells how far it is."""
        live = self.live
        return Progress(live.frontiers[self.spec.rows[place]], live.foreign[group], live.foreign_ends[group])

    def latencies(self, place: int = 0) -> Latencies:
        """The cells for latencies of one of its clients."""
        return Latencies(self.live.latencies[self.spec.rows[place]], clock.monotonic_ns())

    def times(self) -> Times:
        """When the load begins, is measured and ends."""
        cells = self.live.control
        return Times(*(int(cells[cell]) for cell in (Cell.START_NS, Cell.MEASURE_NS, Cell.LOAD_END_NS, Cell.DRAIN_NS)))

    def tell(self, state: State) -> None:
        """Tell how far all its clients are."""
        for slot in self.slots:
            slot[Slot.STATE] = state

    def order(self) -> Order:
        """What the supervisor wants now."""
        return self.live.order

    def ready(self) -> None:
        """Tell that the work can begin. What exists by now stays: the collector need not look at it again."""
        gc.collect()
        gc.freeze()
        gc.disable()
        self.tell(State.READY)

    def await_go(self) -> None:
        """Wait until the supervisor wants the load to run, or to end."""
        while self.order() == Order.PREPARE:
            clock.sleep_seconds(0.005)

    def await_start(self) -> None:
        """Wait until the load starts."""
        while self.order() == Order.GO and clock.monotonic_ns() < self.live.control[Cell.START_NS]:
            clock.sleep_seconds(0.0005)

    @contextlib.contextmanager
    def sink(self, kind: str, constants: Mapping[str, int | str | None]) -> Iterator[Sink]:
        """A sink that is closed when the job ends well; when it does not, its open part is closed by others."""
        sink = self.spec.open_sink(self.spec.run, kind, self.spec.name, constants)
        yield CountingSink(sink, self.slots[0])
        sink.close()


@dataclass(frozen=True, slots=True)
class CountingSink:
    """A sink that counts the rows of a block that could not be written, before the worker gives up."""

    sink: Sink
    slot: Int64s

    def append(self, block: Block, count: int) -> None:
        """Take rows, or count them as dropped."""
        try:
            self.sink.append(block, count)
        except StreamgaugeError:
            self.slot[Slot.DROPPED] += count
            raise

    def close(self) -> None:
        """Write what is still open."""
        self.sink.close()


def main() -> None:
    """Run the worker that standard input describes; exit code 1, with the reason left for the parent, if it fails."""
    spec: WorkerSpec = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the parent, through its own pipe
    # Ctrl-C and SIGTERM reach the whole group; the parent decides what they mean.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(message)s")
    live = Live(spec.descriptor, *spec.shape)
    set_timer_slack()
    threading.Thread(target=_watch_parent, args=(spec.parent_pid, live), daemon=True).start()
    context = Context(spec, live)
    try:
        spec.job.run(context)
    except StreamgaugeError as error:
        live.say(spec.rows[0], str(error))
        sys.exit(1)
    except Exception as error:
        live.say(spec.rows[0], f"{type(error).__name__}: {error}")
        raise
    context.tell(State.DONE)
    # What a client still tries to say to a broker that is gone must not keep the process.
    sys.stderr.flush()
    os._exit(0)


def _watch_parent(parent_pid: int, live: Live) -> None:
    """End the run when the parent is gone: nobody else would."""
    while os.getppid() == parent_pid:
        clock.sleep_seconds(_ORPHAN_SECONDS)
    live.give(Order.ABORT)


def set_timer_slack() -> None:
    """Let sleeps end when they should, not up to 50 us later; a call that only Linux has."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1)


def _record_statistics(told: Sink, client: ProducerClient | ConsumerClient) -> None:
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
