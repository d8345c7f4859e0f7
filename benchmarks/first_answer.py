"""How long a first answer takes: a start of the embedded broker, and the run of `make demo` part by part.

Archives of Java classes are there, as after `streamgauge doctor --prepare`; if not, they are made first.
"""

import argparse
import os
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.common import demo, heading, idle_share, need_archives, spread
from streamgauge.cluster.embedded import start_cluster
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.processes.jvm.java import find_java
from streamgauge.record.facts import read_facts

_PARTS: Final = (
    "until the load starts",
    "drain",
    "from the end of the drain to the printed result",
    "from there to the end: the report is written",
    "beyond the load",
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    heading("First answer: start of the broker, and the run of `make demo`")
    need_archives()
    print(f"The machine was {idle_share():.0%} idle before.\n", flush=True)
    starts = [_broker_start() for _ in range(chosen.rounds)]
    runs = [_demo() for _ in range(chosen.rounds)]
    print("| part | seconds |")
    print("|---|---|")
    print(f"| start of the broker | {spread(starts)} |")
    for part, seconds in zip(_PARTS, zip(*runs, strict=True), strict=True):
        print(f"| {part} | {spread(seconds)} |")


def _broker_start() -> float:
    """Seconds until a broker serves clients."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        began_ns = monotonic_ns()
        with start_cluster(logs=Path(folder), java=find_java(os.environ)):
            return (monotonic_ns() - began_ns) / NS_PER_SECOND


def _demo() -> tuple[float, ...]:
    """Seconds of each part of a run, of which the last is all of it but the load."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as out:
        began_ns = monotonic_ns()
        ran = demo(Path(out))
        ended_ns = monotonic_ns()
        phases = read_facts(ran.folder).phases
    starts_ns, over_ns, drained_ns = phases[0].from_ns, phases[-1].from_ns, phases[-1].to_ns
    spans_ns = (
        starts_ns - began_ns,
        drained_ns - over_ns,
        ran.printed_ns - drained_ns,
        ended_ns - ran.printed_ns,
        ended_ns - began_ns - over_ns + starts_ns,
    )
    return tuple(span_ns / NS_PER_SECOND for span_ns in spans_ns)


if __name__ == "__main__":
    main()
