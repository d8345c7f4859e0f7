"""Tables that are answered without Spark: garbage collection, resources."""

from pathlib import Path
from typing import Any

import pytest

from streamgauge.arrow import arrow_schema
from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.events import EVENTS, RESOURCES
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.pipeline.machine.gc import pauses
from streamgauge.pipeline.machine.resources import resources
from streamgauge.pipeline.read.schemas import spark_schema
from streamgauge.pipeline.read.silver import Span

SECOND = 1_000_000_000
SPAN = Span(0, 20 * SECOND, MeasureSpan(5 * SECOND, 10 * SECOND))
SAMPLE = Path(__file__).parents[1] / "data" / "gc-sample.log"
MIB = 1 << 20


@pytest.mark.parametrize("schema", [*EVENTS.values(), *TABLES.values()], ids=lambda schema: schema.name)
def test_spark_and_arrow_schemas_agree(schema: Any) -> None:
    arrow, spark = arrow_schema(schema), spark_schema(schema)
    names = {"integer": "int32", "long": "int64", "double": "double", "boolean": "bool", "string": "string"}
    assert [(field.name, str(field.type), field.nullable) for field in arrow] == [
        (field.name, names[field.dataType.typeName()], field.nullable) for field in spark
    ]


def test_pauses_of_a_real_log_are_read_and_concurrent_work_is_not() -> None:
    found = pauses("broker-1", SAMPLE.read_text().splitlines(), 2_615_000_000_000)
    assert len(found) == 12
    assert found[0] == {
        "process": "broker-1", "at_ns": 2_615_762_954_520, "second": 0.76295452,
        "kind": "Young (Normal) (G1 Evacuation Pause)", "pause_ms": 9.258, "before_bytes": 26 * MIB,
        "after_bytes": 6 * MIB,
    }  # fmt: skip
    assert [pause["kind"] for pause in found if pause["pause_ms"] > 30] == [
        "Young (Normal) (G1 Evacuation Pause)",
        "Full (Diagnostic Command)",
    ]


@pytest.mark.parametrize(
    ("line", "pause_ms"),
    [
        ("[5ns][info][gc] GC(9) Pause Full (Diagnostic Command) 169M->159M(512M) 31.418ms", 31.418),
        ("[5ns][info][gc          ] GC(1) Pause Young (Normal) 2G->900K(4G) 1.500ms", 1.5),
        ("[5ns][info][gc] GC(9) Pause Full (Diagnostic Command) 169M->159M(512M) 31.4", None),
        ("[5ns][info][gc] GC(7) Concurrent Mark Cycle 189.481ms", None),
        ("[5ns][info][gc,start] GC(7) Pause Young (Normal)", None),
        ("no such line", None),
    ],
)
def test_only_whole_lines_about_pauses_count(line: str, pause_ms: float | None) -> None:
    assert [pause["pause_ms"] for pause in pauses("b", [line], 0)] == ([] if pause_ms is None else [pause_ms])


def look(at: float, process: str = "producer-0", role: str = "producer", **values: int | None) -> dict[str, Any]:
    unknown = dict.fromkeys(RESOURCES.names, None)
    return unknown | {"at_ns": int(at * SECOND), "process": process, "role": role} | values


def test_a_worker_is_told_by_interval_and_over_the_measure_phase() -> None:
    looks = [
        look(4, cpu_ns=0, rss_bytes=10, messages=0, blocked_ns=0, poll_gap_ns=9_000_000),
        look(6, cpu_ns=SECOND, rss_bytes=30, messages=500, blocked_ns=SECOND, poll_gap_ns=4_000_000),
        look(8, cpu_ns=2 * SECOND, rss_bytes=20, messages=2_500, blocked_ns=SECOND, poll_gap_ns=2_000_000),
        look(12, cpu_ns=2 * SECOND, rss_bytes=40, messages=2_500, blocked_ns=SECOND, poll_gap_ns=None),
    ]
    rows = resources(reversed(looks), SPAN)
    assert [row["second"] for row in rows] == [1.0, 3.0, 7.0, None]
    assert [row["rss_bytes"] for row in rows] == [30, 20, 40, 30]
    assert [row["cpu_cores"] for row in rows] == [0.5, 0.5, 0.0, 0.5]
    measure = rows[-1]
    assert (measure["scope"], measure["duration_ns"], measure["messages"]) == ("measure", 2 * SECOND, 2_000)
    assert (measure["poll_gap_ms"], measure["blocked_share"]) == (2.0, 0.0)
    assert measure["cpu_us_per_message"] == 500.0
    assert (rows[0]["blocked_share"], rows[2]["cpu_us_per_message"], rows[2]["poll_gap_ms"]) == (0.5, None, None)


