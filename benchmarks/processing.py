"""Accuracy of processing delays, and throughput on a backlog, on a real broker."""

import argparse
import gc
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.dataset as ds

from benchmarks.common import broker, fill, heading, idle_share, spread, topic
from streamgauge.domain.blocks import ClientSpec
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns, process_cpu_ns
from streamgauge.engine.board import Cells, Latencies
from streamgauge.engine.consume.loop import LONGEST_NS, Consumer, ConsumerSinks, Consuming, Reading
from streamgauge.kafka.clients.reader import KafkaReader
from streamgauge.processes.linux import set_timer_slack
from streamgauge.record.parts import open_sink
from streamgauge.scenario import Setting
from streamgauge.scenario.model.pacing.processing import Processing
from streamgauge.workload.processing import handling_of

PARTITIONS = 12
WARMUP_NS = NS_PER_SECOND
DELAYS = (("200us", "0s"), ("1ms", "0s"), ("4ms", "1ms"))
ORDERS = {"1 slot": "loop", f"{PARTITIONS} partition slots": "partitions"}


class Figures(NamedTuple):
    """What one run says: mean error of the delay and its 99th percentile, processed of what was possible, CPU."""

    error: float
    late_us: float
    processed: float
    cpu: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=5)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--buffer", type=int, default=1000)
    chosen = options.parse_args()
    heading("Processing: delays and capacity of one consumer with a backlog")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    set_timer_slack()
    longest_run = chosen.seconds + WARMUP_NS / NS_PER_SECOND + 1
    with broker() as running, topic(running.bootstrap, PARTITIONS) as name:
        fill(running.bootstrap, name, round(longest_run * PARTITIONS / 200e-6), seconds=3)
        print("| delay | slots | mean error of the delay | late by, p99 us | processed of slots / mean delay | CPU |")
        print("|---|---|---|---|---|---|")
        for delay, jitter in DELAYS:
            for slots, order in ORDERS.items():
                how = Processing.model_validate({"delay": delay, "jitter": jitter, "order": order})
                runs = [_run(running.bootstrap, name, how, chosen.buffer, chosen.seconds) for _ in range(chosen.rounds)]
                error, late_us, processed, cpu = zip(*runs, strict=True)
                asked = delay if jitter == "0s" else f"{delay} + {jitter} jitter"
                cells = [spread([100 * each for each in error], " %"), spread(late_us, digits=0)]
                cells += [
                    spread([100 * each for each in processed], " %"),
                    spread([100 * each for each in cpu], " %", 0),
                ]
                print(f"| {asked} | {slots} | {' | '.join(cells)} |", flush=True)


def _run(bootstrap: str, name: str, how: Processing, buffer: int, seconds: float) -> Figures:
    settings: dict[str, Setting] = {
        "bootstrap.servers": bootstrap,
        "group.id": f"{name}-{monotonic_ns()}",
        "auto.offset.reset": "earliest",
        "fetch.queue.backoff.ms": 10,
    }
    numbers = {"topic": 0, "group": 0, "consumer": 0, "delivery_count": None, "created_ms": None}
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        board = Cells.new(1, PARTITIONS)
        received = open_sink(Path(folder), "received", "consumer-0", numbers)
        polls = open_sink(Path(folder), "polls", "consumer-0", {"consumer": 0})
        client = KafkaReader(ClientSpec("consumer-0", (name,), settings))
        consumer = Consumer(
            client,
            Reading(0, None),
            Consuming((name,), PARTITIONS, handling_of(how), buffer),
            ConsumerSinks(received, polls),
            board.slots[0],
            board.positions[0],
            Latencies(board.latencies[0], monotonic_ns()),
            lambda: board.order,
        )
        while client.assigned() < PARTITIONS:
            consumer.turn(LONGEST_NS)
        gc.collect()
        gc.freeze()
        gc.disable()
        _turn_until(consumer, monotonic_ns() + WARMUP_NS)
        begin_ns, cpu_ns = monotonic_ns(), process_cpu_ns()
        _turn_until(consumer, begin_ns + round(seconds * NS_PER_SECOND))
        end_ns, cpu_ns = monotonic_ns(), process_cpu_ns() - cpu_ns
        gc.enable()
        gc.unfreeze()
        consumer.finish()
        received.close()
        polls.close()
        client.close()
        rows = ds.dataset(Path(folder) / "events" / "received").to_table(columns=["started_ns", "processed_ns"])
    started, processed = (rows.drop_null()[column].to_numpy() for column in ("started_ns", "processed_ns"))
    took = (processed - started)[(processed >= begin_ns) & (processed < end_ns)]
    slots = PARTITIONS if how.order == "partitions" else 1
    elapsed_ns = end_ns - begin_ns
    return Figures(
        error=float(took.mean()) / how.mean_delay_ns - 1,
        late_us=float(np.percentile(took, 99) - how.delay - how.jitter) / 1000,
        processed=len(took) * how.mean_delay_ns / (elapsed_ns * slots),
        cpu=cpu_ns / elapsed_ns,
    )


def _turn_until(consumer: Consumer, end_ns: int) -> None:
    while monotonic_ns() < end_ns:
        consumer.turn(LONGEST_NS)


if __name__ == "__main__":
    main()
