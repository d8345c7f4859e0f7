"""Cost of the live view and the metrics endpoint, in the supervisor and in the workers."""

import argparse
import io
import urllib.request
from collections.abc import Callable

import numpy as np
import pyarrow.dataset as ds
from rich.console import Console

from benchmarks.common import Int64s, Ran, broker, heading, idle_share, run, spread, topic
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.domain.look import Look
from streamgauge.engine.board import Cells, Latencies
from streamgauge.watch.metrics.endpoint import Metrics
from streamgauge.watch.view import View

RATE = 10_000
TAKES_PER_SECOND = {"producer": 300, "consumer": 1_000}
"""How often a worker of each role has something to count at that rate, about; there are two of each."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=int, default=20)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    heading("Watch: 10,000 messages a second, without a view, and with a live view and metrics scraped every second")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    alone, watched = [], []
    with broker() as running:
        for _ in range(chosen.rounds):
            alone.append(_supervisor(running.bootstrap, chosen.seconds, None))
            with Metrics("baseline", RATE, scheduled=True) as metrics, _view() as view:
                watched.append(_supervisor(running.bootstrap, chosen.seconds, _both(view, metrics)))
    counting = [2 * sum(map(_counting, TAKES_PER_SECOND.values())) for _ in range(chosen.rounds)]
    print("| | % of one core |")
    print("|---|---|")
    print(f"| supervisor, no view | {spread(alone)} |")
    print(f"| supervisor with view and endpoint, scraped every second | {spread(watched)} |")
    print(f"| counting latencies, all four workers together | {spread(counting)} |")
    costs = [more - less + count for more, less, count in zip(watched, alone, counting, strict=True)]
    print(f"\nWatching costs {spread(costs)} % of one core, including the counting, which is always on.")


def _view() -> View:
    return View(RATE, Console(file=io.StringIO(), width=100, force_terminal=True))


def _both(view: View, metrics: Metrics) -> Callable[[Look], None]:
    def show(look: Look) -> None:
        view.show(look)
        metrics.show(look)
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics.port}/metrics", timeout=5) as answer:
            answer.read()

    return show


def _supervisor(bootstrap: str, seconds: int, watch: Callable[[Look], None] | None) -> float:
    """CPU of the supervising process in the measure phase, in percent of one core; asking for metrics included."""
    with (
        topic(bootstrap) as name,
        run("baseline", bootstrap, f"phases.measure={seconds}s", f"topic.name={name}", watch=watch) as ran,
    ):
        at_ns, cpu_ns = _samples(ran)
        phase = next(each for each in ran.facts.phases if each.name == "measure")
        inside = (at_ns >= phase.from_ns) & (at_ns < phase.to_ns)
        at_ns, cpu_ns = at_ns[inside], cpu_ns[inside]
        return float((cpu_ns[-1] - cpu_ns[0]) / (at_ns[-1] - at_ns[0]) * 100)


def _samples(ran: Ran) -> tuple[Int64s, Int64s]:
    files = sorted(str(path) for path in ran.folder.events.glob("resources/*/part-*.parquet"))
    table = ds.dataset(files).to_table(columns=["at_ns", "cpu_ns"], filter=ds.field("process") == "supervisor")
    order = np.argsort(table["at_ns"].to_numpy())
    return table["at_ns"].to_numpy()[order], table["cpu_ns"].to_numpy()[order]


def _counting(takes_per_second: int, seconds: int = 5) -> float:
    """What one of two workers spends on counting, in percent of one core."""
    board = Cells.new(1, 1)
    latencies = Latencies(board.latencies[0], 0)
    count = RATE // 2 // takes_per_second
    due_ns = np.arange(count) * 100_000
    began_ns = monotonic_ns()
    for take in range(seconds * takes_per_second):
        now_ns = take * NS_PER_SECOND // takes_per_second
        latencies.take(now_ns + 5_000_000, due_ns + now_ns, None, count, now_ns)
    spent_ns = monotonic_ns() - began_ns
    return spent_ns / seconds / NS_PER_SECOND * 100


if __name__ == "__main__":
    main()
