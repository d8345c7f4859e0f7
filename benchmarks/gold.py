"""Generates the gold tables of a long healthy run without events and Spark, as input of a report.

Each second has one of a few random shapes of each latency, scaled by a slow wave over the run. Metrics, columns and
numbers of rows are those of a real run; the rate determines how many buckets each second has.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.synthetic import BEGIN_NS, CONSUMERS, PRODUCERS, Plan, facts
from streamgauge.arrow import arrow_schema
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.domain.latency.buckets import Int64s, bucket_of, upper_edge_ns
from streamgauge.domain.latency.percentiles import EMPTY, PERCENTILES, Buckets, Latency, Moments, summarise
from streamgauge.domain.tables.delivery import DELIVERY_COUNTS
from streamgauge.domain.tables.latency import METRICS, UNPLACED
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.pipeline.metrics.aggregates.curves import HEAT_COLUMNS, curve, heat
from streamgauge.pipeline.stream.stages import STAGES, WHOLE
from streamgauge.verdict import checks

Row = dict[str, Any]

SHAPES: Final = 32
SPREAD: Final = 0.55
"""Standard deviation of the logarithm: a p99 of three and a half medians."""
MEDIANS_US: Final = {
    "ack": 4_300,
    "end_to_end": 4_800,
    "processing": 6_000,
    "schedule_delay": 12,
    "poll": 9_000,
    "poll_per_record": 9_000,
}
ABSENT: Final = frozenset(
    {"batch", "flush_wait", "throttle", "own_schedule_delay", "since_record_time", *STAGES, WHOLE}
)
PRESENT: Final = [metric for metric in METRICS if metric not in ABSENT]
"""What a plain load has."""
WAVE_BUCKETS: Final = 128
"""How far the wave moves a latency up and down: by a half."""
WAVE_SECONDS: Final = 600
SAMPLE_NS: Final = NS_PER_SECOND // 2
COMMIT_SECONDS: Final = 5
PAUSES_APART_NS: Final = 2_500 * NS_PER_MS
PROCESSES: Final = (
    *(f"producer-{number}" for number in range(PRODUCERS)),
    *(f"consumer-{number}" for number in range(CONSUMERS)),
    "sampler-0",
    "supervisor",
    "broker-1",
    "host",
)


@dataclass(frozen=True, slots=True)
class Long:
    """What to make: so many seconds of measure phase, after a warm-up."""

    seconds: int = 1_800
    rate: int = 10_000
    partitions: int = 12
    seed: int = 42

    @property
    def plan(self) -> Plan:
        """The same run, as that of the events."""
        warmup = Plan(0).warmup_ns // NS_PER_SECOND
        return Plan((warmup + self.seconds) * self.rate, self.rate, self.partitions, seed=self.seed)

    @property
    def windows(self) -> Int64s:
        """The seconds of warm-up and measure phase."""
        return np.arange(-(self.plan.warmup_ns // NS_PER_SECOND), self.seconds)


@dataclass(frozen=True, slots=True)
class _Counted:
    """One metric: buckets of every second, one after the other; `edges` are where the seconds begin and end."""

    bucket: Int64s
    count: Int64s
    edges: Int64s

    def within(self, first: int, last: int) -> Buckets:
        """The seconds from `first` up to `last`, by their place."""
        chosen = slice(self.edges[first], self.edges[last])
        return Buckets.merged(self.bucket[chosen], self.count[chosen])


def make(folder: RunFolder, long: Long) -> int:
    """Write run.json and all gold tables; returns the rows of `latency_buckets`."""
    rng = np.random.default_rng(long.seed)
    counted = {metric: _counted(long, metric, rng) for metric in PRESENT}
    about = _facts(long)
    tables = _tables(long, counted)
    judged = checks(about, tables)
    buckets = _bucket_table(long, counted)
    written = {name: pa.Table.from_pylist(rows, arrow_schema(TABLES[name])) for name, rows in tables.items()}
    written["verdict"] = pa.Table.from_pylist([asdict(check) for check in judged], arrow_schema(TABLES["verdict"]))
    folder.tables.mkdir(parents=True)
    folder.facts.write_text(about.model_dump_json(indent=1))
    for name, table in (written | {"latency_buckets": buckets}).items():
        pq.write_table(table, folder.table(name), compression="zstd")
    rows: int = buckets.num_rows
    return rows


def _facts(long: Long) -> RunFacts:
    scenario = {
        "topic": {"name": "synthetic", "partitions": long.partitions},
        "load": {"rate": f"{long.rate}/s", "producers": PRODUCERS, "size": 512, "client": {"linger.ms": 5}},
        "consume": {"consumers": CONSUMERS},
        "expect": {"delivery.lost": 0},
    }
    return facts(long.plan).model_copy(update={"scenario": scenario})


def _counted(long: Long, metric: str, rng: np.random.Generator) -> _Counted:
    """A shape for each second, moved along the buckets by the wave: 256 of them are a factor of two."""
    median_ns = 1_000 * median_us(metric)
    shapes = [_shape(rng, median_ns, long.rate) for _ in range(SHAPES)]
    chosen = [shapes[number] for number in rng.integers(0, SHAPES, len(long.windows))]
    moves = [round(WAVE_BUCKETS * math.sin(2 * math.pi * second / WAVE_SECONDS)) for second in long.windows.tolist()]
    buckets = np.concatenate([shape.index + move for shape, move in zip(chosen, moves, strict=True)])
    lengths = [len(shape.index) for shape in chosen]
    return _Counted(buckets, np.concatenate([shape.count for shape in chosen]), np.cumsum([0, *lengths]))


def median_us(metric: str) -> int:
    """The median of a metric, of response and service time alike. KeyError where it has none."""
    return MEDIANS_US[metric if metric in MEDIANS_US else metric.rpartition("_")[0]]


def _shape(rng: np.random.Generator, median_ns: int, messages: int) -> Buckets:
    found = bucket_of(rng.lognormal(math.log(median_ns), SPREAD, messages).astype(np.int64))
    return Buckets.merged(found, np.ones(messages, np.int64))


def _bucket_table(long: Long, counted: dict[str, _Counted]) -> pa.Table:
    """By window, and by partition but for what has none."""
    return pa.concat_tables([table for metric in PRESENT for table in _bucket_tables(long, metric, counted[metric])])


def _bucket_tables(long: Long, metric: str, each: _Counted) -> Iterator[pa.Table]:
    second = np.repeat(long.windows, np.diff(each.edges))
    columns = {"second": second, "measured": second >= 0, "bucket": each.bucket, "count": each.count}
    yield _table(metric, columns, len(second))
    if metric in UNPLACED:
        return
    of_one = _of_partition(long, each)
    for partition in range(long.partitions):
        place = {"topic": np.zeros(len(of_one.index), np.int32), "partition": np.full(len(of_one.index), partition)}
        columns = {**place, "measured": np.ones(len(of_one.index), bool), "bucket": of_one.index, "count": of_one.count}
        yield _table(metric, columns, len(of_one.index))


def _table(metric: str, columns: dict[str, Any], rows: int) -> pa.Table:
    schema = arrow_schema(TABLES["latency_buckets"])
    known = {name: pa.array(values) for name, values in columns.items()}
    known |= {"metric": pa.repeat(pa.scalar(metric), rows), "censored": pa.array(np.zeros(rows, bool))}
    arrays = [known[each.name].cast(each.type) if each.name in known else pa.nulls(rows, each.type) for each in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _of_partition(long: Long, each: _Counted) -> Buckets:
    everything = _measured(long, each)
    return Buckets(everything.index, -(-everything.count // long.partitions))


def _measured(long: Long, each: _Counted) -> Buckets:
    return each.within(len(long.windows) - long.seconds, len(long.windows))


def _tables(long: Long, counted: dict[str, _Counted]) -> dict[str, list[Row]]:
    """All tables but the verdict and the buckets."""
    whole = {metric: _measured(long, each) for metric, each in counted.items()}
    latencies = {metric: _latency(buckets) for metric, buckets in whole.items()}
    return {
        "throughput": list(_throughput(long)),
        "latency": [row for metric in PRESENT for row in _latencies(long, metric, counted[metric])],
        "cdf": [
            {"metric": metric, "le_ms": edge, "share": share}
            for metric, latency in latencies.items()
            for edge, share in latency.cdf
        ],
        "percentiles": [row for metric, buckets in whole.items() for row in _curve(metric, buckets)],
        "heat": [row for metric in PRESENT if metric not in UNPLACED for row in _heat(long, metric, counted[metric])],
        "delivery": [
            _delivery("run", long.plan.messages),
            _delivery("measure", long.seconds * long.rate),
        ],
        "problems": [],
        "polls": [
            {"consumer": consumer, "polls": 90 * long.seconds, "empty": 0, "messages": 9, "in_poll_share": 0.9}
            for consumer in range(CONSUMERS)
        ],
        "resources": list(_resources(long)),
        "gc": list(_pauses(long)),
        "schedule_delay": [
            {"producer": producer, "count": 9, **_figures(latencies["schedule_delay"], "p50", "p99", "p99_9", "max")}
            for producer in (None, *range(PRODUCERS))
        ],
        "client": list(_clients(long)),
        "topics": [],
        "rebalances": [],
        "workers": list(_workers(long)),
        "lag": list(_lag(long)),
        "lag_heat": list(_lag_heat(long)),
        "outstanding": list(_outstanding(long)),
        "set_aside": [],
    }


def _lag(long: Long) -> Iterator[Row]:
    """A sample every second; consumers commit every five."""
    each: Row = {"group": 0, "error": None}
    for second in long.windows.tolist():
        behind = long.rate * (second % COMMIT_SECONDS) + 40
        of_one = {"committed_lag": behind // long.partitions, "position_lag": 3}
        yield {
            **each,
            "second": float(second),
            "scope": "group",
            "committed_lag": behind,
            "position_lag": 40,
            "worst_committed_lag": of_one["committed_lag"] + 1,
        }
        for partition in range(long.partitions):
            yield {**each, **of_one, "second": float(second), "scope": "partition", "topic": 0, "partition": partition}


def _lag_heat(long: Long) -> Iterator[Row]:
    """The largest lag of each partition in each column of the heat map."""
    first, last = long.windows[0].item(), long.windows[-1].item()
    width = -(-len(long.windows) // HEAT_COLUMNS)
    for partition in range(long.partitions):
        for begin in range(first, last + 1, width):
            cell = {"group": 0, "topic": 0, "partition": partition, "from_second": begin, "to_second": begin + width}
            yield {**cell, "committed_lag": COMMIT_SECONDS * long.rate // long.partitions, "position_lag": 3}


def _clients(long: Long) -> Iterator[Row]:
    """Statistics of each client, every second."""
    for role, count in (("producer", PRODUCERS), ("consumer", CONSUMERS)):
        sends = {"batch_messages": 36.0, "batch_bytes": 19_000.0, "queue_ms": 5.0, "queue_messages": 40}
        messages = long.rate // count
        of_one: Row = {
            "role": role, "duration_ns": NS_PER_SECOND, "messages": messages, "message_bytes": 512 * messages,
            "wire_bytes": 530 * messages, "requests": 150, "retries": 0, "rtt_ms": 3.0, "rtt_p99_ms": 12.0,
            "throttle_ms": 0, **(sends if role == "producer" else {}),
        }  # fmt: skip
        for number in range(count):
            for second in long.windows.tolist():
                yield {**of_one, "worker": f"{role}-{number}", "second": float(second) + 0.9}


def _workers(long: Long) -> Iterator[Row]:
    """What each producer and consumer did in every second."""
    for role, count in (("producer", PRODUCERS), ("consumer", CONSUMERS)):
        messages = long.rate // count
        of_one: Row = {"role": role, "duration_ns": NS_PER_SECOND, "messages": messages, "bytes": 512 * messages}
        for number in range(count):
            for second in long.windows.tolist():
                yield {**of_one, "number": number, "second": second}


def _outstanding(long: Long) -> Iterator[Row]:
    """What was replayed at the end of every second."""
    first = long.windows[0].item()
    for second in long.windows.tolist():
        sent = (second + 1 - first) * long.rate
        waiting = 40 + second % 37
        yield {
            "second": float(second + 1),
            "group": 0,
            "due": sent,
            "admitted": sent,
            "sent": sent,
            "processed": sent - waiting,
            "outstanding": waiting,
            "backlog": 0,
            "time_lag_ms": 4.0 + waiting / 100,
        }


def _throughput(long: Long) -> Iterator[Row]:
    def row(scope: str, seconds: int, **more: int) -> Row:
        messages = seconds * long.rate
        counts = dict.fromkeys(("due", "sent", "acked", "received", "processed"), messages)
        sizes = dict.fromkeys(("sent_bytes", "received_bytes"), 512 * messages)
        return {
            "scope": scope,
            "duration_ns": seconds * NS_PER_SECOND,
            "failed": 0,
            "unsent": 0,
            **counts,
            **sizes,
            **more,
        }

    yield row("run", len(long.windows))
    yield row("measure", long.seconds)
    for second in long.windows.tolist():
        # The rate of a real run is not quite the same in every second.
        yield row("window", 1, second=second, outstanding=40 + second % 37, received=long.rate + second % 11 - 5)
    for partition in range(long.partitions):
        yield row("partition", long.seconds, topic=0, partition=partition)


def _latencies(long: Long, metric: str, each: _Counted) -> Iterator[Row]:
    yield _latency_row(metric, "measure", _latency(_measured(long, each)))
    for place, second in enumerate(long.windows.tolist()):
        yield _latency_row(metric, "window", _latency(each.within(place, place + 1))) | {"second": second}
    if metric not in UNPLACED:
        of_one = _latency_row(metric, "partition", _latency(_of_partition(long, each)))
        yield from (of_one | {"topic": 0, "partition": partition} for partition in range(long.partitions))


def _latency(buckets: Buckets) -> Latency:
    """Moments are those of the edges."""
    edges = upper_edge_ns(buckets.index)
    total = float((edges * buckets.count).sum())
    squares = float((edges.astype(float) ** 2 * buckets.count).sum())
    moments = Moments(buckets.total, int(edges[0]), int(edges[-1]), total, squares)
    return summarise(buckets, moments, "due")


def _latency_row(metric: str, scope: str, latency: Latency) -> Row:
    shown = latency.as_result()
    row: Row = {
        "metric": metric,
        "scope": scope,
        **{name: shown[name] for name in ("selected_by", "count", "censored")},
    }
    row |= _figures(latency, "min", "mean", "stddev", "mad", "max", *PERCENTILES)
    return row | {"variance_ms2": shown["variance_ms2"]} | {f"{name}_censored": False for name in PERCENTILES}


def _figures(latency: Latency, *names: str) -> Row:
    shown = latency.as_result()
    return {f"{name}_ms": shown[f"{name}_ms"] for name in names}


def _curve(metric: str, buckets: Buckets) -> Iterator[Row]:
    for point in curve(buckets, EMPTY, None):
        value_ms = point.low_ns / NS_PER_MS
        yield {"metric": metric, "percent": point.percent, "value_ms": value_ms, "hi_ms": value_ms, "censored": False}


def _heat(long: Long, metric: str, each: _Counted) -> list[Row]:
    second = np.repeat(long.windows, np.diff(each.edges))
    return [{"metric": metric, **asdict(cell)} for cell in heat(second, each.bucket, each.count)]


def _delivery(scope: str, messages: int) -> Row:
    good = dict.fromkeys(("sent", "acked", "received", "delivered_once", "checked"), messages)
    return {"scope": scope, "group": 0, "negative_latencies": 0, **dict.fromkeys(DELIVERY_COUNTS, 0), **good}


def _resources(long: Long) -> Iterator[Row]:
    """A look at each process every half second, and the whole measure phase of each."""
    samples = len(long.windows) * NS_PER_SECOND // SAMPLE_NS
    for number, process in enumerate(PROCESSES):
        role = process.partition("-")[0]
        steady = {"process": process, "role": role, "rss_bytes": 100_000_000 + number, **_of_role(role, long.rate)}
        for sample in range(1, samples + 1):
            at = float(long.windows[0]) + sample * SAMPLE_NS / NS_PER_SECOND
            cores = 0.1 * (number + 1) + 0.05 * math.sin(sample)
            yield {**steady, "scope": "interval", "second": at, "duration_ns": SAMPLE_NS, "cpu_cores": cores}
        yield {
            **steady,
            "scope": "measure",
            "duration_ns": long.seconds * NS_PER_SECOND,
            "cpu_cores": 0.1 * (number + 1),
        }


def _of_role(role: str, rate: int) -> Row:
    if role == "host":
        return {"idle_share": 0.4, "steal_share": 0.001}
    if role in {"producer", "consumer"}:
        worker = {"messages": rate // 4, "poll_gap_ms": 1.4, "cpu_us_per_message": 40.0}
        return worker | ({"blocked_share": 0.0} if role == "producer" else {})
    return {}


def _pauses(long: Long) -> Iterator[Row]:
    """One young collection every few seconds."""
    for number in range(len(long.windows) * NS_PER_SECOND // PAUSES_APART_NS):
        after_ns = number * PAUSES_APART_NS
        second = float(long.windows[0]) + after_ns / NS_PER_SECOND
        yield {
            "process": "broker-1", "at_ns": BEGIN_NS + after_ns, "second": second, "kind": "Pause Young (Normal)",
            "pause_ms": 3 + number % 5, "before_bytes": 600 << 20, "after_bytes": 120 << 20,
        }  # fmt: skip
