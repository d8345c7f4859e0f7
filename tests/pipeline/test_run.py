"""From run folders to tables: every figure against numpy over the same rows, and runs that lack something."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.histogram import bucket_of, upper_edge_ns
from streamgauge.domain.latency import PERCENTILES
from streamgauge.domain.runfolder import RunFolder
from streamgauge.domain.tables import METRICS, TABLES
from streamgauge.pipeline.run import analyse
from streamgauge.pipeline.schemas import arrow_schema

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
        "lateness": messages.sent - messages.due,
    }
    for metric, values in latencies.items():
        check(row(folder, "latency", metric=metric, scope="measure"), values[measured])
        for number in np.unique(second).tolist():
            check(row(folder, "latency", metric=metric, scope="window", second=number), values[second == number])
        parts = rows(folder, "latency", metric=metric, scope="partition")
        assert len(parts) == (0 if metric == "lateness" else PARTITIONS)
        for part in parts:
            check(part, values[measured & (messages.partition == part["partition"])])
    lateness = row(folder, "lateness", producer=0)
    assert lateness["max_ms"] == latencies["lateness"][measured].max() / 1e6
    assert lateness == row(folder, "lateness", producer=None) | {"producer": 0}
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
    assert rows(folder, "latency_buckets", metric="lateness", second=None) == []


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
    assert {each["metric"] for each in rows(folder, "heat")}.isdisjoint({"lateness", "poll"})


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
    chunk = pq.read_metadata(damaged).row_group(0).column(11)
    assert chunk.path_in_schema == "received_ns"
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
    assert reasons["end_to_end_service"] == "nobody consumes"
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
    assert reasons == dict.fromkeys(METRICS, "the run has no load") | {"poll": None}
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
    assert rows(folder, "lateness") == []
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
    with pytest.raises(AnalysisError, match=r"not the run\.json of a run"):
        analyse(folder)
