"""A small run folder, made by hand: what a short healthy run of `baseline` leaves, to be made worse by the tests."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.arrow import arrow_schema
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.domain.latency.percentiles import PERCENTILES
from streamgauge.domain.tables.delivery import DELIVERY_COUNTS
from streamgauge.domain.tables.latency import METRICS
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.report.assemble.result import assemble, write_result
from streamgauge.report.figures import catalogue
from streamgauge.report.figures.compare import LabelledRun
from streamgauge.report.figures.drawing.figure import Figure, FigureSource
from streamgauge.report.figures.drawing.timeline import source_of
from streamgauge.report.publish import tables_of
from streamgauge.result import Result
from streamgauge.result.reading import result_of
from streamgauge.verdict import checks

Row = dict[str, Any]
Tables = dict[str, list[Row]]
SECONDS = 10
RATE = 10_000

ABSENT = {
    "processing_response": "processing is not recorded",
    "processing_service": "processing is not recorded",
    "batch": "the load does not wait for its reports",
    "flush_wait": "the load does not wait for its reports",
    "since_record_time": "the run sends what it receives",
    "throttle": "no backpressure",
    "own_schedule_delay": "no backpressure",
}
"""Metrics that a run has not, and why."""

FACTS: Row = {
    "id": "20260101-120000-baseline",
    "name": "baseline",
    "tag": 7,
    "created": "2026-01-01T12:00:00Z",
    "wall_ns": 1,
    "monotonic_ns": 1,
    "command": ["streamgauge", "run", "baseline"],
    "scenario": {
        "name": "baseline",
        "topic": {"name": "streamgauge-baseline", "partitions": 12},
        "load": {"rate": "10k/s", "producers": 2, "size": 512},
        "consume": {"consumers": 2},
        "verify": "all",
        "expect": {"delivery.lost": 0, "latency.end_to_end.response.p99_ms": "<= 20"},
    },
    "versions": {"python": "3.11.7"},
    "machine": {"cores": 2},
    "broker": {"embedded": True, "bootstrap": "127.0.0.1:9", "version": "4.3.1", "processes": ["broker-1"]},
    "calibration": {"rate": 10_000.0, "wall_ns": 1, "errors_ms": {}},
    "topics": [{"id": 0, "name": "streamgauge-baseline", "partitions": 12}],
    "groups": [{"id": 0, "name": "g"}],
    "workers": [
        {"name": f"{role}-{number}", "role": role, "number": number, "exit_code": 0}
        for role in ("producer", "consumer")
        for number in (0, 1)
    ],
    "phases": [{"name": "measure", "from_ns": 0, "to_ns": SECONDS * 10**9}],
    "drained": True,
    "ending": "finished",
}


def latency(metric: str, p99: float, scope: str = "measure", second: int | None = None, count: int = RATE) -> Row:
    figures = {f"{name}_ms": p99 * (0.5 + index / 8) for index, name in enumerate(PERCENTILES)}
    moments = {"min_ms": 0.4, "mean_ms": 2.0, "stddev_ms": 1.0, "variance_ms2": 1.0, "mad_ms": 0.5, "max_ms": 3 * p99}
    row: Row = {"metric": metric, "scope": scope, "second": second, "count": count, "censored": 0, "selected_by": "due"}
    return row | figures | moments | {f"{name}_censored": False for name in PERCENTILES}


def bounds(metric: str, p99: float = 6.0) -> Row:
    """Narrow ones: everything is believed."""
    low = {name: value for name, value in latency(metric, p99).items() if name.endswith("_ms")}
    ends = {"stddev_low_ms": 0.95, "stddev_high_ms": 1.05, "mad_low_ms": 0.5, "mad_high_ms": 0.5}
    return {"metric": metric, "known": True, **low, **ends}


def absent(metric: str, reason: str) -> Row:
    row: Row = {"metric": metric, "scope": "measure", "count": 0, "censored": 0, "selected_by": "due", "reason": reason}
    return row | {f"{name}_censored": False for name in PERCENTILES}


def point(metric: str, percent: float, value_ms: float) -> Row:
    return {"metric": metric, "percent": percent, "value_ms": value_ms, "hi_ms": value_ms, "censored": False}


def throughput(scope: str, second: int | None, seconds: int, outstanding: int | None = None) -> Row:
    names = ("due", "sent", "acked", "received", "processed")
    row: Row = {"scope": scope, "second": second, "duration_ns": seconds * 10**9, "failed": 0, "unsent": 0}
    row |= dict.fromkeys(names, RATE * seconds) | {"outstanding": outstanding}
    return row | dict.fromkeys(("sent_bytes", "received_bytes"), 512 * RATE * seconds)


def delivery(scope: str, messages: int, group: int | None = 0) -> Row:
    good = ("sent", "acked", "received", "delivered_once", "checked")
    row: Row = {"scope": scope, "group": group, "negative_latencies": 0, **dict.fromkeys(DELIVERY_COUNTS, 0)}
    return row | dict.fromkeys(good, messages)


def without(document: dict[str, Any], *paths: str) -> None:
    """Take figures out of a result: their values, and what is known of their trust."""
    for path in paths:
        document["trust"].pop(path, None)
        *way, last = path.split(".")
        place: Any = document
        for key in way:
            place = (place or {}).get(key)
        if place and last in place:
            place[last] = None


def used(process: str, role: str, cores: float, **more: float) -> Row:
    return {"process": process, "role": role, "scope": "measure", "cpu_cores": cores, "rss_bytes": 1 << 26, **more}


def healthy_tables(seconds: range = range(-2, SECONDS)) -> Tables:
    metrics = [metric for metric in METRICS if metric not in {*ABSENT, "schedule_delay"}]
    return {
        "throughput": [
            throughput("run", None, SECONDS + 2),
            throughput("measure", None, SECONDS),
            *(throughput("window", second, 1, outstanding=40) for second in seconds),
            *(throughput("partition", None, SECONDS) | {"topic": 0, "partition": number} for number in range(12)),
        ],
        "latency": [
            *(latency(metric, 6.0, count=SECONDS * RATE) for metric in metrics),
            *(absent(metric, reason) for metric, reason in ABSENT.items()),
            *(latency(metric, 6.0, "window", second) for metric in (*metrics, "schedule_delay") for second in seconds),
            *(
                latency(metric, 6.0, "partition") | {"topic": 0, "partition": number}
                for metric in metrics
                for number in range(12)
            ),
        ],
        "bounds": [bounds(metric) for metric in metrics],
        "percentiles": [
            point(metric, percent, 1.0 + percent / 10) for metric in metrics for percent in (0, 50, 90, 100)
        ],
        "heat": [
            {
                "metric": metric,
                "from_second": second,
                "to_second": second + 1,
                "above_ms": low,
                "le_ms": high,
                "count": 9,
            }
            for metric in metrics
            for second in seconds
            for low, high in ((0.0, 0.01), (5.0, 6.0))
        ],
        "cdf": [{"metric": metric, "le_ms": edge, "share": edge / 100} for metric in metrics for edge in (1.0, 100.0)],
        "schedule_delay": [
            {"producer": producer, "count": 9, "p50_ms": 0.01, "p99_ms": 0.09, "p99_9_ms": 0.4, "max_ms": 1.5}
            for producer in (None, 0, 1)
        ],
        "delivery": [delivery("run", (SECONDS + 2) * RATE), delivery("measure", SECONDS * RATE)],
        "polls": [
            {"consumer": consumer, "polls": 900, "empty": 0, "messages": 9, "in_poll_share": 0.9} for consumer in (0, 1)
        ],
        "resources": [
            used("producer-0", "producer", 0.214, blocked_share=0.0),
            used("producer-1", "producer", 0.221, blocked_share=0.0),
            used("consumer-0", "consumer", 0.118),
            used("consumer-1", "consumer", 0.121),
            used("broker-1", "broker", 0.437),
            used("host", "host", 1.2, idle_share=0.381, steal_share=0.0012),
            *(
                {"process": process, "role": process[:-2], "scope": "interval", "second": at, "poll_gap_ms": 0.3}
                | {"cpu_cores": 0.1 * at, "run_delay_share": 0.01 * at, "duration_ns": 10**9}
                for process in ("producer-0", "consumer-0")
                for at in (1.0, 2.0)
            ),
        ],
        "gc": [
            {"process": "broker-1", "at_ns": 1, "second": second, "kind": "Young", "pause_ms": pause}
            for second, pause in ((-1.0, 90.0), (2.0, 2.5), (3.0, 1.5))
        ],
        "steps": [],
        "transactions": [],
        "resends": [],
        "processing": [],
        "wire": [],
        "client": [
            {"worker": f"{role}-{number}", "role": role, "second": at, "duration_ns": 10**9, "messages": 5_000}
            | {"message_bytes": 2_560_000, "wire_bytes": 2_600_000, "requests": 400, "retries": 0, "throttle_ms": 0}
            | {"rtt_ms": 2.5, "rtt_p99_ms": 9.5}
            | ({"batch_messages": 12.0, "batch_bytes": 6_400.0, "queue_ms": 5.5} if role == "producer" else {})
            for role in ("producer", "consumer")
            for number in (0, 1)
            for at in (1.0, 2.0, 3.0)
        ],
        "topics": [],
        "rebalances": [],
        "workers": [
            {"second": second, "role": role, "number": number, "duration_ns": 10**9, "messages": RATE // 2}
            | {"bytes": 512 * RATE // 2}
            for role in ("producer", "consumer")
            for number in (0, 1)
            for second in seconds
        ],
        "connections": [],
        "lag": [],
        "lag_heat": [],
        "outstanding": [],
        "backpressure": [],
        "faults": [],
        "recovery": [],
        "followers": [],
        "fault_scores": [],
        "fault_partitions": [],
        "set_aside": [],
        "problems": [],
        "problem_counts": [],
    }


def transacting(facts: Row, tables: Tables) -> None:
    """A load in transactions, a tenth of which is aborted; and one whose end nobody knows."""
    facts["scenario"]["load"]["transactions"] = {"messages": 100, "abort": 0.1}
    took = {"per_second": 90.0, "mean_messages": 100.0, "p50_ms": 12.5, "p99_ms": 20.0, "max_ms": 31.0}
    none = dict.fromkeys(took) | {"per_second": 0.0}
    tables["transactions"] = [
        {"scope": scope, "outcome": outcome, "count": count, "messages": 100 * count} | (took if count else none)
        for scope, unknown in (("run", 1), ("measure", 0))
        for outcome, count in (("committed", 900), ("aborted", 100), ("unknown", unknown))
    ]
    for row in tables["delivery"]:
        row.update(aborted=10_000, delivered_once=row["acked"] - 10_000)


def waiting(_facts: Row, tables: Tables) -> None:
    """Producers wait for the reports of a batch."""
    tables["latency"] = [row for row in tables["latency"] if row["metric"] not in {"batch", "flush_wait"}]
    tables["latency"] += [latency("batch", 4.0), latency("flush_wait", 3.0)]


def processing(facts: Row, tables: Tables) -> None:
    """Two consumers that take 4 ms a message, and half of that later on."""
    facts["scenario"]["consume"]["processing"] = {"delay": "4ms", "changes": [{"at": "5s", "delay": "2ms"}]}
    done = {"processed": 4_000, "unprocessed": 7, "p50_ms": 4.0, "p99_ms": 4.1, "max_ms": 4.5}
    tables["processing"] = [
        done
        | {"consumer": consumer, "phase": phase, "mean_ms": mean, "target_ms": asked, "busy_share": busy}
        | {"target_stddev_ms": None if phase is None else 0.0}
        for consumer, phase, mean, asked, busy in (
            (None, None, 3.02, 3.0, 0.75),
            (0, None, 3.02, 3.0, 0.75),
            (1, None, 3.02, 3.0, 0.75),
            (None, 0, 4.03, 4.0, None),
            (None, 1, 2.01, 2.0, None),
        )
    ]


def connecting(facts: Row, tables: Tables) -> None:
    """Clients tell of themselves, and connections are opened and held beside the load."""
    counts = dict.fromkeys(("messages", "message_bytes", "wire_bytes", "requests", "retries", "throttle_ms"), 7)
    means = dict.fromkeys(("ratio", "messages_per_request", "rtt_ms", "rtt_p99_ms"), 2.5)
    batches = dict.fromkeys(("batch_messages", "batch_bytes", "queue_ms"), 3.5)
    tables["wire"] = [
        {"scope": scope, "role": role, "worker": worker, **counts, **means, **(batches if role == "producer" else {})}
        for scope in ("run", "measure")
        for role in ("producer", "consumer")
        for worker in (None, f"{role}-0")
    ]
    facts["scenario"]["connections"] = {"open": "10/s", "hold": {"producers": 5}}
    done = {"scope": "measure", "duration_ns": SECONDS * 10**9, "target_per_second": 10.0, "made": 99, "failed": 1}
    done |= {"exhausted": 0, "error": "_TRANSPORT", "per_second": 9.9, "under_way": 0.1, "at_once": 4}
    done |= dict.fromkeys(
        ("p50_ms", "p99_ms", "max_ms", "schedule_delay_p50_ms", "schedule_delay_p99_ms", "schedule_delay_max_ms"), 1.5
    )
    tables["connections"] = [done | {"kind": "open", "held": None}, done | {"kind": "hold-producer", "held": 5}]


EVERY_S = 0.5
PAUSED = (3.0, 5.0)
"""When consumers are paused in `faulty`, and producers in `hysteresis`."""


def lagging(facts: Row, tables: Tables) -> None:
    """Lag is sampled twice a second; it jumps at second 4, and one sample failed."""
    facts["scenario"]["lag"] = {"every": f"{round(EVERY_S * 1_000)}ms"}
    seconds = [EVERY_S * step for step in range(-3, round(SECONDS / EVERY_S) + 1)]
    tables["lag"] = [
        {"second": second, "scope": "group", "group": 0, "end": 10_000, "error": None}
        | {
            "committed_lag": 1_300 if second < 4 else 2_600,
            "position_lag": 130,
            "worst_committed_lag": 200,
            "took_ms": 2.0,
        }
        for second in seconds
    ]
    tables["lag_heat"] = [
        {"group": 0, "topic": 0, "partition": partition, "from_second": second, "to_second": second + 1}
        | {"committed_lag": 100 if second < 4 else 200, "position_lag": 10}
        for second in range(-2, SECONDS)
        for partition in range(12)
    ]
    tables["lag"] += [row | {"scope": "partition", "topic": 0, "partition": 3} for row in tables["lag"]]
    tables["lag"][4] |= dict.fromkeys(("committed_lag", "position_lag", "worst_committed_lag", "took_ms")) | {
        "error": "timed out"
    }
    tables["outstanding"] = [_replayed(second, RATE, None) for second in seconds]


def _replayed(second: float, admitted_per_second: float, most: int | None, held: float = 0.0) -> Row:
    """2,400 messages a second are processed, of what was let go since two seconds before the measure phase."""
    since = second + 2
    admitted = round(admitted_per_second * (since - held))
    row: Row = {"second": second, "group": 0, "due": round(RATE * since), "admitted": admitted, "sent": admitted}
    row |= {"processed": round(2_400 * since), "outstanding": admitted - round(2_400 * since)}
    row |= {"outstanding_max": most, "credits_used_max": most and most + 2, "backlog": row["due"] - admitted}
    return row | {"time_lag_ms": row["outstanding"] / 2.4}


def stepping(facts: Row, tables: Tables) -> None:
    """Two steps of five seconds; in the second a tenth does not arrive, five fail, and p99 is five times as long."""
    steps = {"from": f"{RATE}/s", "to": f"{2 * RATE}/s", "steps": 2, "each": "5s"}
    facts["scenario"]["load"]["rate"] = {"steps": steps}
    facts["scenario"]["expect"]["throughput.acked_per_second"] = ">= 9000"
    for number, p99 in enumerate((6.0, 30.0)):
        messages, begin = (number + 1) * RATE * 5, 5 * number
        counts = dict.fromkeys(("due", "sent", "acked"), messages)
        row: Row = {"step": number + 1, "from_second": begin, "to_second": begin + 5, "duration_ns": 5 * 10**9}
        row |= dict.fromkeys(("from_per_second", "to_per_second"), (number + 1.0) * RATE)
        arrived = round(messages * (1 - 0.1 * number))
        row |= counts | {"received": arrived, "arrived": arrived, "failed": 5 * number, "unsent": 0}
        of_kinds = {f"{kind}_{name}_ms": p99 for kind in ("response", "service") for name in (*PERCENTILES, "max")}
        tables["steps"].append(row | of_kinds)
        tables["latency"] += [
            latency(metric, p99, "step", begin, messages) for metric in ("end_to_end_response", "end_to_end_service")
        ]


def credited(facts: Row, tables: Tables) -> None:
    """Credit of 5,000 lets a quarter of the load go, and holds."""
    lagging(facts, tables)
    facts["scenario"]["backpressure"] = {"credit": {"limit": 5000, "poll": "1ms"}}
    tables["outstanding"] = [_replayed(row["second"], 2_500, 4_990) for row in tables["outstanding"]]
    row: Row = {"policy": "credit", "limit": 5_000, "resume": None, "poll_ms": 1.0, "decisions": 900}
    row |= {"outstanding_max": 4_990, "credits_used_max": 4_992, "max_second": 2.5, "within_limit": True}
    tables["backpressure"] = [row | {"returned": 12, "ambiguous": 3}]


def hysteresis(facts: Row, tables: Tables) -> None:
    """Producers pause above 3,000 and go on below 1,000: once, for two seconds."""
    lagging(facts, tables)
    facts["scenario"]["backpressure"] = {"hysteresis": {"max_lag": 3000, "resume_lag": 1000, "poll": "200ms"}}
    tables["outstanding"] = [
        _replayed(row["second"], 5_000, None, held=min(max(0.0, row["second"] - PAUSED[0]), PAUSED[1] - PAUSED[0]))
        for row in tables["outstanding"]
    ]
    row: Row = {"policy": "hysteresis", "limit": 3_000, "resume": 1_000, "poll_ms": 200.0, "decisions": 2}
    tables["backpressure"] = [
        row | {"outstanding_max": 19_000, "credits_used_max": 19_004, "max_second": 3.0, "pauses": 1, "paused_s": 2.0}
    ]


def faulty(facts: Row, tables: Tables) -> None:
    """Two consumers are paused, one is killed, and the broker could not be; the first is recovered from."""
    lagging(facts, tables)
    begin, end = PAUSED
    tables["faults"] = [
        fault(at + 0.01 * number, "pause", f"consumer-{number}", action)
        for at, action in ((begin, "begin"), (end, "end"))
        for number in (0, 1)
    ]
    tables["faults"] += [fault(7.0, "kill", "consumer-1"), fault(8.0, "pause", "broker-1", error="no such process")]
    tables["recovery"] = [
        recovered("outstanding", 2.25),
        recovered("committed_lag", 2.5) | {"peak": 9_999.0},
        recovered("outstanding", None) | {"cause": "kill", "target": "consumer-1", "ended_second": 7.0},
    ]


def scored(facts: Row, tables: Tables) -> None:
    """A broker of three was killed and is back: two partitions were held up, a third was not."""
    faulty(facts, tables)
    facts["scenario"]["topic"]["replication"] = 3
    facts["scenario"]["cluster"] = {"configs": {"broker.session.timeout.ms": 3000}}
    tables["partition_replicas"] = [
        {"topic": 0, "partition": partition, "replicas": 3, "least_in_sync": 2, "under_replicated_seconds": 1.5}
        | {"leaderless_seconds": 0.0, "leader_changes": 1}
        for partition in range(3)
    ]
    tables["followers"] = [
        {"second": second, "node": node, "behind": 40 * node, "worst": 30 * node, "topic": 0, "partition": 1}
        | {"controller": controller, "took_ms": 4.0}
        for second, controller in ((-1.0, 3), (2.0, 1), (4.0, 2), (6.0, 2))
        for node in (1, 2, 3)
    ]
    tables["recovery"].append(recovered("outstanding", 2.25) | {"cause": "kill", "target": "broker-1"})
    tables["fault_scores"] = [
        {"fault": 0, "kind": "kill", "target": "broker-1", "detail": None, "began_second": 3.0, "ended_second": 5.0}
        | {"until_second": 9.5, "noticed_s": 0.4, "leaders_s": 3.4, "in_sync_s": None, "failed": 2}
    ]
    tables["fault_partitions"] = [
        {"fault": 0, "topic": 0, "partition": partition, "unwritable_s": lasted, "unwritable_second": 3.1, "held": held}
        | {"unreadable_s": lasted / 2, "unreadable_second": 3.2, "next_leader_s": None if partition else 3.2}
        | {"worst_ms": 1_000 * lasted + 50.0, "worst_producer": 1, "worst_seq": 40 + partition}
        for partition, (lasted, held) in enumerate(((4.0, 900), (0.02, 3), (1.0, 120)))
    ]


def fault(second: float, kind: str, target: str, action: str = "begin", **more: str) -> Row:
    return {"second": second, "kind": kind, "target": target, "action": action, "detail": None, "error": None, **more}


def recovered(quantity: str, took_s: float | None) -> Row:
    """A row of `recovery`: paused from 3 s to 5 s, back after so many seconds."""
    row: Row = {"cause": "pause", "target": "consumers", "detail": None, "quantity": quantity, "group": 0}
    row |= {"began_second": PAUSED[0], "ended_second": PAUSED[1], "interval_ms": 500.0, "floor": 40.0}
    row |= {"tolerance": 60.0, "detected_s": 0.25, "peak": 20_123.0, "peak_second": 5.25, "at_end": 20_040.0}
    rate = None if took_s is None else 20_000 / took_s
    row |= {"time_to_drain_s": took_s, "drain_rate_per_second": rate, "peak_slope_per_second": 12_000.0}
    row |= {"p99_before_ms": 6.0, "p99_during_ms": 1_990.0, "p99_after_ms": 7.0, "latency_debt_ms_s": 3_210.0}
    row |= {"p99_before_low_ms": 5.9, "p99_during_low_ms": 1_989.0, "p99_after_low_ms": 6.9}
    return row | {"latency_debt_low_ms_s": 3_200.0, "latency_debt_high_ms_s": 3_220.0}


def observing(facts: Row, tables: Tables) -> None:
    """Nothing is sent: somebody else's records are received."""
    facts["scenario"]["load"] = "off"
    facts["broker"]["embedded"] = False
    tables["schedule_delay"] = []
    tables["latency"] = [
        *(absent(metric, "the run has no load") for metric in METRICS if metric not in {"poll", "since_record_time"}),
        latency("poll", 6.0) | {"selected_by": "received"},
        latency("since_record_time", 8.0) | {"selected_by": "received", "clock": "append", "negative": 3},
    ]
    tables["bounds"] = [bounds("since_record_time", 8.0)]
    for row in tables["delivery"]:
        row.update(dict.fromkeys(set(DELIVERY_COUNTS) - {"received", "duplicate_consumer", "foreign", "corrupt"}))


