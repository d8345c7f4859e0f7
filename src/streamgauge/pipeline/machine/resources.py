"""The table `resources`: what each process used between two looks, and over the measure phase."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.pipeline.read.rows import Row, Rows, grown, largest, share
from streamgauge.pipeline.read.silver import Span

_COUNTERS: Final = (
    "cpu_ns", "steal_ns", "idle_ns", "messages", "blocked_ns", "throttled_ns", "throttled_periods",
    "throttled_periods_ns", "run_delay_ns", "client_run_delay_ns", "switches", "cpu_pressure_ns", "io_pressure_ns",
    "memory_pressure_ns", "gc_collections", "gc_ns",
)  # fmt: skip


def resources(looks: Iterable[Row], span: Span) -> list[Row]:
    """Rows of `resources` from rows of the event of that name; a process looked at once has none."""
    by_process: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for look in sorted(looks, key=lambda look: look["at_ns"]):
        by_process[look["process"], look["role"]].append(look)
    rows = []
    for of_one in by_process.values():
        rows += [_used(looked, scope, span) for scope, looked in span.stretches(of_one)]
    return rows


def _used(looks: Rows, scope: str, span: Span) -> Row:
    """What a process used from the first look to the last."""
    first, last = looks[0], looks[-1]
    duration_ns = last["at_ns"] - first["at_ns"]
    spent = {name: grown(first[name], last[name]) for name in _COUNTERS}
    shares = (spent["cpu_ns"], spent["steal_ns"], spent["idle_ns"])
    all_ns = sum(share or 0 for share in shares) if last["role"] == "host" else None
    gap_ns = largest(looks[1:], "poll_gap_ns")
    seen = looks if scope == "measure" else looks[1:]
    throttled_periods = share(spent["throttled_periods_ns"], duration_ns)
    cpu_us = None if spent["cpu_ns"] is None else spent["cpu_ns"] / 1_000
    return {
        "process": last["process"],
        "role": last["role"],
        "scope": scope,
        "second": span.second(last["at_ns"]) if scope == "interval" else None,
        "duration_ns": duration_ns,
        "cpu_cores": share(spent["cpu_ns"], duration_ns),
        "steal_share": share(spent["steal_ns"], all_ns),
        "idle_share": share(spent["idle_ns"], all_ns),
        "rss_bytes": largest(seen, "rss_bytes"),
        "heap_bytes": largest(seen, "heap_bytes"),
        "threads": largest(seen, "threads"),
        "gc_collections": spent["gc_collections"],
        "gc_ms": None if spent["gc_ns"] is None else spent["gc_ns"] / NS_PER_MS,
        "messages": spent["messages"],
        "blocked_share": share(spent["blocked_ns"], duration_ns),
        "poll_gap_ms": None if gap_ns is None else gap_ns / NS_PER_MS,
        "cpu_us_per_message": share(cpu_us, spent["messages"]),
        "wall_ahead_ns": None if last["wall_ns"] is None else last["wall_ns"] - last["at_ns"],
        "throttled_share": share(spent["throttled_ns"], duration_ns),
        "throttled_periods": spent["throttled_periods"],
        # A period that is counted at the first look began before it.
        "throttled_periods_share": None if throttled_periods is None else min(1.0, throttled_periods),
        "run_delay_share": share(spent["run_delay_ns"], duration_ns),
        "client_run_delay_share": share(spent["client_run_delay_ns"], duration_ns),
        "switches": spent["switches"],
        "cpu_pressure_share": share(spent["cpu_pressure_ns"], duration_ns),
        "io_pressure_share": share(spent["io_pressure_ns"], duration_ns),
        "memory_pressure_share": share(spent["memory_pressure_ns"], duration_ns),
    }
