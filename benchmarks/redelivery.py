"""Redelivery of single messages: deliveries beside theory, how late they are, what it costs, what a tracker holds.

The parts: `theory` fails half of the deliveries with markers, `retry` does so with retry topics, `share` with a share
group; `cost` runs the carriers in turn at one rate without failures, `failing` with half of them failing; `closed` has
producers that wait for each batch, and compares their rate with what CPU for each message lets expect; `tracker` reads
a million open messages and two million that are done, as after a restart; `drain` reads a filled topic with each
carrier, and `limits` does so with half of the deliveries failing, at several limits.
"""

import argparse
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import confluent_kafka as ck
import numpy as np
import psutil
import pyarrow.compute as pc
import pyarrow.dataset as ds

from benchmarks.common import Float64s, Int64s, Ran, broker, heading, idle_share, run, spread, topic
from streamgauge.cluster.embedded import EmbeddedCluster
from streamgauge.delivery.attempts import RELEASED, expected_by_number, expected_dead, expected_deliveries
from streamgauge.delivery.markers.wire import END_VALUE, key_of, start_value
from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND, monotonic_ns
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.carriers.markers.topics import SUFFIX, make_marker_topic
from streamgauge.kafka.carriers.markers.tracked import Tracked
from streamgauge.kafka.carriers.markers.tracker import MarkerTracker
from streamgauge.pipeline.machine.client import wire
from streamgauge.pipeline.read.silver import Span
from streamgauge.scenario.topic_names import retry_topic
from streamgauge.workload.failing import Failing

