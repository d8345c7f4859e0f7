"""The analysis, from run folder to result.json: time and memory by size, each in a new process with a cold JVM.

With `--bounds`, in turn with an analysis that asks for no bounds of latencies: what these take of the time.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

import psutil

from benchmarks.common import heading, idle_share, spread
from benchmarks.synthetic import Plan, make
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns, sleep_seconds
from streamgauge.domain.folder.facts import RunFolder

if TYPE_CHECKING:
    # Whoever imports it loads Spark, which the processes that are measured do by themselves.
    from streamgauge.pipeline.steps.step import Step

GIB = 1 << 30
ANALYSE: Final = (sys.executable, "-m", "streamgauge", "analyse")
BOUNDING: Final = frozenset({"doubted", "bounds", "sampling"})
"""Steps of an analysis that find bounds of latencies."""
WITHOUT: Final = (sys.executable, "-m", "benchmarks.analysis", "--without-bounds")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--messages", type=int, nargs="+", default=[300_000, 5_000_000, 20_000_000, 40_000_000])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--sticky", type=int, default=200, help="consecutive messages of a producer to one partition")
    options.add_argument("--bounds", action="store_true", help="compare with an analysis without bounds, in turn")
    options.add_argument("--without-bounds", type=Path, metavar="RUN", help="only analyse this run so")
    chosen = options.parse_args()
    if chosen.without_bounds:
        _without_bounds(RunFolder(chosen.without_bounds))
        return
    heading("Analysis: run folder to result.json, two producers, twelve partitions, two consumers")
    print(f"The machine was {idle_share():.0%} idle before. Rows: two for each message, and one for each poll.\n")
    if chosen.bounds:
        _compare(chosen.messages, chosen.rounds, chosen.sticky)
        return
    print("| messages | seconds | CPU seconds | peak memory of JVM and driver, GiB | seconds per million messages |")
    print("|---|---|---|---|---|", flush=True)
    for messages in chosen.messages:
        with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
            make(RunFolder(Path(folder)), Plan(messages, sticky=chosen.sticky))
            rounds = [_analyse(Path(folder)) for _ in range(chosen.rounds)]
        seconds, cpus, memories = zip(*rounds, strict=True)
        each = [value / messages * 1e6 for value in seconds]
        cells = [spread(seconds, digits=1), spread(cpus, digits=1), spread(memories), spread(each)]
        print(f"| {messages:,} | {' | '.join(cells)} |", flush=True)


def _compare(sizes: Sequence[int], rounds: int, sticky: int) -> None:
    print("| messages | seconds with bounds | without | CPU seconds with | without | bounds take |")
    print("|---|---|---|---|---|---|", flush=True)
    for messages in sizes:
        with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
            make(RunFolder(Path(folder)), Plan(messages, sticky=sticky))
            pairs = [(_analyse(Path(folder)), _analyse(Path(folder), WITHOUT)) for _ in range(rounds)]
        cells = [spread([pair[side][what] for pair in pairs], digits=1) for what in (0, 1) for side in (0, 1)]
        shares = [(with_[0] - without[0]) / with_[0] for with_, without in pairs]
        taken = f"{statistics.median(shares):.1%} ({min(shares):.1%} to {max(shares):.1%})"
        print(f"| {messages:,} | {' | '.join(cells)} | {taken} |", flush=True)


def _without_bounds(folder: RunFolder) -> None:
    """Analyse a run, and leave out what finds bounds: three steps of the plan, and the width of each message."""
    from streamgauge.pipeline import run
    from streamgauge.pipeline.metrics import expressions
    from streamgauge.pipeline.metrics.aggregates.histogram import NOT_KNOWN
    from streamgauge.pipeline.steps.plan import STEPS
    from streamgauge.runs.analysis import analyse

    steps = [replace(step, work=nothing(step)) if step.name in BOUNDING else step for step in STEPS]
    with (
        mock.patch.object(run, "STEPS", steps),
        mock.patch.object(expressions, "width_of", return_value=NOT_KNOWN),
    ):
        analyse(folder, lambda _: None)


def nothing(step: "Step") -> Callable[..., Any]:
    """What a step does that finds nothing: no rows, and no value for later steps."""
    given: Any = [] if len(step.tables) == 1 else {table.name: [] for table in step.tables} or None
    return lambda *_: given


def _analyse(folder: Path, command: Sequence[str] = ANALYSE) -> tuple[float, float, float]:
    """Seconds, CPU seconds and the peak of resident memory in GiB of one `analyse`, all processes together."""
    return measured(folder, command, folder / "result.json")


def measured(folder: Path, command: Sequence[str], written: Path) -> tuple[float, float, float]:
    """The same of a command that takes a run folder, and writes this file."""
    written.unlink(missing_ok=True)
    began_ns, peak, cpu = monotonic_ns(), 0, dict[int, float]()
    with subprocess.Popen(
        [*command, str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while process.poll() is None:
            peak = max(peak, _look(process.pid, cpu))
            sleep_seconds(0.1)
        said = process.stderr.read() if process.stderr else ""
    seconds = (monotonic_ns() - began_ns) / NS_PER_SECOND
    if not written.exists():
        raise SystemExit(f"the analysis failed: {said}")
    return seconds, sum(cpu.values()), peak / GIB


def _look(pid: int, cpu: dict[int, float]) -> int:
    """Resident memory of a process and all below it, now; what each has used of the CPU goes into `cpu`."""
    total = 0
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
    except psutil.Error:
        return 0
    for each in family:
        try:
            total += each.memory_info().rss
            times = each.cpu_times()
        except psutil.Error:
            continue
        cpu[each.pid] = times.user + times.system
    return total


if __name__ == "__main__":
    main()
