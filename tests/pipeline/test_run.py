"""From run folders to tables: every figure against numpy over the same rows, and runs that lack something."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from streamgauge.arrow import arrow_schema
from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.latency.buckets import bucket_of, upper_edge_ns
from streamgauge.domain.latency.percentiles import PERCENTILES
from streamgauge.domain.tables.latency import DELIVERED_PERCENTILES, METRICS
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.pipeline.run import analyse

pytestmark = pytest.mark.spark

Ints = NDArray[np.int64]
Row = dict[str, Any]
SECOND = 1_000_000_000
M0, M1 = 100 * SECOND, 104 * SECOND + SECOND // 2
ENDED = 110 * SECOND + SECOND // 4
PHASES = [
    {"name": "warmup", "from_ns": 98 * SECOND, "to_ns": M0},
    {"name": "measure", "from_ns": M0, "to_ns": M1},
    {"name": "drain", "from_ns": M1, "to_ns": ENDED},
]
TIMES = {"phases": PHASES, "load_ended_ns": M1, "drain_ended_ns": ENDED}
COUNT = 30_000
PARTITIONS = 3


class Writer(Protocol):
    folder: RunFolder

    def __init__(self, root: Path) -> None: ...

    def facts(self, **changes: Any) -> RunFolder: ...

    def events(self, kind: str, columns: Any, worker: str = "w", part: int = 0) -> Path: ...


@pytest.fixture(autouse=True)
def _session(spark: SparkSession) -> SparkSession:
    """The pipeline uses the session of the suite."""
    return spark


def rows(folder: RunFolder, name: str, **wanted: Any) -> list[Row]:
    table = pq.read_table(folder.table(name))
    return [row for row in table.to_pylist() if all(row[key] == value for key, value in wanted.items())]


def row(folder: RunFolder, name: str, **wanted: Any) -> Row:
    (found,) = rows(folder, name, **wanted)
    return found


class Messages:
    """A run of one producer and one consumer, as columns: a message is delivered once, unless `copies` says else."""

    def __init__(self, count: int = COUNT, seed: int = 5) -> None:
        rng = np.random.default_rng(seed)
        self.seq: Ints = np.arange(count)
        self.due: Ints = 98 * SECOND + self.seq * (M1 - 98 * SECOND) // count
        self.sent: Ints = self.due + rng.integers(0, 200_000, count)
        self.acked: Ints = self.sent + rng.lognormal(14, 1.5, count).astype(np.int64)
        # Some arrive before they were sent, as they would if clocks disagreed.
        self.received: Ints = self.sent + rng.lognormal(15, 1, count).astype(np.int64) - 500_000
        self.partition: Ints = rng.integers(0, PARTITIONS, count)
        self.offset: Ints = np.zeros(count, np.int64)
        for number in range(PARTITIONS):
            mine = self.partition == number
            self.offset[mine] = np.arange(mine.sum())

    def sent_columns(self) -> dict[str, Any]:
        return {
            "topic": 0, "producer": 0, "seq": self.seq, "partition": self.partition, "offset": self.offset,
            "due_ns": self.due, "sent_ns": self.sent, "acked_ns": self.acked, "size_bytes": 100,
        }  # fmt: skip

    def received_columns(self, chosen: Ints) -> dict[str, Any]:
        return {
            "topic": 0, "group": 0, "consumer": 0, "poll": np.arange(len(chosen)), "producer": 0,
            "seq": self.seq[chosen], "partition": self.partition[chosen], "offset": self.offset[chosen],
            "due_ns": self.due[chosen], "sent_ns": self.sent[chosen], "received_ns": self.received[chosen],
            "size_bytes": 100, "intact": True,
        }  # fmt: skip

    def lag(self, writer: Writer, positions: Ints) -> None:
        ends = np.array([(self.partition == number).sum() for number in range(PARTITIONS)])
        common = {"at_ns": ENDED, "topic": 0, "group": 0, "partition": np.arange(PARTITIONS)}
        zeros = np.zeros(PARTITIONS, np.int64)
        writer.events("lag", common | {"moment": "start", "start": zeros, "committed": zeros, "end": zeros}, "start")
        writer.events("lag", common | {"moment": "final", "start": zeros, "committed": ends, "end": ends}, "final")
        writer.events("lag", common | {"moment": "final", "consumer": 0, "position": positions}, "consumer")

    def write(self, writer: Writer, undelivered: Ints | None = None) -> RunFolder:
        """All of it, in several parts; the last ones of partition 0 are not delivered where asked for."""
        stays = np.ones(len(self.seq), bool)
        ends = np.array([(self.partition == number).sum() for number in range(PARTITIONS)])
        if undelivered is not None:
            stays[undelivered] = False
            ends[0] -= len(undelivered)
        for part, columns in enumerate(_parts(self.sent_columns())):
            writer.events("sent", columns, "producer-0", part)
        for part, columns in enumerate(_parts(self.received_columns(np.flatnonzero(stays)))):
            writer.events("received", columns, "consumer-0", part)
        self.lag(writer, ends)
        return writer.facts(**TIMES)


def _parts(columns: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The columns in two pieces."""
    count = max(len(values) for values in columns.values() if isinstance(values, np.ndarray))
    for piece in (slice(0, count // 3), slice(count // 3, None)):
        yield {name: values[piece] if isinstance(values, np.ndarray) else values for name, values in columns.items()}


def expected(values: Ints, censored: Ints | None = None) -> Row:
    """What a row of `latency` must say of these values, by sorting them."""
    ages = np.zeros(0, np.int64) if censored is None else censored
    low = np.sort(np.concatenate([values, ages]))
    high = np.sort(values)
    out: Row = {"count": len(values), "censored": len(ages)}
    for name, rank in PERCENTILES.items():
        place = -(-len(low) * rank // 10_000) - 1
        enough = len(low) >= {"p99_9": 10_000, "p99_99": 100_000}.get(name, 1)
        edge = _edge(low[place])
        clipped = min(edge, int(values.max())) if not len(ages) else edge
        out[f"{name}_ms"] = clipped / 1e6 if enough else None
        infinite = place >= len(high)
        if enough and len(ages):
            top = (
                None if infinite else min(int(upper_edge_ns(bucket_of(high[place : place + 1]))[0]), int(values.max()))
            )
            out[f"{name}_censored"] = top != clipped
            out[f"{name}_hi_ms"] = None if top is None or top == clipped else top / 1e6
    moments = values / 1e6
    out |= {"min_ms": moments.min(), "max_ms": moments.max(), "mean_ms": moments.mean(), "stddev_ms": moments.std()}
    return out


def _edge(value: int) -> int:
    return int(upper_edge_ns(bucket_of(np.array([value])))[0])


def check(found: Row, values: Ints, censored: Ints | None = None) -> None:
    wanted = expected(values, censored)
    known = {name: value for name, value in wanted.items() if value is not None}
    assert {name: found[name] for name in wanted if name not in known} == dict.fromkeys(wanted.keys() - known.keys())
    assert {name: found[name] for name in known} == pytest.approx(known, rel=1e-9), found["metric"]
    # How good it would look if what never came had not been.
    alone = expected(values) if censored is not None and found["scope"] == "measure" else {}
    for name in DELIVERED_PERCENTILES:
        assert found[f"delivered_{name}_ms"] == pytest.approx(alone.get(f"{name}_ms")), (found["metric"], name)


@pytest.fixture(scope="module")
def plain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, writer: type[Writer]) -> RunFolder:
    """A plain run of the messages `Messages()`, analysed."""
    folder = Messages().write(writer(tmp_path_factory.mktemp("plain")))
    analyse(folder)
    return folder


def test_every_latency_is_what_sorting_the_values_gives(plain: RunFolder) -> None:
    messages, folder = Messages(), plain
    measured = (messages.due >= M0) & (messages.due < M1)
    second = (messages.due - M0) // SECOND
    latencies = {
        "ack_response": messages.acked - messages.due,
        "ack_service": messages.acked - messages.sent,
        "end_to_end_response": messages.received - messages.due,
        "end_to_end_service": messages.received - messages.sent,
        "schedule_delay": messages.sent - messages.due,
    }
    for metric, values in latencies.items():
        check(row(folder, "latency", metric=metric, scope="measure"), values[measured])
        for number in np.unique(second).tolist():
            check(row(folder, "latency", metric=metric, scope="window", second=number), values[second == number])
        parts = rows(folder, "latency", metric=metric, scope="partition")
        assert len(parts) == (0 if metric == "schedule_delay" else PARTITIONS)
        for part in parts:
            check(part, values[measured & (messages.partition == part["partition"])])
    delay = row(folder, "schedule_delay", producer=0)
    assert delay["max_ms"] == latencies["schedule_delay"][measured].max() / 1e6
    assert delay == row(folder, "schedule_delay", producer=None) | {"producer": 0}
    assert row(folder, "delivery", scope="run")["negative_latencies"] == (messages.received < messages.sent).sum() > 0
    under_10_ms = row(folder, "cdf", metric="ack_response", le_ms=10.0)["share"]
    # A bucket counts once it lies wholly below the edge.
    below = upper_edge_ns(bucket_of(latencies["ack_response"][measured])) <= 10_000_000
    assert under_10_ms == pytest.approx(below.mean())


def test_buckets_hold_every_value_once_by_window_and_once_by_partition(plain: RunFolder) -> None:
    messages, folder = Messages(), plain
    values = messages.acked - messages.due
    measured = (messages.due >= M0) & (messages.due < M1)
    windows = rows(folder, "latency_buckets", metric="ack_response", partition=None, censored=False)
    keys = zip(((messages.due - M0) // SECOND).tolist(), measured.tolist(), bucket_of(values).tolist(), strict=True)
    counted: dict[tuple[int, bool, int], int] = {}
    for key in keys:
        counted[key] = counted.get(key, 0) + 1
    assert {(each["second"], each["measured"], each["bucket"]): each["count"] for each in windows} == counted
    parts = rows(folder, "latency_buckets", metric="ack_response", second=None)
    assert sum(each["count"] for each in parts) == measured.sum()
    assert {each["partition"] for each in parts} == set(range(PARTITIONS))
    assert rows(folder, "latency_buckets", metric="schedule_delay", second=None) == []


def test_curve_and_heat_map_are_those_of_the_values(plain: RunFolder) -> None:
    messages, folder = Messages(), plain
    values = messages.received - messages.due
    measured = (messages.due >= M0) & (messages.due < M1)
    points = rows(folder, "percentiles", metric="end_to_end_response")
    (median,) = (each["value_ms"] for each in points if each["percent"] == 50)
    assert median == row(folder, "latency", metric="end_to_end_response", scope="measure")["p50_ms"]
    assert points[-1]["value_ms"] == points[-1]["hi_ms"] == values[measured].max() / 1e6
    cells = rows(folder, "heat", metric="end_to_end_response")
    assert sum(each["count"] for each in cells) == COUNT
    for number in range(-2, 5):
        inside = (messages.due - M0) // SECOND == number
        assert sum(each["count"] for each in cells if each["from_second"] == number) == inside.sum()
    assert {each["metric"] for each in rows(folder, "heat")}.isdisjoint({"schedule_delay", "poll"})


def test_throughput_counts_each_event_by_its_own_clock(plain: RunFolder) -> None:
    messages, folder = Messages(), plain
    clocks = {"due": messages.due, "sent": messages.sent, "acked": messages.acked, "received": messages.received}
    for name, times in clocks.items():
        measured = (times >= M0) & (times < M1)
        assert row(folder, "throughput", scope="run")[name] == COUNT
        assert row(folder, "throughput", scope="measure")[name] == measured.sum()
        seconds, counts = np.unique((times - M0) // SECOND, return_counts=True)
        windows = {each["second"]: each[name] for each in rows(folder, "throughput", scope="window") if each[name]}
        assert windows == dict(zip(seconds.tolist(), counts.tolist(), strict=True))
        for part in rows(folder, "throughput", scope="partition"):
            assert part[name] == (measured & (messages.partition == part["partition"])).sum()
    windows_ = rows(folder, "throughput", scope="window")
    assert [each["second"] for each in windows_] == list(range(-2, 11))
    assert [each["duration_ns"] for each in windows_] == [SECOND] * 12 + [SECOND // 4]
    for each in windows_:
        end = M0 + (each["second"] + 1) * SECOND
        assert each["outstanding"] == (messages.sent < end).sum() - (messages.received < end).sum()
    measure = row(folder, "throughput", scope="measure")
    assert measure["duration_ns"] == M1 - M0
    assert measure["sent_bytes"] == measure["sent"] * 100
    assert row(folder, "throughput", scope="run")["duration_ns"] == ENDED - 98 * SECOND


def test_undelivered_messages_make_percentiles_intervals(run: Writer) -> None:
    messages = Messages()
    lacking = np.flatnonzero(messages.partition == 0)[-900:]
    folder = messages.write(run, undelivered=lacking)
    analyse(folder)
    delivery = row(folder, "delivery", scope="run")
    assert (delivery["undelivered"], delivery["delivered_once"]) == (900, COUNT - 900)
    measured = (messages.due >= M0) & (messages.due < M1)
    came = np.ones(COUNT, bool)
    came[lacking] = False
    for metric, begin in (("end_to_end_response", messages.due), ("end_to_end_service", messages.sent)):
        values, ages = (messages.received - begin)[measured & came], (ENDED - begin)[measured & ~came]
        found = row(folder, "latency", metric=metric, scope="measure")
        check(found, values, ages)
        assert (found["p99_censored"], found["p99_hi_ms"], found["p50_censored"]) == (True, None, False)
    # What was acknowledged is not censored there.
    assert row(folder, "latency", metric="ack_response", scope="measure")["censored"] == 0
    part = row(folder, "latency", metric="end_to_end_response", scope="partition", partition=0)
    assert part["censored"] == (measured & ~came).sum() > 0
    assert {each["class"] for each in rows(folder, "problems")} == {"undelivered"}


def test_unsent_messages_are_censored_in_response_times_only(run: Writer) -> None:
    messages = Messages(2_000)
    columns = messages.sent_columns()
    late = messages.seq >= 1_900
    columns |= {
        name: [None if gone else int(value) for gone, value in zip(late, columns[name], strict=True)]
        for name in ("partition", "offset", "sent_ns", "acked_ns")
    }
    columns |= {
        "error": ["unsent" if gone else None for gone in late],
        "size_bytes": [None if gone else 100 for gone in late],
    }
    run.events("sent", columns)
    run.events("received", messages.received_columns(np.flatnonzero(~late)))
    messages.lag(run, np.array([((messages.partition == number) & ~late).sum() for number in range(PARTITIONS)]))
    folder = run.facts(**TIMES)
    analyse(folder)
    for metric in METRICS:
        censored = row(folder, "latency", metric=metric, scope="measure")["censored"]
        assert censored == (100 if metric in {"ack_response", "end_to_end_response"} else 0), metric
    delivery = row(folder, "delivery", scope="measure")
    assert (delivery["unsent"], delivery["failed"]) == (100, 0)
    assert row(folder, "throughput", scope="run")["unsent"] == 100
    assert len(rows(folder, "problems", **{"class": "unsent"})) == 100


def test_latency_is_that_of_the_first_delivery(run: Writer) -> None:
    messages = Messages(2_000)
    run.events("sent", messages.sent_columns())
    everything = messages.received_columns(messages.seq)
    run.events("received", everything, "consumer-0")
    again = messages.received_columns(messages.seq[500:1_500])
    again |= {"received_ns": again["received_ns"] + 3 * SECOND, "poll": again["poll"] + 10_000}
    run.events("received", again, "consumer-0", 1)
    messages.lag(run, np.array([(messages.partition == number).sum() for number in range(PARTITIONS)]))
    folder = run.facts(**TIMES)
    analyse(folder)
    measured = (messages.due >= M0) & (messages.due < M1)
    found = row(folder, "latency", metric="end_to_end_response", scope="measure")
    check(found, (messages.received - messages.due)[measured])
    delivery = row(folder, "delivery", scope="run")
    assert (delivery["duplicate_consumer"], delivery["delivered_once"], delivery["received"]) == (1_000, 1_000, 3_000)
    # What came again was processed before.
    for each in rows(folder, "throughput", scope="window"):
        end = M0 + (each["second"] + 1) * SECOND
        assert each["outstanding"] == (messages.sent < end).sum() - (messages.received < end).sum()


def test_what_arrived_in_a_step_is_what_the_slowest_group_received_once(run: Writer) -> None:
    """One group receives half of it, each message three times: both together received more than was sent."""
    messages = Messages(2_000)
    run.events("sent", messages.sent_columns())
    run.events("received", messages.received_columns(messages.seq), "consumer-0")
    half = messages.seq[::2]
    for part in range(3):
        again = messages.received_columns(half) | {"group": 1, "consumer": 1}
        run.events("received", again | {"poll": again["poll"] + part * 10_000}, "consumer-1", part)
    groups = [{"id": number, "name": f"g{number}"} for number in range(2)]
    rate = {"steps": {"from": "100/s", "to": "500/s", "steps": 2, "each": "2s"}}
    folder = run.facts(groups=groups, scenario={"load": {"rate": rate}, "consume": {"groups": 2}}, **TIMES)
    analyse(folder)

    steps = rows(folder, "steps")
    assert [(each["from_second"], each["to_second"]) for each in steps] == [(0, 2), (2, 4)]
    for each in steps:
        at = (messages.received - M0) // SECOND
        within = (at >= each["from_second"]) & (at < each["to_second"])
        assert each["received"] == within.sum() + 3 * within[half].sum()
        assert each["arrived"] == within[half].sum() > 0


def test_a_run_without_any_row_has_every_table(run: Writer) -> None:
    folder = run.facts(ending=None)
    analyse(folder)
    for name, schema in TABLES.items():
        assert pq.read_schema(folder.table(name)).equals(arrow_schema(schema)), name
    assert row(folder, "delivery", scope="run")["acked"] == 0
    assert all(each["count"] == 0 for each in rows(folder, "latency"))
    assert sorted(path.name for path in folder.tables.iterdir()) == sorted(f"{name}.parquet" for name in TABLES)


def test_without_phases_everything_is_measured(run: Writer) -> None:
    messages = Messages(500)
    messages.write(run)
    folder = run.facts(ending=None)
    analyse(folder)
    assert row(folder, "throughput", scope="measure")["sent"] == 500
    check(row(folder, "latency", metric="ack_service", scope="measure"), messages.acked - messages.sent)
    assert row(folder, "delivery", scope="measure")["delivered_once"] == 500


def test_parts_that_cannot_be_read_are_set_aside_and_the_rest_is_answered(run: Writer) -> None:
    messages = Messages(600)
    folder = messages.write(run)
    whole = folder.worker_events("sent", "producer-0") / "part-0.parquet"
    content = whole.read_bytes()
    (whole.parent / "part-7.parquet").write_bytes(content[: len(content) // 2])
    (whole.parent / "_part-8.parquet").write_bytes(b"under way")
    pq.write_table(pq.read_table(whole, partitioning=None).drop(["seq"]), whole.parent / "part-9.parquet")
    analyse(folder)
    aside = rows(folder, "set_aside")
    assert {each["source"] for each in aside} == {f"events/sent/worker=producer-0/part-{n}.parquet" for n in (7, 9)}
    assert {each["reason"] for each in aside if "part-9" in each["source"]} == {"has no column seq"}
    assert row(folder, "delivery", scope="run")["delivered_once"] == 600


def test_a_part_with_a_damaged_page_is_set_aside(run: Writer) -> None:
    messages = Messages(6_000)
    folder = messages.write(run)
    damaged = folder.worker_events("received", "consumer-0") / "part-1.parquet"
    table = pq.read_table(damaged, partitioning=None)
    # Without compression and encoding, only the checksum tells that a number is not the one that was written.
    pq.write_table(table, damaged, compression="none", use_dictionary=False, write_page_checksum=True)
    chunk = pq.read_metadata(damaged).row_group(0).column(table.column_names.index("received_ns"))
    content = bytearray(damaged.read_bytes())
    content[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 1
    damaged.write_bytes(content)
    analyse(folder)
    (aside,) = rows(folder, "set_aside")
    assert aside["source"] == "events/received/worker=consumer-0/part-1.parquet"
    assert row(folder, "delivery", scope="run")["received"] == 2_000


def test_rows_without_what_they_must_have_are_set_aside_and_counted(run: Writer) -> None:
    messages = Messages(300)
    folder = messages.write(run)
    part = folder.worker_events("sent", "producer-0") / "part-0.parquet"
    table = pq.read_table(part, partitioning=None).to_pydict()
    table["seq"][:7] = [None] * 7
    schema = arrow_schema(TABLES["problems"])
    del schema

    pq.write_table(pa.table(table, pa.schema([(f.name, f.type) for f in pq.read_schema(part)])), part)
    analyse(folder)
    assert [each["rows"] for each in rows(folder, "set_aside")] == [7]
    delivery = row(folder, "delivery", scope="run")
    assert (delivery["acked"], delivery["unrecorded"]) == (293, 7)


def test_a_run_that_only_produces(run: Writer) -> None:
    messages = Messages(500)
    run.events("sent", messages.sent_columns())
    folder = run.facts(groups=[], scenario={"load": {"rate": "1k/s"}, "consume": "off"}, **TIMES)
    analyse(folder)
    delivery = row(folder, "delivery", scope="run", group=None)
    assert (delivery["acked"], delivery["received"], delivery["lost"], delivery["reordered"]) == (500, None, None, None)
    reasons = {each["metric"]: each["reason"] for each in rows(folder, "latency", scope="measure")}
    assert reasons["ack_response"] is None
    assert reasons["end_to_end_service"] == "no consumers"
    assert {each["outstanding"] for each in rows(folder, "throughput", scope="window")} == {None}


def test_a_run_that_only_consumes(run: Writer) -> None:
    messages = Messages(500)
    received = messages.received_columns(np.concatenate([messages.seq, messages.seq[:20]]))
    intact = [True] * 510 + [False] * 10
    run.events("received", received | {"due_ns": None, "sent_ns": None, "intact": intact})
    started = M0 + np.arange(4) * SECOND
    polls = {"consumer": 0, "poll": np.arange(4), "started_ns": started, "returned_ns": started + SECOND // 5}
    run.events("polls", polls | {"count": np.array([0, 2, 4, 0])})
    run.events("polls", {"consumer": 1, "poll": [0], "started_ns": M1, "returned_ns": M1 + 9, "count": 0}, "later")
    folder = run.facts(scenario={"load": "off", "consume": {}}, **TIMES)
    analyse(folder)
    delivery = row(folder, "delivery", scope="run")
    assert (delivery["received"], delivery["duplicate_consumer"], delivery["corrupt"]) == (520, 20, 10)
    assert (delivery["foreign"], delivery["sent"], delivery["lost"], delivery["reordered"]) == (0, None, None, None)
    reasons = {each["metric"]: each["reason"] for each in rows(folder, "latency", scope="measure")}
    untold = {"since_record_time": "the records do not say when they were made"}
    assert reasons == dict.fromkeys(METRICS, "the run has no load") | {"poll": None, "poll_per_record": None} | untold
    assert row(folder, "latency", metric="poll_per_record", scope="measure")["count"] == 6
    poll = row(folder, "latency", metric="poll", scope="measure")
    assert (poll["count"], poll["p50_ms"], poll["selected_by"]) == (4, 200.0, "received")
    assert row(folder, "polls", consumer=0) == {
        "consumer": 0, "polls": 4, "empty": 2, "messages": 6, "mean_messages": 3.0, "in_poll_share": 0.25,
        "longest_gap_ms": 800.0,
    }  # fmt: skip


def test_with_acks_0_there_is_no_latency_of_acknowledgement(run: Writer) -> None:
    messages = Messages(500)
    run.events("sent", messages.sent_columns() | {"acked_ns": None, "offset": None})
    run.events("received", messages.received_columns(messages.seq[:490]))
    messages.lag(run, np.array([(messages.partition == number).sum() for number in range(PARTITIONS)]))
    folder = run.facts(scenario={"load": {"client": {"acks": 0}}, "consume": {}}, **TIMES)
    analyse(folder)
    acks = [row(folder, "latency", metric=metric, scope="measure") for metric in ("ack_response", "ack_service")]
    assert [each["reason"] for each in acks] == ["acks 0", "acks 0"]
    delivery = row(folder, "delivery", scope="run")
    # Every partition was read to its end, so what did not come is lost.
    assert (delivery["acked"], delivery["delivered_once"], delivery["lost"], delivery["unknown"]) == (500, 490, 10, 0)
    assert row(folder, "throughput", scope="run")["acked"] == 500


def test_without_a_schedule_there_are_service_times_only(run: Writer) -> None:
    messages = Messages(500)
    run.events("sent", messages.sent_columns() | {"due_ns": None})
    run.events("received", messages.received_columns(messages.seq) | {"due_ns": None})
    messages.lag(run, np.array([(messages.partition == number).sum() for number in range(PARTITIONS)]))
    folder = run.facts(scenario={"load": {"rate": "max"}, "consume": {}}, **TIMES)
    analyse(folder)
    measured = (messages.sent >= M0) & (messages.sent < M1)
    service = row(folder, "latency", metric="end_to_end_service", scope="measure")
    check(service, (messages.received - messages.sent)[measured])
    assert service["selected_by"] == "sent"
    response = row(folder, "latency", metric="ack_response", scope="measure")
    assert (response["reason"], response["p50_ms"]) == ("the load has no schedule", None)
    assert rows(folder, "schedule_delay") == []
    assert row(folder, "throughput", scope="run")["due"] == 0


def test_processing_is_timed_where_it_is_recorded(run: Writer) -> None:
    messages = Messages(500)
    run.events("sent", messages.sent_columns())
    processed = messages.received + 2_000_000
    columns = messages.received_columns(messages.seq) | {"started_ns": messages.received, "processed_ns": processed}
    run.events("received", columns)
    messages.lag(run, np.array([(messages.partition == number).sum() for number in range(PARTITIONS)]))
    folder = run.facts(**TIMES)
    analyse(folder)
    measured = (messages.due >= M0) & (messages.due < M1)
    check(row(folder, "latency", metric="processing_service", scope="measure"), (processed - messages.sent)[measured])
    assert row(folder, "throughput", scope="measure")["processed"] == ((processed >= M0) & (processed < M1)).sum()


def test_what_is_no_run_is_refused_with_the_reason(run: Writer, tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match=r"run\.json cannot be read"):
        analyse(RunFolder(tmp_path / "nowhere"))
    folder = run.facts()
    folder.facts.write_text("{}")
    with pytest.raises(AnalysisError, match=r"run\.json has unexpected content"):
        analyse(folder)


def everything_read(messages: Messages) -> Ints:
    return np.array([(messages.partition == number).sum() for number in range(PARTITIONS)])


def test_batches_are_timed_from_their_first_message_and_from_the_begin_of_the_wait(run: Writer) -> None:
    messages = Messages(500)
    run.events("sent", messages.sent_columns() | {"due_ns": None})
    run.events("received", messages.received_columns(messages.seq) | {"due_ns": None})
    messages.lag(run, everything_read(messages))
    number = np.arange(200)
    began = 98 * SECOND + number * SECOND // 25
    waited = began + 1_000_000
    ended = waited + np.random.default_rng(3).lognormal(14, 1, 200).astype(np.int64)
    batches = {"producer": 0, "batch": number, "first_seq": number * 2, "messages": number * 0 + 2}
    run.events("batches", batches | {"began_ns": began, "waited_ns": waited, "ended_ns": ended})
    folder = run.facts(scenario={"load": {"rate": {"closed": {"batch": 2}}}, "consume": {}}, **TIMES)
    analyse(folder)
    measured = (began >= M0) & (began < M1)
    for metric, begin in (("batch", began), ("flush_wait", waited)):
        found = row(folder, "latency", metric=metric, scope="measure")
        check(found, (ended - begin)[measured])
        assert (found["selected_by"], found["reason"]) == ("sent", None)
        check(
            row(folder, "latency", metric=metric, scope="window", second=1),
            (ended - begin)[(began - M0) // SECOND == 1],
        )
        assert rows(folder, "latency", metric=metric, scope="partition") == rows(folder, "heat", metric=metric) == []
    response = row(folder, "latency", metric="end_to_end_response", scope="measure")
    assert response["reason"] == "closed loop: a batch is sent when the last one is acknowledged"


def in_transactions(messages: Messages, run: Writer) -> tuple[Ints, dict[str, Any]]:
    """A hundred messages each: the third of four is aborted, and of the last nobody knows how it ended."""
    transaction = messages.seq // 100
    number = np.arange(int(transaction.max()) + 1)
    outcome = ["aborted" if each % 4 == 2 else "committed" for each in number.tolist()]
    outcome[-1] = "unknown"
    began = messages.sent[number * 100]
    ended = began + np.random.default_rng(4).lognormal(16, 0.5, len(number)).astype(np.int64)
    columns = {"producer": 0, "transaction": number, "began_ns": began, "ended_ns": ended, "outcome": outcome}
    run.events("transactions", columns | {"messages": number * 0 + 100})
    return transaction, columns


def test_aborted_messages_are_acknowledged_and_neither_lost_nor_waited_for(run: Writer) -> None:
    messages = Messages(2_000)
    transaction, columns = in_transactions(messages, run)
    aborted, unknown = transaction % 4 == 2, transaction == 19
    run.events("sent", messages.sent_columns() | {"transaction": transaction})
    hidden = aborted | (unknown & (messages.seq % 2 == 1))
    run.events("received", messages.received_columns(np.flatnonzero(~hidden)))
    # A marker stands behind every transaction, so that positions and ends lie beyond the messages.
    messages.lag(run, everything_read(messages))
    folder = run.facts(scenario={"load": {"rate": "1k/s", "transactions": {"messages": 100}}, "consume": {}}, **TIMES)
    analyse(folder)
    measured = (messages.due >= M0) & (messages.due < M1)
    for scope, inside in (("run", measured | True), ("measure", measured)):
        delivery = row(folder, "delivery", scope=scope)
        assert delivery["acked"] == inside.sum()
        assert delivery["aborted"] == (inside & aborted).sum()
        assert delivery["unknown"] == (inside & unknown & hidden).sum()
        assert delivery["delivered_once"] == (inside & ~hidden).sum()
        assert (delivery["lost"], delivery["aborted_received"], delivery["reordered"]) == (0, 0, 0)
    assert row(folder, "throughput", scope="run")["acked"] == 2_000
    assert rows(folder, "throughput", scope="window")[-1]["outstanding"] == (unknown & hidden).sum()
    check(row(folder, "latency", metric="ack_response", scope="measure"), (messages.acked - messages.due)[measured])
    ages = (ENDED - messages.due)[measured & unknown & hidden]
    response = row(folder, "latency", metric="end_to_end_response", scope="measure")
    check(response, (messages.received - messages.due)[measured & ~hidden], ages)
    assert {each["class"] for each in rows(folder, "problems")} == {"unknown"}
    ended, took = columns["ended_ns"], columns["ended_ns"] - columns["began_ns"]
    for scope, inside in (("run", ended > 0), ("measure", (ended >= M0) & (ended < M1))):
        for outcome in ("committed", "aborted", "unknown"):
            mine = inside & (np.array(columns["outcome"]) == outcome)
            found = row(folder, "transactions", scope=scope, outcome=outcome)
            assert (found["count"], found["messages"]) == (mine.sum(), 100 * mine.sum())
            assert found["max_ms"] == (took[mine].max() / 1e6 if mine.any() else None)
            assert found["mean_messages"] == (100 if mine.any() else None)
            assert found["per_second"] == mine.sum() * SECOND / (M1 - M0 if scope == "measure" else ENDED - 98 * SECOND)
    assert row(folder, "transactions", scope="run", outcome="aborted")["p50_ms"] == pytest.approx(
        expected(took[np.array(columns["outcome"]) == "aborted"])["p50_ms"]
    )


UNCOMMITTED = {"client": {"isolation.level": "read_uncommitted"}}


def test_aborted_messages_that_were_received_are_counted_and_not_timed(run: Writer) -> None:
    messages = Messages(2_000)
    transaction, _ = in_transactions(messages, run)
    aborted = transaction % 4 == 2
    run.events("sent", messages.sent_columns() | {"transaction": transaction})
    run.events("received", messages.received_columns(messages.seq))
    messages.lag(run, everything_read(messages))
    folder = run.facts(
        scenario={"load": {"rate": "1k/s", "transactions": {"messages": 100}}, "consume": UNCOMMITTED}, **TIMES
    )
    analyse(folder)
    delivery = row(folder, "delivery", scope="run")
    assert (delivery["aborted"], delivery["aborted_received"]) == (500, 500)
    assert (delivery["delivered_once"], delivery["unknown"], delivery["received"]) == (1_500, 0, 2_000)
    measured = (messages.due >= M0) & (messages.due < M1) & ~aborted
    check(
        row(folder, "latency", metric="end_to_end_response", scope="measure"),
        (messages.received - messages.due)[measured],
    )
    assert row(folder, "throughput", scope="run")["received"] == 2_000
    assert rows(folder, "throughput", scope="window")[-1]["outstanding"] == 0
    (problem,) = {each["class"] for each in rows(folder, "problems")}
    assert problem == "aborted_received"


def test_a_transaction_without_a_row_is_undecided(run: Writer) -> None:
    messages = Messages(300)
    run.events("sent", messages.sent_columns() | {"transaction": messages.seq // 100})
    run.events("received", messages.received_columns(messages.seq[:250]))
    messages.lag(run, everything_read(messages))
    folder = run.facts(**TIMES)
    analyse(folder)
    delivery = row(folder, "delivery", scope="run")
    assert (delivery["delivered_once"], delivery["unknown"], delivery["lost"], delivery["aborted"]) == (250, 50, 0, 0)
    assert rows(folder, "transactions") == []


def test_aborted_messages_are_counted_where_nobody_consumes(run: Writer) -> None:
    messages = Messages(2_000)
    transaction, _ = in_transactions(messages, run)
    run.events("sent", messages.sent_columns() | {"transaction": transaction})
    folder = run.facts(groups=[], scenario={"load": {"rate": "1k/s"}, "consume": "off"}, **TIMES)
    analyse(folder)
    delivery = row(folder, "delivery", scope="run", group=None)
    assert (delivery["acked"], delivery["aborted"], delivery["aborted_received"]) == (2_000, 500, None)


def test_messages_sent_again_are_counted_once(run: Writer) -> None:
    messages = Messages(600)
    messages.write(run)
    # In the warm-up message 1 failed twice; in the measure phase 2 did, with both errors, and 3, in another topic too.
    tries = [
        (99, 0, 1, 1, "A"),
        (99, 0, 1, 2, "A"),
        (101, 0, 2, 1, "A"),
        (102, 0, 2, 2, "B"),
        (103, 0, 3, 1, "B"),
        (103, 1, 3, 1, "B"),
    ]
    at, topic, seq, attempt, error = (list(column) for column in zip(*tries, strict=True))
    run.events(
        "resends",
        {
            "at_ns": [each * SECOND for each in at],
            "topic": topic,
            "producer": 0,
            "seq": seq,
            "attempt": attempt,
            "error": error,
        },
    )
    folder = run.facts(**TIMES)
    analyse(folder)
    found = {(each["scope"], each["error"]): (each["count"], each["messages"]) for each in rows(folder, "resends")}
    assert found == {
        ("run", None): (6, 4), ("run", "A"): (3, 2), ("run", "B"): (3, 3),
        ("measure", None): (4, 3), ("measure", "A"): (1, 1), ("measure", "B"): (3, 3),
    }  # fmt: skip
    assert [row(folder, "delivery", scope=scope)["resent"] for scope in ("run", "measure")] == [4, 3]


def test_a_run_without_attempts_sent_nothing_again(plain: RunFolder) -> None:
    assert [each["resent"] for each in rows(plain, "delivery")] == [0, 0]
    for table in ("resends", "transactions", "processing"):
        assert rows(plain, table) == []


@pytest.mark.parametrize("clock", ["create", "both"])
def test_records_of_others_are_timed_by_the_time_that_they_carry(run: Writer, clock: str) -> None:
    messages = Messages(3_000)
    ahead = 5 * 10**17 + 123
    # Records are a second old; ten of them are from the future.
    stamped = (messages.received + ahead - SECOND) // 1_000_000
    stamped[1_000:1_010] += 5_000
    by_broker = clock == "both"
    append, create = (
        [int(at) if (number % 2 == 0 and by_broker) == wanted else None for number, at in enumerate(stamped)]
        for wanted in (True, False)
    )
    columns = messages.received_columns(messages.seq) | {"due_ns": None, "sent_ns": None}
    columns |= {"append_ms": append, "created_ms": create}
    run.events("received", columns)
    again = {name: values[:50] if isinstance(values, np.ndarray | list) else values for name, values in columns.items()}
    again |= {"received_ns": messages.received[:50] + SECOND, "poll": np.arange(50) + 10_000}
    run.events("received", again, part=1)
    facts = {"wall_ns": ahead + 77, "monotonic_ns": 77, "scenario": {"load": "off", "consume": {}}}
    folder = run.facts(**facts, **TIMES)
    analyse(folder)
    measured = (messages.received >= M0) & (messages.received < M1)
    age = messages.received + ahead - stamped * 1_000_000
    found = row(folder, "latency", metric="since_record_time", scope="measure")
    assert (found["count"], found["negative"], found["clock"]) == (measured.sum(), 10, clock)
    assert found["min_ms"] == age[measured].min() / 1e6
    assert found["p50_ms"] == expected(age[measured])["p50_ms"]
    assert (found["selected_by"], found["max_ms"]) == ("received", age[measured].max() / 1e6)
    assert row(folder, "delivery", scope="run")["duplicate_consumer"] == 50
    assert (
        row(folder, "delivery", scope="measure")["received"] == row(folder, "throughput", scope="measure")["received"]
    )
    assert len(rows(folder, "latency", metric="since_record_time", scope="partition")) == PARTITIONS


def test_three_topics_and_two_groups_are_told_apart(run: Writer) -> None:
    messages = Messages(9_000)
    topic = messages.seq % 3
    place = topic * PARTITIONS + messages.partition
    for number in range(3 * PARTITIONS):
        mine = place == number
        messages.offset[mine] = np.arange(mine.sum())
    run.events("sent", messages.sent_columns() | {"topic": topic})
    # The second group is slower, and has not received the end of topic 2.
    late = messages.received + 3_000_000
    got = ~((topic == 2) & (messages.seq > 8_000))
    ends = np.array([(place == number).sum() for number in range(3 * PARTITIONS)])
    positions = np.array([(got & (place == number)).sum() for number in range(3 * PARTITIONS)])
    for group, chosen, received, read in (
        (0, messages.seq, messages.received, ends),
        (1, np.flatnonzero(got), late, positions),
    ):
        columns = messages.received_columns(chosen) | {"topic": topic[chosen], "received_ns": received[chosen]}
        run.events("received", columns | {"group": group, "consumer": group}, f"consumer-{group}")
        lanes = {
            "at_ns": ENDED,
            "topic": np.arange(9) // PARTITIONS,
            "group": group,
            "partition": np.arange(9) % PARTITIONS,
        }
        zeros = np.zeros(9, np.int64)
        run.events(
            "lag", lanes | {"moment": "start", "start": zeros, "committed": zeros, "end": zeros}, f"start-{group}"
        )
        run.events("lag", lanes | {"moment": "final", "start": zeros, "committed": read, "end": ends}, f"final-{group}")
        run.events("lag", lanes | {"moment": "final", "consumer": group, "position": read}, f"consumer-{group}")
    names = [{"id": number, "name": f"t{number}"} for number in range(3)]
    folder = run.facts(topics=names, groups=[{"id": 0, "name": "g"}, {"id": 1, "name": "h"}], **TIMES)
    analyse(folder)
    first, second = (row(folder, "delivery", scope="run", group=group) for group in (0, 1))
    assert (first["delivered_once"], first["undelivered"], first["received"]) == (9_000, 0, 9_000)
    assert (second["delivered_once"], second["undelivered"], second["received"]) == (got.sum(), (~got).sum(), got.sum())
    assert first["lost"] == second["lost"] == first["reordered"] == second["reordered"] == 0
    sent, acked = ((times >= M0) & (times < M1) for times in (messages.sent, messages.acked))
    ours, theirs = (messages.received >= M0) & (messages.received < M1), got & (late >= M0) & (late < M1)
    for number in range(3):
        found = row(folder, "throughput", scope="topic", topic=number)
        mine = topic == number
        assert (found["sent"], found["acked"]) == ((sent & mine).sum(), (acked & mine).sum())
        assert found["received"] == found["processed"] == (ours & mine).sum() + (theirs & mine).sum()
        for partition in range(PARTITIONS):
            part = row(folder, "throughput", scope="partition", topic=number, partition=partition)
            here = mine & (messages.partition == partition)
            assert part["sent"] == (sent & here).sum()
            due = here & (messages.due >= M0) & (messages.due < M1)
            assert part["first_sent_ms"] == (messages.sent[due].min() - M0) / 1e6
            assert part["last_received_ms"] == (messages.received[due].max() - M0) / 1e6
    for number in range(3):
        mine = topic == number
        arrived = np.concatenate([messages.received[mine], late[got & mine]])
        for name, times in (("sent", messages.sent[mine]), ("acked", messages.acked[mine]), ("received", arrived)):
            by_second = Counter(((times - M0) // 10**9).tolist())
            told = {each["second"]: each[name] for each in rows(folder, "topics", topic=number) if each[name]}
            assert told == by_second, (name, number)
    for role, number, times in (
        ("producer", 0, messages.sent),
        ("consumer", 0, messages.received),
        ("consumer", 1, late[got]),
    ):
        told = {each["second"]: each for each in rows(folder, "workers", role=role, number=number)}
        by_second = Counter(((times - M0) // 10**9).tolist())
        assert {second: each["messages"] for second, each in told.items()} == by_second
        assert {second: each["bytes"] for second, each in told.items()} == {
            at: 100 * of for at, of in by_second.items()
        }
    for group, counted in enumerate((ours, theirs)):
        found = row(folder, "throughput", scope="group", group=group)
        assert (found["sent"], found["received"], found["received_bytes"]) == (
            sent.sum(),
            counted.sum(),
            100 * counted.sum(),
        )
    # Latency and backlog are those of the first group.
    measured = (messages.due >= M0) & (messages.due < M1)
    for number in range(3):
        took = (messages.received - messages.sent)[measured & (topic == number)]
        found = row(folder, "latency", metric="end_to_end_service", scope="topic", topic=number)
        assert (found["count"], found["min_ms"], found["max_ms"]) == (len(took), took.min() / 1e6, took.max() / 1e6)
        assert found["p99_ms"] == pytest.approx(np.sort(took)[-(-len(took) * 99 // 100) - 1] / 1e6, rel=0.01)
    values = messages.received - messages.due
    check(row(folder, "latency", metric="end_to_end_response", scope="measure"), values[measured])
    part = row(folder, "latency", metric="end_to_end_response", scope="partition", topic=1, partition=2)
    check(part, values[measured & (place == 1 * PARTITIONS + 2)])
    assert rows(folder, "throughput", scope="window")[-1]["outstanding"] == 0


PROCESSING = {"delay": "4ms", "changes": [{"at": "2s", "delay": "1ms", "jitter": "2ms"}]}


@pytest.mark.parametrize(("order", "slots", "skip"), [("loop", 1, 0.1), ("slots", 5, 0.1), ("partitions", 3, 0.0)])
def test_processing_is_told_by_consumer_and_by_the_delay_that_was_asked_for(
    run: Writer, order: str, slots: int, skip: float
) -> None:
    messages = Messages(3_000)
    run.events("sent", messages.sent_columns())
    started = messages.received + 1_000
    phase = (started >= M0 + 2 * SECOND).astype(np.int64)
    took = np.where(phase == 1, 2_000_000, 4_000_000) + messages.seq * 10
    dropped = messages.seq % 10 == 3
    begun, done = (
        [None if gone else int(at) for gone, at in zip(dropped, times, strict=True)]
        for times in (started, started + took)
    )
    consumer = messages.seq % 2
    columns = messages.received_columns(messages.seq) | {
        "started_ns": begun,
        "processed_ns": done,
        "consumer": consumer,
    }
    run.events("received", columns)
    lanes = {"at_ns": ENDED, "topic": 0, "group": 0, "moment": "final", "partition": np.array([0, 1, 2])}
    ends = everything_read(messages)
    run.events("lag", lanes | {"consumer": 0, "position": ends}, "consumer-0")
    run.events("lag", lanes | {"consumer": 1, "position": ends}, "consumer-1")
    processing = PROCESSING | {"order": order, "skip": skip} | ({"slots": 5} if order == "slots" else {})
    folder = run.facts(scenario={"load": {"rate": "1k/s"}, "consume": {"processing": processing}}, **TIMES)
    analyse(folder)
    at = np.where(dropped, messages.received, started + took)
    phase = np.where(dropped, messages.received >= M0 + 2 * SECOND, phase)
    measured = (at >= M0) & (at < M1)
    every = measured | True
    scopes = [
        (None, None, every),
        (0, None, consumer == 0),
        (1, None, consumer == 1),
        (None, 0, phase == 0),
        (None, 1, phase == 1),
    ]
    assert [(each["consumer"], each["phase"]) for each in rows(folder, "processing")] == [scope[:2] for scope in scopes]
    for number, delay, mine in scopes:
        found = row(folder, "processing", consumer=number, phase=delay)
        kept = took[mine & measured & ~dropped]
        assert (found["processed"], found["unprocessed"]) == (len(kept), (mine & measured & dropped).sum())
        wanted = {
            name: value for name, value in expected(kept).items() if name in {"p50_ms", "p99_ms", "max_ms", "mean_ms"}
        }
        assert {name: found[name] for name in wanted} == pytest.approx(wanted)
        asked = np.where(phase == 1, 2.0, 4.0)[mine & measured & ~dropped]
        assert found["target_ms"] == pytest.approx(asked.mean())
        share = len(np.unique(consumer[mine])) * slots * (M1 - M0)
        assert found["busy_share"] == (pytest.approx(kept.sum() / share) if delay is None else None)
    stddevs = [row(folder, "processing", phase=delay)["target_stddev_ms"] for delay in (0, 1)]
    assert stddevs == [0.0, pytest.approx(2 / 12**0.5)]
    assert row(folder, "throughput", scope="run")["processed"] == (~dropped).sum()
    # What was dropped is done with; what is left over is not.
    assert rows(folder, "throughput", scope="window")[-1]["outstanding"] == (0 if skip else dropped.sum())


def test_what_consumers_are_told_not_to_read_is_not_waited_for(run: Writer) -> None:
    messages = Messages(3_000)
    read = messages.partition != 1
    run.events("sent", messages.sent_columns())
    lost = read & (messages.seq == 2_000 + np.flatnonzero(read[2_000:])[0])
    run.events("received", messages.received_columns(np.flatnonzero(read & ~lost)))
    messages.lag(run, everything_read(messages))
    folder = run.facts(scenario={"load": {"rate": "1k/s"}, "consume": {"partitions": [0, 2]}}, **TIMES)
    analyse(folder)
    measured = (messages.due >= M0) & (messages.due < M1)
    for scope, inside in (("run", measured | True), ("measure", measured)):
        delivery = row(folder, "delivery", scope=scope)
        assert (delivery["acked"], delivery["unread"]) == (inside.sum(), (inside & ~read).sum())
        assert (delivery["delivered_once"], delivery["lost"]) == ((inside & read & ~lost).sum(), 1)
        assert (delivery["unknown"], delivery["undelivered"]) == (0, 0)
    assert row(folder, "latency", metric="end_to_end_response", scope="measure")["censored"] == 1
