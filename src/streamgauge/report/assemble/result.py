"""result.json: everything a run has to say, put together from run.json and the gold tables."""

import json
from collections.abc import Mapping
from typing import Any, Final

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.assemble import backpressure, lag, piped, sections
from streamgauge.report.assemble.connections import connections
from streamgauge.report.assemble.wire import wire
from streamgauge.report.files import read_facts, rows_of, whole
from streamgauge.scenario.expectations import expectations
from streamgauge.verdict import Check, valid
from streamgauge.verdict.evidence import Evidence, Row

FORMAT: Final = 1
"""Version of result.json; what is added later does not change it."""

TABLES: Final = (
    "throughput",
    "latency",
    "cdf",
    "delivery",
    "polls",
    "resources",
    "gc",
    "lateness",
    "problems",
    "transactions",
    "attempts",
    "processing",
    "wire",
    "connections",
    "lag",
    "outstanding",
    "backpressure",
    "faults",
    "recovery",
    "pipeline",
    "through",
    "waterfall",
    "query",
    "executors",
    "lookups",
    "set_aside",
    "verdict",
)
"""The tables that result.json is made of; the others are for those who look closer."""
_LOOKED_AT: Final[Mapping[str, Mapping[str, str]]] = {"lag": {"scope": "group"}}
"""Rows that are enough of a table which may have millions."""


def assemble(folder: RunFolder) -> dict[str, Any]:
    """The result of a run folder; a table that is missing leaves nulls, with the reason.

    Raises AnalysisError where run.json or a table is there and cannot be read.
    """
    run = Evidence(read_facts(folder), _tables(folder))
    result: dict[str, Any] = {
        "format": FORMAT,
        "run": run.facts.model_dump(mode="json", exclude={"format", "cells"}),
        "verdict": verdict(run),
        "expectations": [],
        "throughput": sections.throughput(run),
        "latency": sections.latencies(run),
        "lateness": sections.lateness(run),
        "delivery": sections.delivery(run),
        "missing": sections.missing_messages(run),
        "transactions": sections.transactions(run),
        "processing": sections.processing(run),
        "wire": wire(run),
        "connections": connections(run),
        "lag": lag.lag(run),
        "pipeline": piped.pipeline(run),
        "backpressure": backpressure.backpressure(run),
        "faults": backpressure.faults(run),
        "recovery": backpressure.recovery(run),
        "resources": sections.resources(run),
        "timeline": sections.timeline(run, lag.by_second(run)),
    }
    result["reasons"] = {name: sections.why_absent(run, name) for name, section in result.items() if section is None}
    wanted = run.facts.scenario.get("expect")
    if isinstance(wanted, Mapping):
        result["expectations"] = [each.as_result() for each in expectations(result, wanted)]
    return result


def write_result(folder: RunFolder) -> dict[str, Any]:
    """Write result.json, whole or not at all, as it follows from run.json and tables; returns the result."""
    result = assemble(folder)
    keep_result(folder, result)
    return result


def keep_result(folder: RunFolder, result: Mapping[str, Any]) -> None:
    """Write a result as result.json, whole or not at all; raises AnalysisError where it cannot be written."""
    with whole(folder.result) as unfinished:
        unfinished.write_text(json.dumps(result, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def verdict(run: Evidence) -> dict[str, Any]:
    """The checks as the pipeline left them; `valid` is null where it left none."""
    rows = run.rows("verdict")
    return {"valid": valid([Check(**row) for row in rows]) if rows else None, "checks": [dict(row) for row in rows]}


def _tables(folder: RunFolder) -> dict[str, list[Row]]:
    return {name: rows_of(folder, name, **_LOOKED_AT.get(name, {})) for name in TABLES if folder.table(name).exists()}