def test_memory_and_threads_are_the_most_and_collections_those_between_two_looks() -> None:
    looks = [
        look(4, heap_bytes=10, threads=9, gc_collections=3, gc_ns=1_000_000),
        look(6, heap_bytes=30, threads=8, gc_collections=3, gc_ns=1_000_000),
        look(8, heap_bytes=20, threads=9, gc_collections=5, gc_ns=2_500_000),
    ]
    first, second, measure = resources(looks, SPAN)

    assert [(row["heap_bytes"], row["threads"]) for row in (first, second, measure)] == [(30, 8), (20, 9), (30, 9)]
    assert [row["gc_collections"] for row in (first, second, measure)] == [0, 2, 2]
    assert [row["gc_ms"] for row in (first, second, measure)] == [0, 1.5, 1.5]


def test_the_shares_of_the_host_are_of_all_its_time() -> None:
    looks = [
        look(0, "host", "host", cpu_ns=0, idle_ns=0, steal_ns=0),
        look(1, "host", "host", cpu_ns=SECOND, idle_ns=2 * SECOND, steal_ns=SECOND),
        look(2, "host", "host", cpu_ns=SECOND, idle_ns=4 * SECOND, steal_ns=None),
    ]
    first, second = resources(looks, SPAN)
    assert (first["idle_share"], first["steal_share"], first["cpu_cores"]) == (0.5, 0.25, 1.0)
    assert (second["idle_share"], second["steal_share"]) == (1.0, None)


def test_the_host_is_told_of_quotas_and_of_the_wall_clock() -> None:
    """A quota stopped threads for 300 ms of two seconds, in four periods of 100 ms; the wall clock moved by 5 ms."""
    none: dict[str, int | None] = {"throttled_ns": 0, "throttled_periods": 0, "throttled_periods_ns": 0}
    some: dict[str, int | None] = {
        "throttled_ns": 300_000_000, "throttled_periods": 4, "throttled_periods_ns": 400_000_000,
    }  # fmt: skip
    looks = [
        look(5, "host", "host", wall_ns=1_000 * SECOND, **none),
        look(7, "host", "host", wall_ns=1_002 * SECOND + 5_000_000, **some),
        look(12, "host", "host", wall_ns=None),
    ]
    first, last, measure = resources(looks, SPAN)
    names = ("throttled_share", "throttled_periods", "throttled_periods_share", "wall_ahead_ns")
    assert [first[name] for name in names] == [0.15, 4, 0.2, 995 * SECOND + 5_000_000]
    assert [last[name] for name in names] == [None] * 4
    assert [measure[name] for name in names] == [0.15, 4, 0.2, 995 * SECOND + 5_000_000]


def test_waiting_for_a_core_is_told_by_time() -> None:
    """Added up over threads, it may be more than the time there is."""
    looks = [
        look(0, run_delay_ns=0, client_run_delay_ns=0, switches=3, cpu_pressure_ns=0, io_pressure_ns=None),
        look(1, run_delay_ns=3 * SECOND, client_run_delay_ns=SECOND // 2, switches=10, cpu_pressure_ns=SECOND // 4),
    ]
    (row,) = resources(looks, SPAN)
    assert (row["run_delay_share"], row["client_run_delay_share"], row["switches"]) == (3.0, 0.5, 7)
    assert (row["cpu_pressure_share"], row["io_pressure_share"], row["memory_pressure_share"]) == (0.25, None, None)


def test_periods_take_no_more_than_the_time_there_is() -> None:
    """The first that is counted may have begun before the first look."""
    looks = [look(0, throttled_periods_ns=0), look(1, throttled_periods_ns=11 * SECOND // 10)]
    (row,) = resources(looks, SPAN)
    assert row["throttled_periods_share"] == 1.0


def test_a_counter_that_was_set_back_is_unknown() -> None:
    (row,) = resources([look(0, cpu_ns=10, messages=5), look(1, cpu_ns=3, messages=5)], SPAN)
    assert (row["cpu_cores"], row["messages"], row["cpu_us_per_message"]) == (None, 0, None)