def write_folder(root: Path, facts: Row, tables: Tables, *, judged: bool = True) -> RunFolder:
    """A run folder with these facts and tables, in the schemas that tables have; the verdict is made from them."""
    folder = RunFolder(root)
    folder.tables.mkdir(parents=True)
    folder.facts.write_text(json.dumps(facts))
    if judged:
        answers = checks(RunFacts.model_validate(facts), tables)
        names = ("name", "about", "status", "evidence", "advice")
        tables = {**tables, "verdict": [{name: getattr(check, name) for name in names} for check in answers]}
    for name, rows in tables.items():
        folder.table(name).write_bytes(_parquet(name, rows))
    return folder


_LATEST: dict[str, tuple[list[Row], bytes]] = {}


def _parquet(name: str, rows: list[Row]) -> bytes:
    """The file of a table. Most runs share most of theirs with the one before."""
    if name not in _LATEST or _LATEST[name][0] != rows:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows, arrow_schema(TABLES[name])), sink)
        _LATEST[name] = deepcopy(rows), sink.getvalue().to_pybytes()
    return _LATEST[name][1]


Change = Callable[[Row, Tables], object]
Make = Callable[..., RunFolder]
Drawn = Callable[..., dict[str, Figure]]


def changed(root: Path, *changes: Change, judged: bool = True) -> RunFolder:
    """A healthy run that `change(facts, tables)` altered, each in turn."""
    facts, tables = deepcopy(FACTS), healthy_tables()
    for change in changes:
        change(facts, tables)
    return write_folder(root, facts, tables, judged=judged)


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A maker of run folders: `make(change)` lets `change(facts, tables)` alter a healthy run first."""

    def make_folder(*changes: Change, judged: bool = True) -> RunFolder:
        made = len(list(tmp_path.glob("run*")))
        return changed(tmp_path / f"run{made or ''}", *changes, judged=judged)

    return make_folder


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A healthy run with its result, for those who only read it."""
    folder = changed(tmp_path_factory.mktemp("healthy") / "run")
    write_result(folder)
    return folder


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """All figures of a run by their names: `drawn(change)`. The same changes are drawn once, so only look at them."""

    @cache
    def figures_of(*changes: Change) -> dict[str, Figure]:
        folder = changed(tmp_path_factory.mktemp("drawn") / "run", *changes)
        return {figure.name: figure for figure in catalogue.figures(assemble(folder), tables_of(folder, print))}

    return figures_of


