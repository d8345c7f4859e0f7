"""result.json: everything a run has to say, put together from run.json and the gold tables."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.assemble import backpressure, lag, latencies, piped, sections
from streamgauge.report.assemble.connections import connections
from streamgauge.report.assemble.scorecards import scorecards
from streamgauge.report.assemble.steps import decided, path_of, rates, steps, warmup
from streamgauge.report.assemble.wire import wire
from streamgauge.report.files import read_facts, rows_of, table_file, whole
from streamgauge.result import FORMAT, Result
from streamgauge.result.model.run import RunSection
from streamgauge.result.model.verdict import CheckResult, VerdictSection
from streamgauge.result.reading import misfit
from streamgauge.verdict import TITLES, Check
from streamgauge.verdict.evidence import Evidence, Row
from streamgauge.verdict.expectations import expectations
from streamgauge.verdict.trust import place
from streamgauge.verdict.trust.calibrated import lacking
from streamgauge.verdict.trust.figures import Figures, figures
from streamgauge.verdict.trust.figures.derived import derived
from streamgauge.verdict.trust.parts import state, used
from streamgauge.verdict.trust.unbounded import of_redeliveries

TABLES: Final = (
    "throughput",
    "steps",
    "latency",
    "bounds",
    "sampling",
    "cdf",
    "delivery",
    "polls",
    "resources",
    "gc",
    "schedule_delay",
    "problems",
    "redelivery",
    "deliveries_by_number",
    "transactions",
    "resends",
    "processing",
    "wire",
    "connections",
    "lag",
    "partition_replicas",
    "followers",
    "outstanding",
    "backpressure",
    "faults",
    "recovery",
    "fault_scores",
    "fault_partitions",
    "pipeline",
    "pipeline_delivery",
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


def assemble(folder: RunFolder) -> Result:
    """The result of a run folder; a table that is missing leaves nulls, with the reason.

    Raises AnalysisError where run.json or a table is there and cannot be read, or says what no result can say.
    """
    run = evidence_of(folder)
    try:
        return _assembled(run)
    except ValidationError as error:
        raise AnalysisError(f"{folder.tables} cannot be used: {misfit(error)}; analyse the run again") from error


def evidence_of(folder: RunFolder) -> Evidence:
    """What a run folder has to say; raises AnalysisError where run.json or a table is there and cannot be read."""
    return Evidence(read_facts(folder), _tables(folder))


def _assembled(run: Evidence) -> Result:
    parts: dict[str, Any] = {
        "throughput": sections.throughput(run),
        "rates": rates(run),
        "warmup": warmup(run),
        "steps": steps(run),
        "latency": latencies.latencies(run),
        "schedule_delay": sections.schedule_delay(run),
        "delivery": sections.delivery(run),
        "missing": sections.missing_messages(run),
        "redelivery": sections.redelivery(run),
        "transactions": sections.transactions(run),
        "processing": sections.processing(run),
        "wire": wire(run),
        "compression": run.facts.codecs,
        "connections": connections(run),
        "lag": lag.lag(run),
        "replication": lag.replication(run),
        "pipeline": piped.pipeline(run),
        "backpressure": backpressure.backpressure(run),
        "faults": backpressure.faults(run),
        "recovery": backpressure.recovery(run),
        "scorecards": scorecards(run),
        "resources": sections.resources(run),
        "timeline": sections.timeline(run, lag.by_second(run)),
    }
    parts["reasons"] = {name: sections.why_absent(run, name) for name, section in parts.items() if section is None}
    checks = [Check(**row) for row in run.rows("verdict")]
    trust = _figures(run, checks, parts) if checks else {}
    doubted = of_redeliveries(run) if checks else {}
    trust |= derived(trust, path_of(run), parts["steps"] or (), parts["redelivery"], doubted)
    parts["steps"] = decided(run, parts["steps"] or (), trust) or None
    facts = RunSection.model_validate(run.facts.model_dump(mode="json", exclude={"format", "cells", "codecs"}))
    judged = verdict(run, checks, trust)
    result = Result(format=FORMAT, run=facts, verdict=judged, trust=trust, expectations=[], **parts)
    return result.model_copy(update={"expectations": expectations(result.document(), run.profile.expect, trust)})


def _figures(run: Evidence, checks: Sequence[Check], parts: Mapping[str, Any]) -> Figures:
    return figures(
        run,
        checks,
        throughput=parts["throughput"],
        latency=parts["latency"],
        delivery=parts["delivery"],
        connections=parts["connections"],
        lag=parts["lag"],
        recovery=parts["recovery"] or (),
        pipeline=parts["pipeline"],
        schedule_delay=parts["schedule_delay"],
        steps=parts["steps"] or (),
        path=path_of(run),
    )


def write_result(folder: RunFolder) -> Result:
    """Write result.json, whole or not at all, as it follows from run.json and tables; returns the result."""
    result = assemble(folder)
    keep_result(folder, result)
    return result


def keep_result(folder: RunFolder, result: Result) -> None:
    """Write a result as result.json, whole or not at all; raises AnalysisError where it cannot be written."""
    with whole(folder.result) as unfinished:
        unfinished.write_text(result.text() + "\n", encoding="utf-8")


def verdict(run: Evidence, checks: Sequence[Check], trust: Figures) -> VerdictSection:
    """The checks as the pipeline left them, and what may be believed; null where it left none."""
    shown = [CheckResult.model_validate(_titled(row)) for row in run.rows("verdict")]
    if not checks:
        return VerdictSection(valid=None, checks=shown)
    judge_by = run.profile.judge_by
    named = used(trust, run.profile.expect, judge_by)
    found = state(trust, named, judge_by)
    return VerdictSection(
        valid=found != "not_valid",
        state=found,
        used=named,
        judge_by=list(judge_by),
        calibration=lacking(run.facts),
        place=place.of_run(run),
        checks=shown,
    )


def _titled(row: Row) -> Row:
    """A check with its title, unless this version does not know it."""
    title = TITLES.get(row["name"])
    return {**row, "title": title} if title else row


def _tables(folder: RunFolder) -> dict[str, list[Row]]:
    return {
        name: rows_of(folder, name, **_LOOKED_AT.get(name, {})) for name in TABLES if table_file(folder, name).exists()
    }
