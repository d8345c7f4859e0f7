"""What many runs cost: the time of an experiment beside its phases, gold tables of many runs, comparing two runs.

The runs of the experiment are made here, on one embedded broker; for the gold tables their folders are linked as often
as it takes, and Spark starts cold.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import psutil

import streamgauge
from benchmarks.common import call, heading, spread
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord
from streamgauge.runs.experiment.folder import write_record

WARMUP_SECONDS: Final = 2
MEASURE_SECONDS: Final = 5
_GOLD: Final = """
import sys
from pathlib import Path
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.runs.experiment.folder import read_record
from streamgauge.runs.experiment.results import write_tables
folder = ExperimentFolder(Path(sys.argv[1]))
write_tables(folder, read_record(folder))
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=20, help="of the experiment")
    options.add_argument("--gold", type=int, default=1000, help="runs of which gold tables are written")
    options.add_argument("--rounds", type=int, default=5, help="of comparing two runs")
    chosen = options.parse_args()
    heading("Many runs: an experiment, its gold tables, and a comparison")
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as place:
        made = _experiment(Path(place), chosen.runs)
        _gold(made, Path(place) / "many", chosen.gold)
        _compare(made, chosen.rounds)


def _experiment(place: Path, runs: int) -> streamgauge.Experiment:
    shorter = {"phases.warmup": f"{WARMUP_SECONDS}s", "phases.measure": f"{MEASURE_SECONDS}s"}
    document = {
        "name": "many", "scenario": "baseline", "set": shorter, "vary": {"load.size": [256, 512]},
        "repeat": max(1, runs // 2),
    }  # fmt: skip
    begun_ns = monotonic_ns()
    made = streamgauge.experiment(document, out=place)
    total = (monotonic_ns() - begun_ns) / NS_PER_SECOND
    beside = [each.seconds - WARMUP_SECONDS - MEASURE_SECONDS for each in made.record.runs if each.seconds is not None]
    print(f"An experiment of {len(made.record.runs)} runs of {WARMUP_SECONDS} s + {MEASURE_SECONDS} s: {total:.0f} s\n")
    print("| beside the phases of a run | median (range) |\n|---|---|")
    print(f"| the first, which starts broker and Spark | {beside[0]:.1f} s |")
    print(f"| all others | {spread(beside[1:], ' s', 1)} |\n")
    outcomes = statistics.multimode(each.outcome for each in made.record.runs)
    print(f"Outcomes: mostly {outcomes[0]}.\n", flush=True)
    return made


def _gold(made: streamgauge.Experiment, root: Path, count: int) -> None:
    """Link the runs until there are enough of them, and write the gold tables in a process of their own."""
    many = ExperimentFolder(root)
    many.runs.mkdir(parents=True)
    originals = [each for each in made.record.runs if each.folder]
    runs = []
    for number in range(count):
        original = originals[number % len(originals)]
        source, target = made.folder.runs / str(original.folder), many.runs / f"run-{number}"
        (target / "tables").mkdir(parents=True)
        for path in [source / "result.json", source / "tables" / "latency_buckets.parquet"]:
            os.link(path, target / path.relative_to(source))
        runs.append(
            original.model_copy(update={"folder": target.name, "round": number // len(made.record.variants) + 1})
        )
    record: ExperimentRecord = made.record.model_copy(update={"runs": runs, "repeat": count})
    write_record(many, record)
    begun_ns = monotonic_ns()
    with subprocess.Popen([sys.executable, "-c", _GOLD, str(root)]) as process:
        most = _peak_bytes(process)
    seconds = (monotonic_ns() - begun_ns) / NS_PER_SECOND
    size = sum(path.stat().st_size for path in many.tables.iterdir())
    print(f"Gold tables of {count:,} runs, cold: {seconds:.1f} s, at most {most / 2**20:,.0f} MiB of memory, ", end="")
    print(f"{size / 2**20:.1f} MiB of tables (exit code {process.returncode})\n", flush=True)


def _peak_bytes(process: "subprocess.Popen[bytes]") -> int:
    """The most memory of a process and its children while it runs."""
    most = 0
    while process.poll() is None:
        try:
            top = psutil.Process(process.pid)
            most = max(most, sum(each.memory_info().rss for each in [top, *top.children(recursive=True)]))
        except psutil.Error:
            continue
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    return most


def _compare(made: streamgauge.Experiment, rounds: int) -> None:
    two = [str(each.folder.root) for each in made.runs[:2]]
    seconds = [call([sys.executable, "-m", "streamgauge", "compare", *two]).wall_seconds for _ in range(rounds)]
    print(f"Comparing two runs without Spark: {spread(seconds, ' s')}")


if __name__ == "__main__":
    main()
