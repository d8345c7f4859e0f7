"""What makes messages late: what the produce loop of one worker does between the due time of a message and its sending.

The loop runs here, with everything recorded, beside a broker that two consumers read. Whatever it calls is timed, with
the run delay of its thread: the time that the thread was ready to run and had no core. Each message is charged with
what happened between its due time and its sending.
"""

import argparse
import gc
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.dataset as ds

from benchmarks.common import Int64s, broker, heading, idle_share, topic
from streamgauge.domain.blocks import Block, ClientSpec, Outgoing, Refused
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns, sleep_seconds
from streamgauge.engine.board import Cells, Latencies, Order
from streamgauge.engine.produce.compose import Composer
from streamgauge.engine.produce.loop import LARGEST_BLOCK, Producer, Sending, Times
from streamgauge.engine.produce.sent import ProducerSinks
from streamgauge.engine.produce.sources import Recipe
from streamgauge.kafka.clients.producer import KafkaProducer
from streamgauge.processes.cpu.waiting import ThreadDelay
from streamgauge.processes.linux import set_timer_slack
from streamgauge.record.parts import open_sink
from streamgauge.workload.pacing import constant

KINDS: Final = ("sleep", "serve", "reports", "send", "record", "loop")
RANKS: Final = (50.0, 90.0, 99.0, 99.9)


