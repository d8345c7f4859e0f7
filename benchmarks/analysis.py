"""The analysis, from run folder to result.json: time and memory by size, each in a new process with a cold JVM."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

from benchmarks.common import heading, idle_share, spread
from benchmarks.synthetic import Plan, make
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns, sleep_seconds
from streamgauge.domain.folder.facts import RunFolder

GIB = 1 << 30


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--messages", type=int, nargs="+", default=[300_000, 5_000_000, 20_000_000, 40_000_000])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--sticky", type=int, default=200, help="consecutive messages of a producer to one partition")
    chosen = options.parse_args()
    heading("Analysis: run folder to result.json, two producers, twelve partitions, two consumers")
    print(f"The machine was {idle_share():.0%} idle before. Rows: two for each message, and one for each poll.\n")
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


def _analyse(folder: Path) -> tuple[float, float, float]:
    """Seconds, CPU seconds and the peak of resident memory in GiB of one `analyse`, all processes together."""
    (folder / "result.json").unlink(missing_ok=True)
    began_ns, peak, cpu = monotonic_ns(), 0, dict[int, float]()
    with subprocess.Popen(
        [sys.executable, "-m", "streamgauge", "analyse", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while process.poll() is None:
            peak = max(peak, _look(process.pid, cpu))
            sleep_seconds(0.1)
        said = process.stderr.read() if process.stderr else ""
    seconds = (monotonic_ns() - began_ns) / NS_PER_SECOND
    if not (folder / "result.json").exists():
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
