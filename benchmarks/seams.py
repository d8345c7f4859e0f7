"""Steps of the gap between batches in real-time mode.

The job is `pass`, 1,000 messages of 512 bytes a second, batches of 60 s. The gap lasts from the last message received
before it to the first after it. Its steps are bounded by the start of the next batch in Spark's progress reports, and
by starts and ends of jobs and tasks in Spark's event log, so they add up to the gap.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.common import Float64s, Ran, broker, heading, idle_share, spread
from benchmarks.engines import ENGINES, measured, piped, table_of
from streamgauge.domain.clock import NS_PER_MS

RATE: Final = 1_000
BATCH_SECONDS: Final = 60
WARMUP_SECONDS: Final = 90
"""The first seam is over by then."""
NEAR_MS: Final = 2_000
"""So far around the begin of a batch its seam is looked for."""


class Seam(NamedTuple):
    """Steps of one seam in the order of their happening, in ms."""

    wait: float
    """From the last message before to the first after: the sum of the others."""
    tasks_end: float
    """From the last message until the job of the batch is over."""
    results: float
    """From there until the trigger is over, without the commit."""
    commit: float
    """Spark's own time for it."""
    between: float
    """Until the next trigger begins."""
    prepare: float
    """Log ends, planning, write-ahead log: until the next job begins."""
    tasks_start: float
    """Until the last of its tasks is started."""
    first_message: float
    """Until a message is received again."""


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--seams", type=int, default=6)
    chosen = words.parse_args()
    heading("Gaps between batches of real-time mode, step by step")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder, broker() as running:
        options = {"enabled": "true", "dir": Path(folder).as_uri(), "rolling.enabled": "false", "compress": "false"}
        logged = ", ".join(f"spark.eventLog.{name}: '{value}'" for name, value in options.items())
        settings = (
            f"pipeline.settings={{{logged}}}",
            f"phases.warmup={WARMUP_SECONDS}s",
            f"phases.measure={chosen.seams * BATCH_SECONDS}s",
        )
        with piped(running.bootstrap, RATE, *ENGINES["real-time"], *settings) as ran:
            found = list(seams(ran, _jobs(Path(folder))))
    print(f"{len(found)} gaps, ms; median (least to most)\n")
    print("| step | ms |\n|---|---|")
    for name in Seam._fields:
        print(f"| {name.replace('_', ' ')} | {spread([getattr(seam, name) for seam in found], digits=0)} |")


class Job(NamedTuple):
    """A job of Spark: its begin, the start of its last task, its end; wall clock, ms."""

    began: int
    tasks_began: int
    ended: int


def _jobs(folder: Path) -> list[Job]:
    """The jobs of the event log that began tasks, in their order."""
    found: list[dict[str, Any]] = [
        json.loads(line) for path in folder.iterdir() if not path.name.startswith(".") for line in path.open()
    ]
    begins = [each["Submission Time"] for each in found if each["Event"] == "SparkListenerJobStart"]
    ends = [each["Completion Time"] for each in found if each["Event"] == "SparkListenerJobEnd"]
    tasks = [each["Task Info"]["Launch Time"] for each in found if each["Event"] == "SparkListenerTaskStart"]
    # A query has one job after the other.
    return [
        Job(began, max(task for task in tasks if began <= task <= ended), ended)
        for began, ended in zip(begins, ends, strict=False)
    ]


def seams(ran: Ran, jobs: Sequence[Job]) -> Iterator[Seam]:
    """The seams within the measure phase."""
    measure, ahead_ns = measured(ran), ran.facts.wall_ns - ran.facts.monotonic_ns
    received = np.sort(ran.column("received", "received_ns")[0] + ahead_ns) / NS_PER_MS
    batches = table_of(ran, "progress", "began_ms", "duration_ms", "commit_ms").sort_by("began_ms").to_pylist()
    ends_ms = (measure.to_ns + ahead_ns) / NS_PER_MS
    begins_ms = (measure.from_ns + ahead_ns) / NS_PER_MS
    for before, after in pairwise(batches):
        began = after["began_ms"]
        if not begins_ms < began - NEAR_MS < began + NEAR_MS < ends_ms:
            continue
        last, first = widest(received[(received > began - NEAR_MS) & (received < began + NEAR_MS)])
        done = max((job for job in jobs if job.ended <= began), key=lambda job: job.ended)
        new = min((job for job in jobs if job.began >= began), key=lambda job: job.began)
        over = before["began_ms"] + before["duration_ms"]
        yield Seam(
            wait=first - last,
            tasks_end=done.ended - last,
            results=over - done.ended - before["commit_ms"],
            commit=before["commit_ms"],
            between=began - over,
            prepare=new.began - began,
            tasks_start=new.tasks_began - new.began,
            first_message=first - new.tasks_began,
        )


def widest(times: Float64s) -> tuple[float, float]:
    """The two neighbours that are farthest apart."""
    place = int(np.diff(times).argmax())
    return float(times[place]), float(times[place + 1])


if __name__ == "__main__":
    main()
