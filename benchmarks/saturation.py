"""Saturation with every message recorded, compared with Kafka's ProducerPerformance, in turn on one broker."""

import argparse
import re

from benchmarks.common import (
    broker,
    call,
    heading,
    idle_share,
    producer_performance,
    run,
    spread,
    topic,
    warm_page_cache,
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--messages", type=int, default=5_000_000)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    heading("Saturation: two producers, 512 bytes, 12 partitions, acks 1, linger 5 ms, batch 128 KiB")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    ours: list[tuple[float, float, float]] = []
    theirs: list[tuple[float, float, float]] = []
    with broker() as running:
        warm_page_cache(running.bootstrap)
        with topic(running.bootstrap) as name:
            jvm_start = call(producer_performance(running.bootstrap, name, 1)).cpu_seconds
        start = _start(running.bootstrap)
        for _ in range(chosen.rounds):
            ours.append(_ours(running.bootstrap, chosen.messages, ours[-1][0] if ours else 400_000.0, start))
            theirs.append(_theirs(running.bootstrap, chosen.messages, jvm_start))
    print("| tool | messages/s | CPU us a message | start-up CPU s |")
    print("|---|---|---|---|")
    for label, figures in (("Streamgauge, every message recorded", ours), ("ProducerPerformance", theirs)):
        rates, cpus, starts = zip(*figures, strict=True)
        print(f"| {label} | {spread(rates, digits=0)} | {spread(cpus)} | {spread(starts)} |")
    rate_ratios = [a[0] / b[0] for a, b in zip(ours, theirs, strict=True)]
    cpu_ratios = [a[1] / b[1] for a, b in zip(ours, theirs, strict=True)]
    print(f"\nRatios, pair by pair: rate {spread(rate_ratios)}, CPU a message {spread(cpu_ratios)}.")


def _start(bootstrap: str) -> float:
    """CPU in s of a run that sends next to nothing: what it takes to start and to end, as it is taken for theirs."""
    few = ["consume=off", "load.rate=2", "phases.warmup=0s", "phases.measure=1s"]
    with topic(bootstrap) as name, run("saturate", bootstrap, *few, f"topic.name={name}") as ran:
        return ran.cpu_seconds


def _ours(bootstrap: str, messages: int, rate: float, start: float) -> tuple[float, float, float]:
    """Rate, CPU a message in us, start-up CPU in s of a run that lasts for about so many messages."""
    settings = ["consume=off", "phases.warmup=1s", f"phases.measure={max(2, round(messages * 1.1 / rate))}s"]
    with topic(bootstrap) as name, run("saturate", bootstrap, *settings, f"topic.name={name}") as ran:
        sent, acked = ran.column("sent", "sent_ns", "acked_ns")
        seconds = float(acked.max() - sent.min()) / 1e9
        count = len(acked)
        return count / seconds, (ran.cpu_seconds - start) / count * 1e6, start


def _theirs(bootstrap: str, messages: int, jvm_start: float) -> tuple[float, float, float]:
    with topic(bootstrap) as name:
        used = call(producer_performance(bootstrap, name, messages))
    found = re.findall(r"([\d.]+) records/sec", used.output)
    return float(found[-1]), (used.cpu_seconds - jvm_start) / messages * 1e6, jvm_start


if __name__ == "__main__":
    main()
