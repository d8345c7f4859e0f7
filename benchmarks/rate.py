"""Whether the target rate is reached, and the end-to-end latency of a healthy stream."""

import argparse

import numpy as np

from benchmarks.common import broker, heading, idle_share, run, spread, topic


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=int, default=30)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    heading("Rate: 10,000 messages of 512 bytes a second, two producers, two consumers, linger 5 ms")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    rates, latencies = [], []
    with broker() as running:
        for _ in range(chosen.rounds):
            rate, latency = _measure(running.bootstrap, chosen.seconds)
            rates.append(rate)
            latencies.append(latency)
    print(f"Target 10,000/s; received in the measure phase {spread(rates)}/s.  ")
    print("End-to-end latency from the due time, ms:\n")
    print("| p50 | p99 | p99.9 | max |")
    print("|---|---|---|---|")
    print("| " + " | ".join(spread(values) for values in zip(*latencies, strict=True)) + " |")


def _measure(bootstrap: str, seconds: int) -> tuple[float, list[float]]:
    """Messages received a second, and percentiles of what was due, in the measure phase."""
    with (
        topic(bootstrap) as name,
        run("baseline", bootstrap, f"phases.measure={seconds}s", f"topic.name={name}") as ran,
    ):
        phase = next(each for each in ran.facts.phases if each.name == "measure")
        due, received = ran.column("received", "due_ns", "received_ns")
        in_phase = (received >= phase.from_ns) & (received < phase.to_ns)
        latency_ms = (received - due)[(due >= phase.from_ns) & (due < phase.to_ns)] / 1e6
        rate = in_phase.sum() / ((phase.to_ns - phase.from_ns) / 1e9)
        return float(rate), [float(np.percentile(latency_ms, rank)) for rank in (50, 99, 99.9, 100)]


if __name__ == "__main__":
    main()
