"""The words of a pipeline, which all reports share: from the result alone."""

from collections.abc import Mapping, Sequence
from typing import Final

from streamgauge.domain.text.numbers import UNKNOWN, milliseconds, percent, significant, size, whole
from streamgauge.report.pages.belief import cell
from streamgauge.result import Result
from streamgauge.result.model.pipeline import PipelineEvent, PipelineLookups, PipelineSection, PipelineStage
from streamgauge.result.model.trust import FigureTrust

STAGE_HEADS: Final = ("stage", "from", "to", "mean", "p50", "p90", "p99", "max", "share of the time")
LIFE_HEADS: Final = ("second", "start", "what", "detail")
_STAGES: Final = {
    "stage_schedule": "schedule",
    "stage_produce": "produce",
    "stage_wait": "wait for the batch",
    "stage_process": "process",
    "stage_deliver": "deliver",
    "stage_all": "all together",
}
_EDGES: Final = {
    "due": "due", "sent": "sent", "source": "appended to the source", "batch": "start of its batch",
    "sink": "appended to the sink", "received": "received",
}  # fmt: skip
_ALL: Final = "stage_all"
_AGGREGATE: Final = "aggregate"


def in_short(result: Result) -> dict[str, str]:
    """What stood in the measured path, in a line or two; nothing without a pipeline."""
    found = result.pipeline
    if not found:
        return {}
    told = {"Pipeline": "; ".join(filter(None, [_batches(found), _deaths(found), _cpu(found), _repeats(found)]))}
    if stages := _means(found):
        told["Stages"] = stages
    return told


def _batches(found: PipelineSection) -> str:
    head = f"{found.job}, {found.engine}"
    if not found.batches:
        return f"{head}: no batch"
    long = f"p50 {milliseconds(found.batch_p50_ms)}, longest {milliseconds(found.batch_max_ms)}"
    return f"{head}: {whole(found.batches)} batches of {significant(found.batch_rows_mean)} messages, {long}"


def _deaths(found: PipelineSection) -> str:
    if not found.deaths:
        return ""
    back = "" if found.down_s is None else f", down for {significant(found.down_s)} s in all"
    return f"died {'once' if found.deaths == 1 else whole(found.deaths) + ' times'}{back}"


def _cpu(found: PipelineSection) -> str:
    cost = found.cpu_us_per_message
    return "" if cost is None else f"{significant(cost)} us of CPU a message"


def _repeats(found: PipelineSection) -> str:
    parts = []
    if found.duplicated_by_pipeline:
        parts.append(f"{whole(found.duplicated_by_pipeline)} duplicates written by the pipeline")
    if found.duplicated_at_source:
        parts.append(f"{whole(found.duplicated_at_source)} duplicates in the source")
    if found.unexpected:
        parts.append(f"{whole(found.unexpected)} unexpected output messages")
    if found.late_rows:
        parts.append(f"{whole(found.late_rows)} late rows after the watermark")
    return ", ".join(parts)


def _means(found: PipelineSection) -> str:
    known = [row for row in found.stages if row.mean_ms is not None]
    parts = [f"{_STAGES[row.stage]} {significant(row.mean_ms)}" for row in known if row.stage != _ALL]
    total = next((row for row in known if row.stage == _ALL), None)
    return "" if total is None else f"{' + '.join(parts)} = {significant(total.mean_ms)} ms on average"


def stages(result: Result) -> list[Sequence[str]]:
    """One line for each stage that there is; times in ms."""
    found = result.pipeline.stages if result.pipeline else ()
    return [_stage(row, place, result.trust) for place, row in enumerate(found) if row.mean_ms is not None]


def _stage(row: PipelineStage, place: int, trust: Mapping[str, FigureTrust]) -> Sequence[str]:
    figures = {f"{name}_ms": getattr(row, f"{name}_ms") for name in ("mean", "p50", "p90", "p99", "max")}
    share = UNKNOWN if row.share is None else percent(row.share)
    return (
        _STAGES[row.stage],
        _EDGES.get(row.from_ or "", UNKNOWN),
        _EDGES[row.to],
        *(cell(value, trust.get(f"pipeline.stages.{place}.{name}"), milliseconds) for name, value in figures.items()),
        share,
    )


def life(result: Result) -> list[Sequence[str]]:
    """What happened to the query, in the order of its times."""
    found = result.pipeline.events if result.pipeline else ()
    return [(significant(row.second), whole(row.start), row.event, _detail(row)) for row in found]


def _detail(row: PipelineEvent) -> str:
    if row.down_s is not None:
        return f"{significant(row.down_s)} s after its end"
    if row.starting_s is not None:
        return f"after {significant(row.starting_s)} s"
    return row.detail or ""


def facts(result: Result) -> list[tuple[str, str]]:
    """What the pipeline was and what it did, name by name; nothing without one."""
    found = result.pipeline
    if not found:
        return []
    told = [
        ("Job", f"{found.job}: outputs {_OUTCOMES[found.does]}; written to a {found.sink}"),
        ("Engine", _batches(found)),
        ("Starts", "; ".join(filter(None, [whole(found.starts), _deaths(found)]))),
        ("CPU", _cpu(found)),
        ("Besides", _repeats(found)),
        ("State", _state(found)),
        ("Table", _lookups(found.lookups)),
        ("At the end", f"{whole(found.committed)} of {whole(found.end)} offsets of the source committed"),
    ]
    return [(name, text) for name, text in told if text]


_OUTCOMES: Final = {
    "same": "every message, unchanged",
    "subset": "some messages, unchanged",
    "changed": "every message, changed",
    "aggregate": "one row for many messages",
}


def _state(found: PipelineSection) -> str:
    if found.state_rows_max is None:
        return ""
    return f"at most {whole(found.state_rows_max)} rows, {size(found.state_bytes_max)}"


def _lookups(found: PipelineLookups | None) -> str:
    if not found:
        return ""
    took = f"{whole(found.count)} queries, p50 {milliseconds(found.p50_ms)}, p99 {milliseconds(found.p99_ms)}"
    fresh = f"the newest message in a result was {milliseconds(found.fresh_p50_ms)} old on average"
    return f"{took}; {fresh.replace('on average', '(p50)')}"