@dataclass(slots=True)
class Timeline:
    """What the loop did, one step after the other: what, until when, and how much of it the thread had no core."""

    delay: ThreadDelay
    kinds: list[int] = field(default_factory=list)
    ends_ns: list[int] = field(default_factory=list)
    delays_ns: list[int] = field(default_factory=list)
    over_ns: list[int] = field(default_factory=list)
    """Of a sleep, by how much it was longer than asked for."""
    _delay_ns: int = 0

    def note(self, kind: str, over_ns: int = 0) -> None:
        """A step ends now; what was since the last one belongs to the loop itself."""
        delay_ns, now_ns = self.delay() or 0, monotonic_ns()
        self.kinds.append(KINDS.index(kind))
        self.ends_ns.append(now_ns)
        self.delays_ns.append(delay_ns - self._delay_ns)
        self.over_ns.append(over_ns)
        self._delay_ns = delay_ns

    def wrapped(self, kind: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, noted as a step of its own."""

        def noted(*arguments: Any, **named: Any) -> Any:
            self.note("loop")
            found = call(*arguments, **named)
            self.note(kind)
            return found

        return noted

    def sleep(self, seconds: float) -> None:
        """Sleep, and note by how much it took longer."""
        self.note("loop")
        began_ns = monotonic_ns()
        sleep_seconds(seconds)
        self.note("sleep", max(0, monotonic_ns() - began_ns - round(seconds * NS_PER_SECOND)))


class NotedClient:
    """A producer whose calls are noted."""

    def __init__(self, client: KafkaProducer, timeline: Timeline) -> None:
        self._client = client
        self.send: Callable[[Outgoing], Refused] = timeline.wrapped("send", client.send)
        self.serve: Callable[[float], None] = timeline.wrapped("serve", client.serve)
        self.reports: Callable[[int], tuple[Block, int]] = timeline.wrapped("reports", client.reports)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


class NotedSink:
    """A sink whose rows are noted."""

    def __init__(self, sink: Any, timeline: Timeline) -> None:
        self._sink = sink
        self.append: Callable[[Block, int], None] = timeline.wrapped("record", sink.append)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sink, name)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rate", type=int, default=5_000)
    options.add_argument("--seconds", type=int, default=10)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    heading(
        f"Schedule delay: what a worker does while a message is due, {chosen.rate:,} messages a second of 512 bytes"
    )
    print(f"The machine was {idle_share():.0%} idle before.\n")
    set_timer_slack()
    gc.freeze()
    gc.disable()
    with broker() as running:
        for _ in range(chosen.rounds):
            with topic(running.bootstrap) as name, _reading(running.bootstrap, name):
                _print(*_sent(running.bootstrap, name, chosen.rate, chosen.seconds))


@contextmanager
def _reading(bootstrap: str, name: str) -> Iterator[None]:
    """Two consumers of a topic, in processes of their own."""
    code = (
        "import sys; from confluent_kafka import Consumer\n"
        "client = Consumer({'bootstrap.servers': sys.argv[1], 'group.id': 'g', 'auto.offset.reset': 'earliest'})\n"
        "client.subscribe([sys.argv[2]])\n"
        "while True: client.consume(500, 0.1)"
    )
    readers = [subprocess.Popen([sys.executable, "-c", code, bootstrap, name]) for _ in range(2)]
    try:
        yield
    finally:
        for reader in readers:
            reader.kill()
            reader.wait()


def _sent(bootstrap: str, name: str, rate: int, seconds: int) -> tuple[Timeline, Int64s, Int64s]:
    """The timeline, and due and sent times of messages after the first two seconds."""
    timeline = Timeline(ThreadDelay())
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        board = Cells.new(1, 1)
        board.give(Order.GO)
        sink = open_sink(
            Path(folder), "sent", "producer-0", {"topic": 0, "producer": 0, "transaction": None, "admitted_ns": None}
        )
        client = KafkaProducer(ClientSpec("producer-0", (name,), {"bootstrap.servers": bootstrap}))
        producer = Producer(
            NotedClient(client, timeline),
            Composer(Recipe(0, 7, "mixed", 512, 42, in_headers=False, scheduled=True), LARGEST_BLOCK),
            ProducerSinks(NotedSink(sink, timeline)),
            board.slots[0],
            Latencies(board.latencies[0], 0),
            lambda: board.order,
            Sending(constant(rate, 0, 1)),
            sleep=timeline.sleep,
        )
        start_ns = monotonic_ns() + NS_PER_SECOND // 5
        measure_ns = start_ns + 2 * NS_PER_SECOND
        producer.run(Times(start_ns, measure_ns, measure_ns + seconds * NS_PER_SECOND, 5 * NS_PER_SECOND))
        client.close()
        sink.close()
        table = ds.dataset(Path(folder) / "events" / "sent").to_table(columns=["due_ns", "sent_ns"]).sort_by("due_ns")
        due_ns, sent_ns = (table[name].to_numpy() for name in ("due_ns", "sent_ns"))
        measured = due_ns >= measure_ns
        return timeline, due_ns[measured], sent_ns[measured]


def _print(timeline: Timeline, due_ns: Int64s, sent_ns: Int64s) -> None:
    late_us = (sent_ns - due_ns) / 1_000
    ranks = ", ".join(f"p{rank:g} {np.percentile(late_us, rank):.0f}" for rank in RANKS)
    print(f"Late by, us: {ranks}, max {late_us.max():.0f}\n")
    ends = np.array(timeline.ends_ns)
    begins = np.concatenate([[0], ends[:-1]])
    kinds, delays, over = (np.array(each) for each in (timeline.kinds, timeline.delays_ns, timeline.over_ns))
    print(
        "| messages | late us | "
        + " | ".join(f"{kind} us" for kind in KINDS)
        + " | of it without a core us | sleep over us |"
    )
    print("|---|---|" + "---|" * (len(KINDS) + 2))
    bounds = [0.0, *(float(np.percentile(late_us, rank)) for rank in RANKS), float("inf")]
    names = ["up to p50", "to p90", "to p99", "to p99.9", "above"]
    for title, low, high in zip(names, bounds, bounds[1:], strict=False):
        chosen = np.flatnonzero((late_us > low) & (late_us <= high))
        if not len(chosen):
            continue
        spent, waited, longer = np.zeros(len(KINDS)), 0.0, 0.0
        for place in chosen[:: max(1, len(chosen) // 2_000)]:
            first, last = np.searchsorted(ends, (due_ns[place], sent_ns[place]), side="right")
            for step in range(first, min(last + 1, len(ends))):
                inside = min(ends[step], sent_ns[place]) - max(begins[step], due_ns[place])
                if inside > 0:
                    spent[kinds[step]] += inside
                    share = inside / max(1, ends[step] - begins[step])
                    waited += share * delays[step]
                    longer += min(inside, over[step])
        count = len(chosen[:: max(1, len(chosen) // 2_000)])
        cells = [f"{each / count / 1_000:.0f}" for each in (*spent, waited, longer)]
        print(f"| {title} | {late_us[chosen].mean():.0f} | {' | '.join(cells)} |")
    print(flush=True)


if __name__ == "__main__":
    main()
