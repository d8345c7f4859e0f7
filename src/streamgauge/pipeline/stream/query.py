"""The tables of what a query says of itself: `query_batches`, `query`, `executors`, `lookups` and `pipeline`.

Batches, deaths and looks are few: they are answered in memory.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from streamgauge.delivery.ends import query_ends
from streamgauge.delivery.rows import Lag, MeasureSpan
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.domain.tables.query import QUERY_BATCHES
from streamgauge.pipeline.metrics.spans import figures
from streamgauge.pipeline.read.rows import Row, Rows, grown, known, largest, share
from streamgauge.pipeline.read.silver import Span
from streamgauge.pipeline.read.traits import RunTraits
from streamgauge.scenario.model.pipeline import AVAILABLE_NOW
from streamgauge.scenario.profile.model import PipelineProfile

_OVER: Final = frozenset({"died", "failed"})
_DRIVER: Final = "driver"
OF_QUERY: Final = frozenset({_DRIVER, "executor", "python"})
"""Roles of the processes that carry a query out."""
_COUNTERS: Final = ("tasks", "failed_tasks", "task_ms", "gc_ms")


def batch_rows(progress: Iterable[Row], advances: Iterable[Row], ahead_ns: int, span: Span) -> list[Row]:
    """Rows of `query_batches`; what was both told and read from the checkpoint is there once, as told."""
    moved: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for advance in advances:
        moved[advance["start"], advance["batch"]].append(advance)
    told: dict[tuple[int, int], Row] = {}
    for each in sorted(progress, key=lambda row: row["source"] == "told"):
        told[each["start"], each["batch"]] = each
    begun: dict[int, int] = {}
    rows = []
    for key, each in sorted(told.items(), key=lambda item: (item[1]["began_ms"], item[0])):
        before = begun.get(key[0])
        begun[key[0]] = each["began_ms"]
        rows.append(_batch(each, moved[key], before, ahead_ns, span))
    return rows


def _batch(told: Row, moved: Rows, before_ms: int | None, ahead_ns: int, span: Span) -> Row:
    same = {name: told.get(name) for name in QUERY_BATCHES.names}
    began_ms, watermark_ms = told["began_ms"], told["watermark_ms"]
    return same | {
        "second": span.second(began_ms * NS_PER_MS - ahead_ns),
        "committed": all(each["committed"] for each in moved) if moved else None,
        "offsets": sum(each["to_offset"] - each["from_offset"] for each in moved) if moved else None,
        "since_ms": None if before_ms is None else began_ms - before_ms,
        "watermark_behind_ms": None if watermark_ms is None else began_ms - watermark_ms,
    }


def life_rows(happened: Iterable[Row], span: Span) -> list[Row]:
    """Rows of `query`, in the order of their times."""
    started_ns: int | None = None
    over_ns: int | None = None
    rows = []
    for each in sorted(happened, key=lambda row: (row["at_ns"], row["start"])):
        at_ns, what = each["at_ns"], each["event"]
        row = {name: each[name] for name in ("start", "event", "detail")}
        row |= {"second": span.second(at_ns), "starting_s": None, "down_s": None}
        if what == "started":
            started_ns = at_ns
        elif what == "ready":
            row |= {"starting_s": _seconds(started_ns, at_ns), "down_s": _seconds(over_ns, at_ns)}
            over_ns = None
        elif what in _OVER:
            # What dies again before it was ready has been down since the first time.
            over_ns = at_ns if over_ns is None else over_ns
        rows.append(row)
    return rows


def _seconds(from_ns: int | None, to_ns: int) -> float | None:
    return None if from_ns is None else (to_ns - from_ns) / NS_PER_SECOND


def executor_rows(looks: Iterable[Row], resources: Iterable[Row], span: Span) -> list[Row]:
    """Rows of `executors`: between two looks, and over the measure phase; one that was looked at once has none."""
    used = _cpu(resources)
    of_each: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for look in sorted(looks, key=lambda row: row["at_ns"]):
        of_each[look["start"], look["executor"]].append(look)
    rows = []
    for (_, executor), mine in sorted(of_each.items()):
        cpu = used.get(_DRIVER if executor == _DRIVER else f"executor-{executor}")
        rows += [_did(looked, scope, cpu, span) for scope, looked in span.stretches(mine)]
    return rows


def _did(looks: Rows, scope: str, cpu: tuple[Int64s, Int64s] | None, span: Span) -> Row:
    first, last = looks[0], looks[-1]
    duration_ns = last["at_ns"] - first["at_ns"]
    spent = {name: grown(first[name], last[name]) for name in _COUNTERS}
    return {
        "scope": scope,
        "second": span.second(last["at_ns"]) if scope == "interval" else None,
        "start": last["start"],
        "executor": last["executor"],
        "duration_ns": duration_ns,
        **spent,
        "gc_share": share(spent["gc_ms"], spent["task_ms"]),
        "busy_cores": share(spent["task_ms"] and spent["task_ms"] * NS_PER_MS, duration_ns),
        "cpu_cores": share(_between(cpu, first["at_ns"], last["at_ns"]), duration_ns),
        "memory_bytes": largest(looks if scope == "measure" else [last], "memory_bytes"),
    }


def _cpu(resources: Iterable[Row]) -> dict[str, tuple[Int64s, Int64s]]:
    """Of each process, when it was looked at and the CPU time that it had used; one that began anew goes on."""
    looks: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in sorted(resources, key=lambda row: row["at_ns"]):
        if row["cpu_ns"] is not None:
            looks[row["process"]].append((row["at_ns"], row["cpu_ns"]))
    found = {}
    for process, mine in looks.items():
        at, used = (np.array(each, np.int64) for each in zip(*mine, strict=True))
        # A counter that is smaller than before is that of another process of the same name.
        gained = np.diff(used, prepend=used[:1])
        found[process] = (at, np.cumsum(np.where(gained < 0, used, gained)))
    return found


def _between(cpu: tuple[Int64s, Int64s] | None, from_ns: int, to_ns: int) -> float | None:
    """CPU time between two times, on straight lines between the looks; None where they do not cover it."""
    if cpu is None or from_ns < cpu[0][0] or to_ns > cpu[0][-1]:
        return None
    begin, end = np.interp([from_ns, to_ns], *cpu).tolist()
    return float(end - begin)


def lookup_rows(looked: Sequence[Row], measure: MeasureSpan) -> list[Row]:
    """Rows of `lookups`; none where there was none."""
    measured = [row for row in looked if measure.covers(row["at_ns"])]
    return [_lookups(scope, rows) for scope, rows in (("run", looked), ("measure", measured)) if rows]


def _lookups(scope: str, looked: Rows) -> Row:
    good = [row for row in looked if row["error"] is None]
    errors = Counter(row["error"] for row in looked if row["error"] is not None)
    ages = [row["at_ns"] + row["took_ns"] - row["newest_ns"] for row in good if row["newest_ns"] is not None]
    took = figures(np.array([row["took_ns"] for row in good], np.int64), "p50_ms", "p99_ms", "max_ms")
    fresh = figures(np.array(ages, np.int64), "p50_ms", "p99_ms", "max_ms")
    return {
        "scope": scope,
        "count": len(looked),
        "failed": len(looked) - len(good),
        "error": errors.most_common(1)[0][0] if errors else None,
        **took,
        "rows_max": largest(good, "rows"),
        "files_max": largest(good, "files"),
        **{f"fresh_{name}": value for name, value in fresh.items()},
    }


def pipeline_rows(
    traits: RunTraits, batches: Rows, life: Rows, delivery: Rows, resources: Rows, ends: Iterable[Lag], span: Span
) -> list[Row]:
    """The row of `pipeline`; none without one."""
    piped = traits.piped
    if piped is None:
        return []
    length_s = span.measure_ns / NS_PER_SECOND
    chosen = [row for row in batches if row["rows"] != 0 and _counts(row, piped, length_s)]
    whole: Row = next((row for row in delivery if row["scope"] == "run" and row["group"] == traits.timed_group), {})
    return [
        {
            "job": piped.job,
            "does": piped.does,
            "engine": piped.engine,
            "sink": "table" if piped.table else "topic",
            "starts": sum(row["event"] == "started" for row in life),
            "deaths": sum(row["event"] in _OVER for row in life),
            "down_s": _total(life, "down_s"),
            **_of_batches(chosen),
            **{name: whole.get(name) for name in ("duplicated_at_source", "duplicated_by_pipeline", "unexpected")},
            "late_rows": _total(batches, "late_rows"),
            **{f"{name}_max": largest(batches, name) for name in ("state_rows", "state_bytes", "checkpoint_bytes")},
            **_cpu_used(resources, _messages(batches, length_s), span),
            **_ends(ends, traits),
        }
    ]


def _counts(batch: Row, piped: PipelineProfile, length_s: float) -> bool:
    """Whether the figures of batches are also those of this one."""
    return piped.engine == AVAILABLE_NOW or 0 <= batch["second"] < length_s


def _of_batches(batches: Rows) -> Row:
    sizes, took = known(batches, "rows"), known(batches, "duration_ms")
    shown = figures(np.array([int(each * NS_PER_MS) for each in took], np.int64), "p50_ms", "p99_ms", "max_ms")
    return {
        "batches": len(batches),
        "batch_rows_mean": sum(sizes) / len(sizes) if sizes else None,
        "batch_rows_max": max(sizes, default=None),
        **{f"batch_{name}": value for name, value in shown.items()},
    }


def _messages(batches: Rows, length_s: float) -> float:
    """Messages of batches in the measure phase, each batch by the share of its time that lies in there."""
    found = 0.0
    for row in batches:
        if row["rows"] and row["duration_ms"] is not None:
            took_s = max(row["duration_ms"], 1) * NS_PER_MS / NS_PER_SECOND
            inside = min(row["second"] + took_s, length_s) - max(row["second"], 0.0)
            found += row["rows"] * max(0.0, inside) / took_s
    return found


def _cpu_used(resources: Rows, messages: float, span: Span) -> Row:
    """What its processes used in the measure phase, and by message."""
    looks = [row for row in resources if row["role"] in OF_QUERY]
    spent = [_within(each, span.measure) for each in _cpu(looks).values()]
    found = [each for each in spent if each is not None]
    cpu_ns = sum(found) if found else None
    return {
        "cpu_cores": share(cpu_ns, span.measure_ns),
        "cpu_us_per_message": None if cpu_ns is None or not messages else cpu_ns / 1_000 / messages,
    }


def _within(cpu: tuple[Int64s, Int64s], measure: MeasureSpan) -> float | None:
    """CPU time in the measure phase, as far as the looks at a process reach."""
    begin, end = max(measure.from_ns, int(cpu[0][0])), min(measure.to_ns, int(cpu[0][-1]))
    return _between(cpu, begin, end) if end > begin else None


def _ends(ends: Iterable[Lag], traits: RunTraits) -> Row:
    """How far it had come at the end of the drain."""
    query = -1 if traits.pipeline is None else traits.pipeline.query
    found = list(query_ends(ends, query).values())
    committed = [each.position for each in found if each.position is not None]
    end = [each.end for each in found if each.end is not None]
    is_known = bool(found) and len(committed) == len(end) == len(found)
    return {
        "committed": sum(committed) if is_known else None,
        "end": sum(end) if is_known else None,
        "committed_lag": sum(end) - sum(committed) if is_known else None,
    }


def _total(rows: Rows, name: str) -> Any:
    values = known(rows, name)
    return sum(values) if values else None


def tables(
    traits: RunTraits, span: Span, events: Mapping[str, Rows], delivery: Rows, ends: Iterable[Lag]
) -> dict[str, list[Row]]:
    """All tables of the query; without one they are empty. `events` are rows by their kind."""
    batches = batch_rows(events["progress"], events["advances"], traits.ahead_ns, span)
    life = life_rows(events["query"], span)
    return {
        "query_batches": batches,
        "query": life,
        "executors": executor_rows(events["executors"], events["resources"], span),
        "lookups": lookup_rows(events["lookups"], span.measure),
        "pipeline": pipeline_rows(traits, batches, life, delivery, events["resources"], ends, span),
    }
