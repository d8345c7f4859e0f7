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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT64, Block, ClientSpec
from streamgauge.domain.errors import StreamgaugeError
from streamgauge.domain.pacing import Int64s, Pacer
from streamgauge.engine.compose import Composer, Recipe
from streamgauge.engine.consume import Consumer, Reading
from streamgauge.engine.live import Cell, Latencies, Live, Order, Slot, State
from streamgauge.engine.ports import OpenConsumer, OpenProducer, OpenSink, Sink
from streamgauge.engine.produce import LARGEST_BLOCK, Producer
from streamgauge.engine.sample import Sampler, Watched

PR_SET_TIMERSLACK: Final = 29
_ORPHAN_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class ProducerJob:
    """Send a load to a topic."""

    open_client: OpenProducer
    client: ClientSpec
    recipe: Recipe
    pacer: Pacer | None
    topic: int

    def run(self, context: "Context") -> None:
        """Send what is due between start and end of the load."""
        recipe = self.recipe
        constants = {"topic": self.topic, "producer": recipe.producer, "transaction": None}
        with contextlib.closing(self.open_client(self.client)) as client, context.sink("sent", constants) as sink:
            composer = Composer(recipe, LARGEST_BLOCK)
            producer = Producer(client, composer, sink, context.slot, context.latencies(), context.order)
            context.ready()
            context.await_go()
            cells = context.live.control
            producer.run(self.pacer, int(cells[Cell.START_NS]), int(cells[Cell.LOAD_END_NS]), int(cells[Cell.DRAIN_NS]))


@dataclass(frozen=True, slots=True)
class ConsumerJob:
    """Read a topic as a member of a group."""

    open_client: OpenConsumer
    client: ClientSpec
    reading: Reading
    topic: int
    group: int
    consumer: int
    hold: bool
    """Whether to take no message before the start: where the topic is already full."""

    def run(self, context: "Context") -> None:
        """Consume until the run is over; at the end write the positions and leave the group."""
        numbers = {"topic": self.topic, "group": self.group, "consumer": self.consumer}
        with (
            # Closed last: leaving the group may take its time, and by then the rows are safe.
            contextlib.closing(self.open_client(self.client)) as client,
            context.sink("received", {**numbers, "delivery_count": None}) as received,
            context.sink("polls", {"consumer": self.consumer}) as polls,
            context.sink("lag", {**numbers, "moment": "final"}) as lag,
        ):
            positions = context.live.positions[context.index]
            consumer = Consumer(
                client, self.reading, received, polls, context.slot, positions, context.latencies(), context.order
            )
            client.hold(held=self.hold)
            context.ready()
            consumer.run(Order.GO)
            if self.hold:
                context.await_start()
                client.hold(held=False)
            consumer.run(Order.FINISH)
            if context.order() == Order.FINISH:
                _record_positions(lag, client.positions())


@dataclass(frozen=True, slots=True)
class SamplerJob:
    """Look at the processes of the run."""

    watched: tuple[Watched, ...]

    def run(self, context: "Context") -> None:
        """Look until the run is over."""
        with context.sink("resources", {}) as sink:
            context.ready()
            Sampler(self.watched, context.live, sink, context.order).run()


Job = ProducerJob | ConsumerJob | SamplerJob


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """Everything a worker process needs."""

    name: str
    index: int
    """Its row of the shared cells."""
    run: Path
    open_sink: OpenSink
    job: Job
    parent_pid: int
    descriptor: int
    shape: tuple[int, int]
    """Workers and partitions of the shared cells."""


@dataclass(slots=True)
class Context:
    """What a job sees of its surroundings."""

    spec: WorkerSpec
    live: Live

    @property
    def index(self) -> int:
        """Its row of the shared cells."""
        return self.spec.index

    @property
    def slot(self) -> Int64s:
        """Its cells."""
        cells: Int64s = self.live.slots[self.spec.index]
        return cells

    def latencies(self) -> Latencies:
        """Its cells for latencies."""
        return Latencies(self.live.latencies[self.spec.index], clock.monotonic_ns())

    def order(self) -> Order:
        """What the supervisor wants now."""
        return self.live.order

    def ready(self) -> None:
        """Tell that the work can begin. What exists by now stays: the collector need not look at it again."""
        gc.collect()
        gc.freeze()
        gc.disable()
        self.slot[Slot.STATE] = State.READY

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
        yield CountingSink(sink, self.slot)
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
        live.say(spec.index, str(error))
        sys.exit(1)
    except Exception as error:
        live.say(spec.index, f"{type(error).__name__}: {error}")
        raise
    context.slot[Slot.STATE] = State.DONE
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


def _record_positions(lag: Sink, positions: list[tuple[int, int | None]]) -> None:
    """Write where a consumer stands at the end: without these rows no message could be called lost."""
    if not positions:
        return
    known = [NULL_INT64 if position is None else position for _, position in positions]
    lag.append(
        {
            "at_ns": clock.monotonic_ns(),
            "partition": np.array([partition for partition, _ in positions], np.int32),
            "start": None,
            "committed": None,
            "position": np.array(known, np.int64),
            "end": None,
            "error": None,
        },
        len(positions),
    )
