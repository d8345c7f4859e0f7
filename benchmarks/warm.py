"""Analyses of one run after each other in one session, as an experiment makes them: time, CPU and compiling by the JVM.

With `--java`, in turn with a session whose JVM is given these options, which override its own.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psutil

from benchmarks.common import heading, idle_share, need_archives
from benchmarks.synthetic import Plan, make
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.domain.folder.facts import RunFolder

WARM_AFTER: Final = 4
"""Analyses of a session that are not in its medians."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--messages", type=int, default=70_000)
    options.add_argument("--analyses", type=int, default=16)
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--java", default="", metavar="OPTIONS", help="compare with a JVM of these options")
    options.add_argument("--only", type=Path, metavar="RUN", help="analyse this run, and print nothing but figures")
    chosen = options.parse_args()
    if chosen.only:
        _analyse(RunFolder(chosen.only), chosen.analyses)
        return
    if chosen.analyses <= WARM_AFTER:
        options.error(f"--analyses: write more than {WARM_AFTER}; the first {WARM_AFTER} are not in the medians")
    need_archives()
    heading("Warm analyses: one run again and again, in one session")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    print("| JVM | seconds of each analysis | from the fifth on, median: seconds | CPU seconds | of these, compiling |")
    print("|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        make(RunFolder(Path(folder)), Plan(chosen.messages))
        for java in ["", chosen.java][: 1 + bool(chosen.java)] * chosen.rounds:
            _print_line(java, _measured(Path(folder), chosen.analyses, java))


def _measured(folder: Path, analyses: int, java: str) -> list[tuple[float, float, float]]:
    """Seconds, CPU seconds and seconds of compiling of each analysis, in a new process."""
    command = [sys.executable, "-m", "benchmarks.warm", "--only", str(folder), "--analyses", str(analyses)]
    # What this variable says overrides the command line, so that the JVM also finds its archive of classes.
    environment = os.environ | ({"_JAVA_OPTIONS": java} if java else {})
    said = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = [tuple(map(float, line.split())) for line in said.splitlines()]
    return [(seconds, cpu, compiling) for seconds, cpu, compiling in lines]


def _print_line(java: str, analyses: Sequence[tuple[float, float, float]]) -> None:
    each = ", ".join(f"{seconds:.1f}" for seconds, _, _ in analyses)
    settled = [statistics.median(column) for column in zip(*analyses[WARM_AFTER:], strict=True)]
    print(f"| {java or 'as it is'} | {each} | {' | '.join(f'{value:.2f}' for value in settled)} |", flush=True)


def _analyse(folder: RunFolder, analyses: int) -> None:
    from streamgauge.pipeline.run import analyse
    from streamgauge.pipeline.spark.session import SESSIONS

    used = compiled = 0.0
    for _ in range(analyses):
        began_ns = monotonic_ns()
        analyse(folder)
        seconds = (monotonic_ns() - began_ns) / NS_PER_SECOND
        kept = SESSIONS._kept
        assert kept is not None
        with kept.used():
            beans = kept.current.jvm.java.lang.management.ManagementFactory
            now_compiled = beans.getCompilationMXBean().getTotalCompilationTime() / 1e3
        times = [psutil.Process(pid).cpu_times() for pid in (None, kept.jvm.process.pid)]
        now_used = sum(time.user + time.system for time in times)
        print(f"{seconds} {now_used - used} {now_compiled - compiled}", flush=True)
        used, compiled = now_used, now_compiled


if __name__ == "__main__":
    main()
