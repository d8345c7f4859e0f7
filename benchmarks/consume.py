"""Reading a full topic, every message decoded and recorded, compared with Kafka's ConsumerPerformance, in turn."""

import argparse

from benchmarks.common import (
    broker,
    call,
    fill,
    heading,
    idle_share,
    kafka_tool,
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
    heading("Consume: a full topic of 512-byte messages, 1 of 16 checksums verified")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    figures: dict[str, list[tuple[float, float]]] = {"one consumer": [], "two consumers": [], "ConsumerPerformance": []}
    with broker() as running, topic(running.bootstrap) as name:
        warm_page_cache(running.bootstrap)
        total = fill(running.bootstrap, name, chosen.messages, seconds=8)
        for _ in range(chosen.rounds):
            for consumers, label in ((1, "one consumer"), (2, "two consumers")):
                figures[label].append(_ours(running.bootstrap, name, consumers, total))
            figures["ConsumerPerformance"].append(_theirs(running.bootstrap, name, total))
    print("| tool | messages/s | CPU us a message, start-up included |")
    print("|---|---|---|")
    for label, values in figures.items():
        rates, cpus = zip(*values, strict=True)
        print(f"| {label} | {spread(rates, digits=0)} | {spread(cpus)} |")
    print()
    for label in ("one consumer", "two consumers"):
        pairs = zip(figures[label], figures["ConsumerPerformance"], strict=True)
        print(f"Rate of {label}, pair by pair: {spread([ours[0] / theirs[0] for ours, theirs in pairs])} times.  ")


def _ours(bootstrap: str, name: str, consumers: int, total: int) -> tuple[float, float]:
    settings = ["load=off", f"consume.consumers={consumers}", "phases.warmup=0s", "phases.measure=120s"]
    with run("saturate", bootstrap, *settings, f"topic.name={name}") as ran:
        (received,) = ran.column("received", "received_ns")
        if len(received) != total:
            raise SystemExit(f"{len(received)} of {total} messages were read")
        seconds = float(received.max() - ran.facts.phases[0].from_ns) / 1e9
        return total / seconds, ran.cpu_seconds / total * 1e6


def _theirs(bootstrap: str, name: str, total: int) -> tuple[float, float]:
    arguments = ["--bootstrap-server", bootstrap, "--topic", name, "--num-records", str(total), "--timeout", "30000"]
    from_start = ["--command-property", "auto.offset.reset=earliest"]
    used = call(kafka_tool("ConsumerPerformance", *arguments, *from_start))
    header, values = [line.split(", ") for line in used.output.strip().splitlines()[-2:]]
    rate = float(dict(zip(header, values, strict=True))["fetch.nMsg.sec"])
    return rate, used.cpu_seconds / total * 1e6


if __name__ == "__main__":
    main()
