"""The audit of a run whose log was read again: time and memory by size, and whether it finds what was planted.

Only the steps that count deliveries are carried out, each size in a new process with a cold JVM. Fails where a planted
anomaly is not found, or one is found that was not planted.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from unittest import mock

import pyarrow.parquet as pq

from benchmarks.analysis import measured
from benchmarks.common import heading, idle_share, spread
from benchmarks.planted import expected
from benchmarks.synthetic import PRODUCERS, Plan, make
from streamgauge.domain.folder.facts import RunFolder

ONLY: Final = (sys.executable, "-m", "benchmarks.audit", "--only")
STEPS: Final = frozenset({"deliveries", "messages", "received", "sent", "resends", "delivery"})
"""Those of an analysis that counting deliveries takes."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--messages", type=int, nargs="+", default=[1_000_000, 10_000_000, 50_000_000])
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--sticky", type=int, default=200, help="consecutive messages of a producer to one partition")
    options.add_argument("--folder", type=Path, help="where runs are made; the folder of temporary files by default")
    options.add_argument("--only", type=Path, metavar="RUN", help="only audit this run")
    chosen = options.parse_args()
    if chosen.only:
        _only(RunFolder(chosen.only))
        return
    heading("Audit: a log that was read again, two producers, twelve partitions, two consumers")
    print(f"The machine was {idle_share():.0%} idle before. Rows: three for each message.\n")
    print("| messages | seconds | CPU seconds | peak memory of JVM and driver, GiB | seconds per million messages |")
    print("|---|---|---|---|---|", flush=True)
    for messages in chosen.messages:
        with tempfile.TemporaryDirectory(prefix="streamgauge-bench-", dir=chosen.folder) as place:
            folder = RunFolder(Path(place))
            make(folder, Plan(messages, sticky=chosen.sticky, planted=True))
            rounds = [measured(folder.root, ONLY, folder.table("delivery")) for _ in range(chosen.rounds)]
            _judge(folder, messages)
        seconds, cpus, memories = zip(*rounds, strict=True)
        each = [value / messages * 1e6 for value in seconds]
        cells = [spread(seconds, digits=1), spread(cpus, digits=1), spread(memories), spread(each)]
        print(f"| {messages:,} | {' | '.join(cells)} |", flush=True)
    print("\nEvery planted anomaly was found, and no other.")


def _judge(folder: RunFolder, messages: int) -> None:
    """End with a message where the counts are not those that were planted."""
    rows = pq.read_table(folder.table("delivery")).to_pylist()
    found: Mapping[str, int] = next(row for row in rows if row["scope"] == "run")
    of_producer = messages // PRODUCERS
    wanted = expected(of_producer, of_producer * (PRODUCERS - 1))
    wrong = {name: (count, found[name]) for name, count in wanted.items() if found[name] != count}
    if wrong:
        raise SystemExit(f"{messages:,} messages: not as planted (planted, found): {wrong}")


def _only(folder: RunFolder) -> None:
    """Carry out the steps of an analysis that count deliveries, and write their tables."""
    from streamgauge.pipeline import run
    from streamgauge.pipeline.steps.plan import STEPS as ALL_STEPS

    steps = [step for step in ALL_STEPS if step.name in STEPS]
    with mock.patch.object(run, "STEPS", steps), mock.patch.object(run, "JUDGED_BY_ROWS", ()):
        run.analyse(folder)


if __name__ == "__main__":
    main()
