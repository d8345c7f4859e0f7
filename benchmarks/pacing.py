"""Schedule delay in one worker, everything recorded: against the fake client, and beside a broker.

For comparison, a bare loop reads the clock until the next message is due and does nothing else; it shows the delay of
the machine itself.
"""

import argparse
import gc
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds

from benchmarks.common import Float64s, broker, heading, idle_share, run, spread, topic
from streamgauge.domain.blocks import ClientSpec
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.engine.board import Cells, Latencies, Order
from streamgauge.engine.fake import FakeLog, FakeProducer
from streamgauge.engine.produce.compose import Composer
from streamgauge.engine.produce.loop import LARGEST_BLOCK, Producer, Sending, Times
from streamgauge.engine.produce.sent import ProducerSinks
from streamgauge.engine.produce.sources import Recipe
from streamgauge.processes.linux import set_timer_slack
from streamgauge.record.parts import open_sink
from streamgauge.workload.pacing import constant

RANKS = (50.0, 99.0, 99.9)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=int, default=10)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    heading("Pacing: schedule delay in one worker, 512 bytes, everything recorded")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    set_timer_slack()
    gc.freeze()
    gc.disable()
    print("| client | messages/s | p50 us | p99 us | p99.9 us | max us |")
    print("|---|---|---|---|---|---|")
    for rate in (1_000, 10_000, 200_000):
        pairs = [(_bare(rate, chosen.seconds), _fake(rate, chosen.seconds)) for _ in range(chosen.rounds)]
        _row("none, a bare loop", rate, [bare for bare, _ in pairs])
        _row("fake", rate, [fake for _, fake in pairs])
    with broker() as running:
        for rate in (10_000,):
            _row(
                "broker beside it", rate, [_real(running.bootstrap, rate, chosen.seconds) for _ in range(chosen.rounds)]
            )


def _row(client: str, rate: int, delay_us: list[Float64s]) -> None:
    ranks = [[float(np.percentile(each, rank)) for each in delay_us] for rank in RANKS]
    cells = [spread(values, digits=1) for values in [*ranks, [float(each.max()) for each in delay_us]]]
    print(f"| {client} | {rate:,} | {' | '.join(cells)} |", flush=True)


def _bare(rate: int, seconds: int) -> Float64s:
    now_ns = monotonic_ns
    due_ns = constant(rate, 0, 1).due_ns(0, rate * seconds) + now_ns() + NS_PER_SECOND // 5
    late_ns = []
    for due in due_ns.tolist():
        while (at_ns := now_ns()) < due:
            pass
        late_ns.append(at_ns - due)
    return np.array(late_ns) / 1000


def _fake(rate: int, seconds: int) -> Float64s:
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        board = Cells.new(1, 1)
        board.give(Order.GO)
        sink = open_sink(
            Path(folder), "sent", "producer-0", {"topic": 0, "producer": 0, "transaction": None, "admitted_ns": None}
        )
        client = FakeProducer(FakeLog(12), ClientSpec("producer-0", ("t",), {}), keep=False)
        recipe = Recipe(0, 7, "mixed", 512, 42, in_headers=False, scheduled=True)
        producer = Producer(
            client,
            Composer(recipe, LARGEST_BLOCK),
            ProducerSinks(sink),
            board.slots[0],
            Latencies(board.latencies[0], 0),
            lambda: board.order,
            Sending(constant(rate, 0, 1)),
        )
        start_ns = monotonic_ns() + NS_PER_SECOND // 5
        producer.run(Times(start_ns, start_ns, start_ns + seconds * NS_PER_SECOND, NS_PER_SECOND))
        sink.close()
        table = ds.dataset(Path(folder) / "events" / "sent").to_table(columns=["due_ns", "sent_ns"])
        delay_us: Float64s = (table["sent_ns"].to_numpy() - table["due_ns"].to_numpy()) / 1000
        return delay_us


def _real(bootstrap: str, rate: int, seconds: int) -> Float64s:
    settings = [f"load.rate={rate}", "load.producers=1", "consume=off", "phases.warmup=2s"]
    with (
        topic(bootstrap) as name,
        run("baseline", bootstrap, *settings, f"phases.measure={seconds}s", f"topic.name={name}") as ran,
    ):
        due, sent = ran.column("sent", "due_ns", "sent_ns")
        return (sent - due)[due >= ran.facts.phases[1].from_ns] / 1000


if __name__ == "__main__":
    main()
