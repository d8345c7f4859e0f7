"""A page of many runs: time to build it, its size, and the time until the table of all runs is on the screen.

One run is simulated; its result is written again and again with other settings, machines, dates and figures.
"""

import argparse
import json
import statistics
import sys
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from tools.browser import browser

from benchmarks.common import call, heading, idle_share, spread
from benchmarks.gold import Long, make
from benchmarks.report import painted
from streamgauge.domain.clock import NS_PER_SECOND, utc_text
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.assemble.result import write_result

BARS = "the table of 500 runs at most 2 s after the page is opened from disk"
SIZES = [64, 256, 1024, 4096]
SCENARIOS = [f"scenario-{number}" for number in range(5)]
HOUR_NS = 3_600 * NS_PER_SECOND
MOVED = ("latency.", "throughput.")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=500)
    options.add_argument("--seconds", type=int, default=30, help="measure phase of each run")
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    heading(f"A page of {chosen.runs:,} runs of {chosen.seconds} s, five scenarios in four sizes")
    print(f"The machine was {idle_share():.0%} idle before. Bar: {BARS}.\n")
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as place:
        runs, site = Path(place) / "runs", Path(place) / "site"
        write_runs(runs, chosen.runs, chosen.seconds)
        command = [sys.executable, "-m", "streamgauge", "site", str(runs), "--out", str(site), "--json"]
        first = call(command)
        again = call(command)
        changes = len(json.loads(first.output)["changes"])
        shown = [table_seconds(site / "index.html") for _ in range(chosen.rounds)]
        sizes = {name: (site / name).stat().st_size / 1e6 for name in ("index.html", "data.js", "trends.html")}
    print("| | |\n|---|---|")
    print(f"| built | {first.wall_seconds:.1f} s ({first.cpu_seconds:.1f} s of CPU) |")
    print(f"| built again | {again.wall_seconds:.1f} s |")
    print(f"| changes told (a step of 20 % is planted in each of {len(SCENARIOS) * len(SIZES)} series) | {changes} |")
    print(f"| {', '.join(sizes)} | {', '.join(f'{size:.2f} MB' for size in sizes.values())} |")
    print(f"| until the table is there | {spread(shown, ' s')} |", flush=True)
    if statistics.median(shown) > 2:
        raise SystemExit("the table is later than it may be")


def write_runs(root: Path, count: int, seconds: int) -> None:
    """Result files of so many runs, half of them 20 % slower, in folders of ten."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as place:
        folder = RunFolder(Path(place) / "run")
        make(folder, Long(seconds))
        original = write_result(folder).document()
    rng = np.random.default_rng(1)
    for number in range(count):
        document = deepcopy(original)
        run = document["run"]
        run["versions"]["streamgauge"] = "0.1.0" if number < count // 2 else "0.2.0"
        run["name"] = SCENARIOS[number % len(SCENARIOS)]
        run["scenario"]["load"]["size"] = SIZES[number // len(SCENARIOS) % len(SIZES)]
        run["id"] = f"run-{number:04}"
        run["created"] = utc_text(1_767_225_600 * NS_PER_SECOND + number * HOUR_NS)
        _move(document["trust"], float(rng.lognormal(0, 0.05)) * (1.2 if number >= count // 2 else 1))
        target = RunFolder(root / f"batch-{number // 10:03}" / run["id"])
        target.root.mkdir(parents=True)
        target.facts.write_text(json.dumps(run))
        target.result.write_text(json.dumps(document))


def _move(trust: dict[str, Any], factor: float) -> None:
    """Other figures, and all of them believed: what is simulated has no bounds."""
    for path, figure in trust.items():
        value = figure["value"] * factor if path.startswith(MOVED) else figure["value"]
        figure |= {"value": value, "low": value, "high": value, "trust": "believed", "because": []}


def table_seconds(page_file: Path) -> float:
    """Seconds from the beginning of the navigation until the table has been painted, in a browser of its own."""
    with browser() as started:
        return painted(started, page_file)[1]


if __name__ == "__main__":
    main()