FAIL, LIMIT, SEED = 0.5, 3, 42
CLOSED, BATCH = 2, 1_000
OPEN, DONE, PARTITIONS = 1_000_000, 2_000_000, 12
MOST = 64
"""No message fails more often."""
FAR_MS = 1 << 40
"""Open messages are not due while they are counted."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--part", choices=("theory", "retry", "share", "cost", "failing", "closed", "tracker", "drain", "limits")
    )
    options.add_argument("--messages", type=int, default=200_000)
    options.add_argument("--theory-rate", type=int, default=2_000)
    options.add_argument("--rate", type=int, default=40_000)
    options.add_argument("--failing-rate", type=int, default=2_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--filled", type=int, default=3_000_000)
    options.add_argument("--bootstrap", help=argparse.SUPPRESS)
    options.add_argument("--topic", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.bootstrap:
        _restart(chosen.bootstrap, chosen.topic)
        return
    heading("Redelivery of single messages")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    with broker() as running:
        parts: Mapping[str, Callable[[], None]] = {
            "theory": lambda: _theory("redelivery-markers", running.bootstrap, chosen.messages, chosen.theory_rate),
            "retry": lambda: _theory("redelivery-retry-topics", running.bootstrap, chosen.messages, chosen.theory_rate),
            "share": lambda: _theory("redelivery-share", running.bootstrap, chosen.messages, chosen.theory_rate),
            "cost": lambda: _cost(running.bootstrap, chosen.rate, chosen.rounds, 0),
            "failing": lambda: _cost(running.bootstrap, chosen.failing_rate, chosen.rounds, FAIL),
            "closed": lambda: _closed(running, chosen.rounds),
            "tracker": lambda: _tracker(running.bootstrap),
            "drain": lambda: _drain(running.bootstrap, chosen.filled, chosen.rounds),
            "limits": lambda: _limits(running.bootstrap, chosen.messages, chosen.rounds),
        }
        for name, part in parts.items():
            if chosen.part in {None, name}:
                part()


def _theory(scenario: str, bootstrap: str, messages: int, rate: int) -> None:
    print(f"### {scenario}: {FAIL:.0%} of the deliveries fail, {LIMIT} redeliveries, {messages:,} at {rate:,}/s\n")
    with topic(bootstrap, None) as name:
        settings = [f"topic.name={name}", f"phases.measure.messages={messages}", "phases.warmup=1s"]
        with run(scenario, bootstrap, *settings, f"load.rate={rate}/s", "phases.measure.at_most=5m") as ran:
            _print_theory(ran)
        _remove(bootstrap, name)


def _print_theory(ran: Ran) -> None:
    producers, seqs = ran.column("sent", "producer", "seq")
    (numbers,) = ran.column("received", "delivery_count")
    failing, left, count = Failing(FAIL), np.ones(len(seqs), np.bool_), len(seqs)
    print("| delivery | counted | by the draws of the seed | by theory | four standard errors |")
    print("|---|---|---|---|---|")
    for number, share in enumerate(expected_by_number(FAIL, 0, LIMIT, LIMIT + 1), 1):
        counted, error = int((numbers == number).sum()), 4 * math.sqrt(share * (1 - share) * count)
        print(f"| {number} | {counted:,} | {int(left.sum()):,} | {share * count:,.0f} | {error:,.0f} |")
        left &= failing.failed(SEED, producers, seqs, number)
    dead, share = _outcomes(ran)["dead_letter"], expected_dead(FAIL, 0, LIMIT)
    error = 4 * math.sqrt(share * (1 - share) * count)
    print(f"| dead letters | {dead:,} | {int(left.sum()):,} | {share * count:,.0f} | {error:,.0f} |")
    print(f"\nDeliveries for each message: {len(numbers) / count:.4f}; theory: 1.875.")
    late_ms = _lateness_ms(ran)
    p50, p99 = np.percentile(late_ms, [50, 99])
    early = int((late_ms < 0).sum())
    print(f"Redelivered after the deadline: p50 {p50:,.0f} ms, p99 {p99:,.0f} ms, {early:,} early. {_cpu(ran)}\n")


def _outcomes(ran: Ran) -> dict[str, int]:
    files = sorted(str(path) for path in ran.folder.events.glob("attempts/*/part-*.parquet"))
    counts = ds.dataset(files).to_table(columns=["outcome"])["outcome"].value_counts().to_pylist()
    return {"dead_letter": 0} | {each["values"]: each["counts"] for each in counts}


def _lateness_ms(ran: Ran) -> Float64s:
    """From the deadline of each delivery to the start of the next of the same message."""
    ahead_ns = ran.facts.wall_ns - ran.facts.monotonic_ns
    producers, seqs, numbers, received_ns = ran.column("received", "producer", "seq", "delivery_count", "received_ns")
    acknowledge = (ran.facts.profile or {})["consume"]["acknowledge"]
    # A share group delivers again at once what is released.
    delays_ms = np.array([0] if acknowledge["carrier"] == "share" else acknowledge["delays_ms"])
    if len(delays_ms):
        outcomes, *columns = ran.column("attempts", "outcome", "producer", "seq", "attempt", "at_ns")
        failed_of, failed_seqs, failed, at_ns = (column[outcomes == RELEASED] for column in columns)
        before = _keys(failed_of, failed_seqs, failed)
        due_ms = (at_ns + ahead_ns) / NS_PER_MS + delays_ms[np.minimum(failed, len(delays_ms)) - 1]
    else:
        before, due_ms = _keys(producers, seqs, numbers), ran.column("received", "deadline_ms")[0]
    _, ended, begun = np.intersect1d(before, _keys(producers, seqs, numbers - 1), return_indices=True)
    late_ms: Float64s = (received_ns[begun] + ahead_ns) / NS_PER_MS - due_ms[ended]
    return late_ms


def _keys(producers: Int64s, seqs: Int64s, numbers: Int64s) -> Int64s:
    """A number for each delivery."""
    keys: Int64s = (producers.astype(np.int64) << 48) | (seqs << 12) | numbers
    return keys


def _cpu(ran: Ran) -> str:
    """CPU of producers, consumers, trackers and broker for each message that was received."""
    told = [f"{role}s {spent:.1f}" for role, spent in _cpu_us(ran).items()]
    return f"CPU in us for each delivery: {', '.join(told)}." if told else ""


def _cpu_us(ran: Ran) -> dict[str, float]:
    """Of each role that used any."""
    files = sorted(str(path) for path in ran.folder.events.glob("resources/*/part-*.parquet"))
    table = ds.dataset(files).to_table(columns=["process", "role", "cpu_ns"])
    received = len(ran.column("received", "received_ns")[0])
    told = {}
    for role in ("producer", "consumer", "tracker", "broker"):
        rows = table.filter(pc.equal(table["role"], role))
        spent = 0
        for process in set(rows["process"].to_pylist()):
            used = rows.filter(pc.equal(rows["process"], process))["cpu_ns"].drop_null()
            spent += pc.max(used).as_py() - pc.min(used).as_py() if len(used) else 0
        if spent:
            told[role] = spent / received / 1000
    return told


def _cost(bootstrap: str, rate: int, rounds: int, fail: float) -> None:
    print(
        f"### {rate:,} messages a second of 100 bytes, of which {fail:.0%} of the deliveries fail, carriers in turn\n"
    )
    print(
        "| carrier | received / sent | received, /s | first delivery p50, ms | p99, ms | CPU, us for each delivery "
        "| bytes of all clients for each message | requests |"
    )
    print("|---|---|---|---|---|---|---|---|")
    plain = ["load.size=100", f"load.rate={rate}/s", "load.producers=2", "phases.measure=10s", "phases.drain=60s"]
    carriers = {
        "offsets": "offsets",
        "retry": "{retry: {delays: [1s, 1s, 1s]}}",
        "markers": "{markers: {timeout: 30s, silence: 1s}}" if not fail else "{markers: {timeout: 1s, silence: 100ms}}",
        "share": "{share: {lock: 30s, limit: 3}}",
    }
    processing = [f"consume.processing={{fail: {fail}}}"] if fail else []
    for _ in range(rounds):
        for name, carrier in carriers.items():
            with topic(bootstrap, None) as made:
                settings = [*plain, *processing, f"topic.name={made}", f"consume.acknowledge={carrier}"]
                with run("baseline", bootstrap, *settings) as ran:
                    print(f"| {name} | {_rates(ran)} |", flush=True)
                _remove(bootstrap, made)
    print()


def _closed(running: EmbeddedCluster, rounds: int) -> None:
    """A closed loop is as fast as its answers, or as the cores allow that all share."""
    print(f"### A closed loop: {CLOSED} producers wait for each batch of {BATCH:,} messages, carriers in turn\n")
    print(
        "| carrier | received, /s | of `offsets` | CPU of all, us for each delivery | of `offsets`, as expected "
        "| by role |"
    )
    print("|---|---|---|---|---|---|")
    plain = [f"load.rate={{closed: {{batch: {BATCH}}}}}", f"load.producers={CLOSED}", "load.size=100"]
    plain += ["phases.measure=10s", "phases.drain=60s"]
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in _CARRIERS}
    for _ in range(rounds):
        for name, settings in _CARRIERS.items():
            with topic(running.bootstrap, None) as made:
                before_us = _brokers_us(running)
                with run("baseline", running.bootstrap, *plain, *settings, f"topic.name={made}") as ran:
                    delivered = len(ran.column("received", "received_ns")[0])
                    spent = {**_cpu_us(ran), "broker": (_brokers_us(running) - before_us) / delivered}
                    found[name].append((_received_per_second(ran), sum(spent.values())))
                _remove(running.bootstrap, made)
            (rate, cpu), (yardstick, _) = found[name][-1], found["offsets"][-1]
            by_role = ", ".join(f"{role}s {each:.1f}" for role, each in spent.items())
            # With the cores that there are; no carrier is faster than the loop itself.
            bound = min(1.0, (psutil.cpu_count() or 1) * 1_000_000 / cpu / yardstick)
            shares = f"{rate / yardstick:.2f} | {cpu:.1f} | {bound:.2f}"
            print(f"| {name} | {rate:,.0f} | {shares} | {by_role} |", flush=True)
    ratios = {
        name: [one[0] / other[0] for one, other in zip(rows, found["offsets"], strict=True)]
        for name, rows in found.items()
    }
    print(
        "\n"
        + "; ".join(f"{name} of offsets: {spread(each)}" for name, each in ratios.items() if name != "offsets")
        + ".\n"
    )


def _brokers_us(running: EmbeddedCluster) -> float:
    """CPU that the brokers used since they started."""
    times = [psutil.Process(each.pid).cpu_times() for each in running.nodes]
    return sum(each.user + each.system for each in times) * 1_000_000


def _received_per_second(ran: Ran) -> float:
    """In the measure phase."""
    measure = ran.facts.phase("measure")
    assert measure
    (received_ns,) = ran.column("received", "received_ns")
    inside = (received_ns >= measure.from_ns) & (received_ns < measure.to_ns)
    return float(inside.sum() / ((measure.to_ns - measure.from_ns) / NS_PER_SECOND))


def _rates(ran: Ran) -> str:
    measure = ran.facts.phase("measure")
    assert measure
    sent, received = len(ran.column("sent", "seq")[0]), len(ran.column("received", "seq")[0])
    due_ns, received_ns = ran.column("received", "due_ns", "received_ns")
    per_second = _received_per_second(ran)
    chosen = (due_ns >= measure.from_ns) & (due_ns < measure.to_ns)
    # Without a carrier that redelivers, no delivery has a number.
    (numbers,) = ran.column("received", "delivery_count")
    chosen &= numbers == 1 if len(numbers) else True
    p50, p99 = np.percentile((received_ns - due_ns)[chosen] / NS_PER_MS, [50, 99])
    cpu = _cpu(ran).partition(": ")[2].rstrip(".")
    return f"{received:,} / {sent:,} | {per_second:,.0f} | {p50:,.1f} | {p99:,.1f} | {cpu} | {_wire(ran)}"


def _wire(ran: Ran) -> str:
    """Bytes and requests of all clients of the run for each message that was sent, from their own statistics."""
    files = sorted(str(path) for path in ran.folder.events.glob("client/*/part-*.parquet"))
    told = ds.dataset(files).to_table().to_pylist()
    measure = MeasureSpan(ran.facts.monotonic_ns, ran.facts.monotonic_ns + 1)
    whole = [row for row in wire(told, Span(measure.from_ns, measure.to_ns, measure)) if row["worker"] is None]
    sent = sum(row["messages"] for row in whole if row["role"] == "producer")
    both_ways = sum(row["tx_bytes"] + row["rx_bytes"] for row in whole)
    return f"{both_ways / sent:,.0f} | {sum(row['tx_requests'] for row in whole) / sent:.3f}"


def _tracker(bootstrap: str) -> None:
    print(f"### A tracker that is started with {OPEN:,} open and {DONE:,} done messages\n")
    with topic(bootstrap, PARTITIONS) as name:
        make_marker_topic(Cluster(bootstrap, {}), name)
        producer = ck.Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "batch.size": 1 << 20})
        for offset in range((OPEN + DONE) // PARTITIONS):
            for partition in range(PARTITIONS):
                is_done = offset % 3 != 0
                values = (start_value(FAR_MS), END_VALUE) if is_done else (start_value(FAR_MS),)
                for value in values:
                    while True:
                        try:
                            producer.produce(f"{name}{SUFFIX}", value, key_of(partition, offset), partition)
                            break
                        except BufferError:
                            producer.poll(0.1)
        producer.flush()
        command = [sys.executable, "-m", "benchmarks.redelivery", "--bootstrap", bootstrap, "--topic", name]
        took: list[float] = []
        grown: list[float] = []
        for _ in range(3):
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds, mebibytes, count = done.stdout.split()
            took.append(float(seconds))
            grown.append(float(mebibytes))
        print(f"{int(count):,} open: read in {spread(took, ' s', 1)}; resident memory {spread(grown, ' MiB', 0)}.\n")
        Cluster(bootstrap, {}).delete_topic(f"{name}{SUFFIX}")


def _drain(bootstrap: str, messages: int, rounds: int) -> None:
    """Carriers in turn, each from its own group's begin of one topic."""
    print(f"### {messages:,} messages of 100 bytes in {PARTITIONS} partitions, read with each carrier in turn\n")
    print("| carrier | rate received, /s | CPU, us for each delivery |")
    print("|---|---|---|")
    with _filled(bootstrap, messages) as plain:
        rates: dict[str, list[float]] = {name: [] for name in _CARRIERS}
        for _ in range(rounds):
            for name, settings in _CARRIERS.items():
                with run("drain", bootstrap, *plain, *settings) as ran:
                    rates[name].append(_rate_between(ran))
                    cpu = _cpu(ran).partition(": ")[2].rstrip(".")
                    print(f"| {name} | {rates[name][-1]:,.0f} | {cpu} |", flush=True)
        print("\n" + "; ".join(f"{name}: {spread(found, '/s', 0)}" for name, found in rates.items()) + ".\n")


