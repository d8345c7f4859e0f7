"""Latency and steps of micro-batches with several settings, in turn on one broker.

The job is `pass`, with 1,000 messages of 512 bytes a second; batches run as fast as possible unless a row has a trigger
interval. Steps are medians over the non-empty batches of the measure phase, from Spark's progress reports.
"""

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.common import Ran, broker, heading, idle_share, spread
from benchmarks.engines import found_in, measured, piped, table_of
from streamgauge.domain.clock import NS_PER_MS

RATE: Final = 1_000
IN_MEMORY: Final = Path("/dev/shm")
OTHERWISE: Final = (
    "spark.sql.streaming.checkpointFileManagerClass: "
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""Spark writes the files of a checkpoint by Hadoop's FileContext, which starts a process for each; this does not."""
STEPS: Final = ("duration", "latest_offset", "planning", "wal_commit", "add_batch", "commit")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--warmup", type=int, default=30, help="seconds")
    options.add_argument("--seconds", type=int, default=30)
    options.add_argument("--only", nargs="+", metavar="NAME", help="run only these rows")
    chosen = options.parse_args()
    heading("Micro-batches: steps, and the effect of settings")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    found: dict[str, list[list[float]]] = {}
    with broker() as running, scratch_in_memory() as memory:
        for _ in range(chosen.rounds):
            for name, (partitions, settings) in variants(memory).items():
                if chosen.only and name not in chosen.only:
                    continue
                phases = (f"phases.warmup={chosen.warmup}s", f"phases.measure={chosen.seconds}s")
                where = f"topic.partitions={partitions}"
                with piped(running.bootstrap, RATE, where, *phases, *settings) as ran:
                    found.setdefault(name, []).append([*_latencies(ran), *_steps(ran)])
    heads = ["e2e p50", "e2e p99", "CPU us a message", "batch", *(step.replace("_", " ") for step in STEPS[1:])]
    print(f"| ms | {' | '.join(heads)} |")
    print("|---" * (len(heads) + 1) + "|")
    for name, rows in found.items():
        print(f"| {name} | {' | '.join(spread(list(column), digits=1) for column in zip(*rows, strict=True))} |")


def variants(memory: Path) -> Mapping[str, tuple[int, tuple[str, ...]]]:
    """Partitions and settings, by name; each run has a checkpoint of its own below `memory`, where that is asked."""
    in_memory, otherwise = f"pipeline.checkpoint={tempfile.mkdtemp(dir=memory)}", f"pipeline.settings={{{OTHERWISE}}}"
    return {
        "as shipped": (2, ()),
        "one partition": (1, ()),
        "four partitions": (4, ()),
        "checkpoint in memory": (2, (in_memory,)),
        "another checkpoint class": (2, (otherwise,)),
        "one partition, another checkpoint class": (1, (otherwise,)),
        "every 1 s": (2, ("pipeline.engine={micro-batch: {every: 1s}}",)),
    }


@contextmanager
def scratch_in_memory() -> Iterator[Path]:
    """A folder in memory, where the machine has such a file system, that is gone after the block."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as at:
        yield Path(at)


def _latencies(ran: Ran) -> list[float]:
    found = found_in(ran)
    return [found.p50, found.p99, found.cpu_us]


def _steps(ran: Ran) -> list[float]:
    """The median of each step over batches with messages of the measure phase."""
    measure, ahead_ns = measured(ran), ran.facts.wall_ns - ran.facts.monotonic_ns
    rows: list[dict[str, Any]] = table_of(ran, "progress", "began_ms", "rows", *(f"{s}_ms" for s in STEPS)).to_pylist()
    inside = [
        row for row in rows if row["rows"] and measure.from_ns <= row["began_ms"] * NS_PER_MS - ahead_ns < measure.to_ns
    ]
    return [float(np.median([row[f"{step}_ms"] or 0 for row in inside])) for step in STEPS]


if __name__ == "__main__":
    main()
