"""How long a run takes until its load starts, on a warm broker: with forked workers, and with a process for each.

A fork server loads what workers need once. With an embedded broker it does so while that starts; here only topics are
made meanwhile, so most of its loading is waited for. In turn; the load is small, and nothing is analysed.
"""

import argparse
import statistics
from functools import partial
from typing import Final
from unittest.mock import patch

from benchmarks.common import broker, heading, idle_share, run, spread, topic
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.engine.supervise.local import LocalLauncher
from streamgauge.runs.conduct import conduct

CONSUMERS: Final = (2, 6)
WAYS: Final = {"a process each": False, "forked": True}
_SETTINGS: Final = ("phases.warmup=200ms", "phases.measure=1s", "load.rate=1k/s")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    heading("Starting workers: from the begin of a run to that of its load")
    print(f"The machine was {idle_share():.0%} idle before.\n", flush=True)
    found: dict[tuple[int, str], list[tuple[float, float]]] = {}
    with broker() as running:
        for _ in range(chosen.rounds):
            for consumers in CONSUMERS:
                for way, forks in WAYS.items():
                    took = _started(running.bootstrap, consumers, forks=forks)
                    found.setdefault((consumers, way), []).append(took)
    print("| consumers | workers are | seconds | against a process each | CPU seconds of the whole run |")
    print("|---|---|---|---|---|")
    for (consumers, way), rounds in found.items():
        seconds, cpu = ([each[place] for each in rounds] for place in (0, 1))
        before = [each for each, _ in found[consumers, "a process each"]]
        ratio = statistics.median(one / other for one, other in zip(seconds, before, strict=True))
        print(f"| {consumers} | {way} | {spread(seconds)} | {ratio:.2f} | {spread(cpu)} |")


def _started(bootstrap: str, consumers: int, *, forks: bool) -> tuple[float, float]:
    """Seconds until the load starts, and CPU seconds of the run and its workers."""
    settings = (*_SETTINGS, f"consume.consumers={consumers}")
    began_ns = monotonic_ns()
    with (
        patch.object(conduct, "LocalLauncher", partial(LocalLauncher, forks=forks)),
        topic(bootstrap, None) as name,
        run("baseline", bootstrap, *settings, f"topic.name={name}") as ran,
    ):
        return (ran.facts.phases[0].from_ns - began_ns) / NS_PER_SECOND, ran.cpu_seconds


if __name__ == "__main__":
    main()