@contextmanager
def _filled(bootstrap: str, messages: int) -> Iterator[list[str]]:
    """A topic with so many messages of 100 bytes, until the block ends: settings of a run that reads it."""
    with topic(bootstrap, PARTITIONS) as made:
        fill = ["load.size=100", "load.rate=max", "consume=off", f"phases.measure.messages={messages}"]
        plain = [f"topic.name={made}", f"topic.partitions={PARTITIONS}", "topic.reset=false", "verify.log=false"]
        with run("baseline", bootstrap, *fill, *plain, "phases.warmup=0s", "phases.measure.at_most=5m"):
            pass
        yield plain
        _remove(bootstrap, made)


def _rate_between(ran: Ran) -> float:
    """Deliveries a second without the first and the last tenth: consumers begin and end one after the other."""
    received_ns = np.sort(ran.column("received", "received_ns")[0])
    inside = received_ns[len(received_ns) // 10 : -max(1, len(received_ns) // 10)]
    return float((len(inside) - 1) / ((inside[-1] - inside[0]) / NS_PER_SECOND))


def _limits(bootstrap: str, messages: int, rounds: int) -> None:
    """Carriers and limits in turn, each with a topic of its own: a tracker writes to it."""
    print(f"### {FAIL:.0%} of the deliveries fail: {messages:,} messages of 100 bytes in {PARTITIONS} partitions\n")
    print(
        "| carrier | redeliveries at most | deliveries for each message | by the draws of the seed | by theory ", end=""
    )
    print("| four standard errors | dead letters | by the draws | deliveries, /s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for _ in range(rounds):
        for carrier, limit in _LIMITS:
            told = "unlimited" if limit is None else limit
            acknowledge = f"consume.acknowledge={{{carrier}: {{{_AGAIN[carrier]}, limit: {told}}}}}"
            settings = [f"consume.processing={{fail: {FAIL}}}", "phases.drain=60s"]
            with _filled(bootstrap, messages) as plain, run("drain", bootstrap, *plain, acknowledge, *settings) as ran:
                print(f"| {carrier} | {told} | {_deliveries(ran, limit)} | {_rate_between(ran):,.0f} |", flush=True)
    print()


def _deliveries(ran: Ran, limit: int | None) -> str:
    """Deliveries for each message and dead letters, each beside what is to be expected."""
    producers, seqs, numbers = ran.column("received", "producer", "seq", "delivery_count")
    first = numbers == 1
    producers, seqs, count = producers[first], seqs[first], int(first.sum())
    failing, left, drawn, number = Failing(FAIL), np.ones(count, np.bool_), 0, 1
    while left.any() and (limit is None or number <= limit + 1):
        drawn += int(left.sum())
        left &= failing.failed(SEED, producers, seqs, number)
        number += 1
    theory = expected_deliveries(FAIL, 0, limit)
    squares = sum((2 * n + 1) * share for n, share in enumerate(expected_by_number(FAIL, 0, limit, MOST)))
    error = 4 * math.sqrt((squares - theory**2) / count)
    dead = _outcomes(ran)["dead_letter"]
    told = f"{len(numbers) / count:.4f} | {drawn / count:.4f} | {theory:.4f} | {error:.4f}"
    return f"{told} | {dead:,} | {0 if limit is None else int(left.sum()):,}"


_LIMITS: tuple[tuple[str, int | None], ...] = (
    ("retry", 3), ("retry", None), ("markers", 3), ("markers", None), ("share", 3), ("share", 9), ("share", 24),
)  # fmt: skip
_AGAIN: Mapping[str, str] = {
    "retry": "delays: [100ms, 100ms, 100ms]",
    "markers": "timeout: 1s, silence: 100ms",
    "share": "lock: 30s, locks: 10000",
}
_CARRIERS: Mapping[str, list[str]] = {
    "offsets": [],
    "retry": ["consume.acknowledge={retry: {delays: [1s]}}"],
    "markers": ["consume.acknowledge={markers: {timeout: 60s, silence: 1s}}"],
    "share": [
        "consume.acknowledge={share: {lock: 60s, locks: 10000, dead_letters: false}}",
        "consume.client={max.poll.records: 5000}",
    ],
}


def _restart(bootstrap: str, name: str) -> None:
    """Seconds until a tracker knows everything, its resident memory in MiB, and how many messages are open."""
    began_ns = monotonic_ns()
    settings = {"bootstrap.servers": bootstrap}
    with MarkerTracker(settings, name, f"group-{monotonic_ns()}", tracked=Tracked(limit=None)) as tracker:
        while not tracker.is_current:
            tracker.turn(0.05)
        seconds = (monotonic_ns() - began_ns) / NS_PER_SECOND
        memory = psutil.Process(os.getpid()).memory_info().rss / 2**20
        sys.stdout.write(f"{seconds} {memory} {tracker.open}\n")


def _remove(bootstrap: str, name: str) -> None:
    """Delete the topics that belong to one."""
    cluster = Cluster(bootstrap, {})
    for each in (f"{name}{SUFFIX}", f"{name}__undelivered", *(retry_topic(name, level) for level in (1, 2, 3))):
        if cluster.partitions_of(each) is not None:
            cluster.delete_topic(each)


if __name__ == "__main__":
    main()
