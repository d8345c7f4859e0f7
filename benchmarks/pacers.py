"""Cost of a due time, for each pacer, compared with the constant one; chunks in order, as in the produce loop.

The longest chunk is how long the produce loop stops for every 8,192 messages.
"""

import argparse
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from benchmarks.common import Int64s, heading, idle_share, spread
from streamgauge.domain.clock import NS_PER_SECOND, process_cpu_ns
from streamgauge.engine.produce.schedule import CHUNK
from streamgauge.scenario.model.pacing.pace import Pacing
from streamgauge.workload.pacing.build import pacer_of

CONSTANT = "constant"
PRODUCERS = 2
RATES: dict[str, Any] = {
    CONSTANT: "10k/s",
    "ramp": {"ramp": {"from": "1k/s", "to": "10k/s", "over": "1h"}},
    "steps": "RAMP_100_1k_10k_1s",
    "spike": "SPIKE_1k_100k_10s_1s",
    "burst": {"burst": {"base": "5k/s", "burst": "15k/s", "for": "3s", "every": "12s"}},
    "burst, periods of 5 ms": {"burst": {"base": "5k/s", "burst": "15k/s", "for": "1ms", "every": "5ms"}},
    "segments of odd lengths": {
        "segments": {
            "list": [{"rate": "1234.567/s", "for": "1234567891ns"}, {"rate": "7654.321/s", "for": "987654321ns"}],
            "then": "repeat",
        }
    },
    "windows": {"windows": {"messages": 500, "window": "100ms"}},
    "gaussian windows": {"windows": {"messages": 500, "window": "100ms", "deviation": 50}},
    "gaussian windows, spread": {"windows": {"messages": 500, "window": "100ms", "deviation": 50, "spread": True}},
    "poisson": {"poisson": {"rate": "10k/s"}},
    "replay": {"replay": {"file": "arrivals.txt", "scale": 2}},
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--chunks", type=int, default=200)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    heading(f"Pacers: due times in chunks of {CHUNK:,}, one of {PRODUCERS} producers")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    arrivals = np.cumsum(
        np.random.default_rng(42).integers(0, NS_PER_SECOND // 5_000, PRODUCERS * chosen.chunks * CHUNK)
    )
    rounds = [
        {name: _took_ns(rate, chosen.chunks, arrivals) for name, rate in RATES.items()} for _ in range(chosen.rounds)
    ]
    print("| pacer | ns a message | times constant | longest chunk us |")
    print("|---|---|---|---|")
    for name in RATES:
        costs = [float(each[name].mean()) / CHUNK for each in rounds]
        ratios = [float(each[name].mean() / each[CONSTANT].mean()) for each in rounds]
        longest = [float(each[name].max()) / 1000 for each in rounds]
        print(f"| {name} | {spread(costs, digits=1)} | {spread(ratios, digits=1)} | {spread(longest, digits=0)} |")


def _took_ns(rate: Any, chunks: int, arrivals: Int64s) -> Int64s:
    """CPU time of each chunk: on a busy machine the clock would tell more of others."""
    model = TypeAdapter[Any](Pacing).validate_python(rate)
    pacer = pacer_of(model, producer=0, producers=PRODUCERS, seed=42, warmup_ns=5 * NS_PER_SECOND, arrivals=arrivals)
    assert pacer is not None
    at_ns = [process_cpu_ns()]
    for number in range(chunks):
        pacer.due_ns(number * CHUNK, CHUNK)
        at_ns.append(process_cpu_ns())
    return np.diff(at_ns)


if __name__ == "__main__":
    main()