@pytest.fixture(scope="module", name="browser")
def _browser() -> Iterator[Any]:
    """Debian's chromium, or what is like it."""
    # Only tests that look at a page need one.
    from tools.browser import browser

    with browser() as started:
        yield started


@pytest.fixture
def see(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a report at a width, in light or dark."""
    from tests.report.seen import Seen

    pages: list[Any] = []

    def open_page(path: Path, *, width: int = 1100, dark: bool = False) -> Seen:
        scheme = "dark" if dark else "light"
        pages.append(browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme))
        return Seen(pages[-1], path)

    yield open_page
    for page in pages:
        page.close()


def told(folder: RunFolder) -> dict[str, Any]:
    """The result of a run folder as its result.json says it."""
    return assemble(folder).document()


@pytest.fixture(scope="session")
def healthy_result(healthy: RunFolder) -> dict[str, Any]:
    """What its result.json says, not to be changed."""
    return told(healthy)


def altered(result: Result, path: str, value: Any) -> Result:
    """The result with another value at a path; `...` takes the key away. Its profile is that of its scenario."""
    document = result.document()
    del document["run"]["profile"]
    *way, last = path.split(".")
    inner: Any = document
    for step in way:
        inner = inner[int(step) if isinstance(inner, list) else step]
    inner[last] = value
    if value is ...:
        del inner[last]
    return result_of(document)


def but(run: LabelledRun, changes: Row) -> LabelledRun:
    """The run with other values at these paths of its result."""
    result = run.result
    for path, value in changes.items():
        result = altered(result, path, value)
    return LabelledRun(run.label, result)


def walk(node: object) -> Iterator[object]:
    """A node of a specification or a drawing, and all nodes below it."""
    yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from walk(child)


BROKERS: Final = ["broker-1", "broker-2", "broker-3"]


def paused_in_three(_facts: Row, tables: Tables) -> None:
    """A cluster whose brokers collect garbage one after the other."""
    row = next(row for row in tables["gc"] if row["second"] == 2.0)
    tables["gc"] = [{**row, "process": broker, "second": 2.0 + 2 * at} for at, broker in enumerate(BROKERS)]


def figure_of(folder: RunFolder, draw: Callable[[FigureSource], Figure]) -> Figure:
    """One figure of a run, without the time that all others take."""
    return draw(source_of(assemble(folder), tables_of(folder, print)))
