"""How long a thread takes to go on when what it waits for has come, apart from its wait for a core.

Another process writes the time into a pipe every few milliseconds; a thread that waits for it reads the clock when it
has it. Beside it run programs that work and sleep in turns, none or `--busy` of them. The interval of a latency allows
for this where a consumer or a producer waited: `WAKE_NS` in `kafka/clients/arrivals.py`.
"""

import argparse
import os
import struct
import subprocess
import sys
from contextlib import closing
from typing import Final

import numpy as np

from benchmarks.common import Int64s, heading, idle_share, spread
from benchmarks.starving import beside
from streamgauge.domain.clock import NS_PER_US, monotonic_ns
from streamgauge.kafka.clients.arrivals import WAKE_NS
from streamgauge.processes.cpu.waiting import ThreadDelay

RANKS: Final = (50.0, 99.0, 99.9, 100.0)
_TIME: Final = struct.Struct("q")
_WRITES: Final = """
import os, struct, sys, time
for _ in range(int(sys.argv[2])):
    time.sleep(0.0025)
    os.write(int(sys.argv[1]), struct.pack("q", time.monotonic_ns()))
"""
_WORKS: Final = "import time\nwhile True:\n    sum(range(3000))\n    time.sleep(0.0003)"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--busy", type=int, default=2)
    options.add_argument("--wakes", type=int, default=4000)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    heading("Waking up: a thread that waited, until it goes on, in us")
    print(f"The machine was {idle_share():.0%} idle before.")
    print(f"The interval of a latency allows {WAKE_NS / NS_PER_US:.0f} us.\n")
    found: dict[int, list[Int64s]] = {0: [], chosen.busy: []}
    for _ in range(chosen.rounds):
        for busy, rounds in found.items():
            with beside(busy, _WORKS):
                rounds.append(_wakes(chosen.wakes))
    print(f"| programs beside it | {' | '.join('largest' if rank == 100 else f'p{rank:g}' for rank in RANKS)} |")
    print(f"|{'---|' * (1 + len(RANKS))}")
    for busy, rounds in found.items():
        of_ranks = zip(*(np.percentile(each, RANKS) / NS_PER_US for each in rounds), strict=True)
        print(f"| {busy} | {' | '.join(spread(list(each), digits=0) for each in of_ranks)} |")


def _wakes(count: int) -> Int64s:
    """How long each of so many wake-ups took, in ns, less the wait for a core."""
    reads, writes = os.pipe()
    with closing(ThreadDelay()) as delay:
        writer = subprocess.Popen([sys.executable, "-c", _WRITES, str(writes), str(count)], pass_fds=[writes])
        os.close(writes)
        took_ns = []
        before_ns = delay()
        while told := os.read(reads, _TIME.size):
            now_ns, after_ns = monotonic_ns(), delay()
            if before_ns is None or after_ns is None:
                raise SystemExit("this kernel does not count run delay; see /proc/self/schedstat")
            took_ns.append(now_ns - _TIME.unpack(told)[0] - (after_ns - before_ns))
            before_ns = after_ns
    os.close(reads)
    if writer.wait():
        raise SystemExit("the process that writes failed")
    return np.array(took_ns, np.int64)


if __name__ == "__main__":
    main()
