"""The section `pipeline` of result.json: what stood in the measured path, what it did, and where time went."""

from typing import Final

from streamgauge.report.assemble.nulls import made
from streamgauge.result.model.pipeline import (
    PipelineEvent,
    PipelineExecutor,
    PipelineGroup,
    PipelineLookups,
    PipelineSection,
    PipelineStage,
)
from streamgauge.verdict.evidence import Evidence, Row

_WHY_NOT: Final = {
    "down_s": "it never died, or never recovered",
    "unexpected": "only a subset job with a predicate can have any",
    "expected": "only for a subset job with a predicate",
    "dropped": "only for a subset job with a predicate",
    "duplicated_at_source": "output messages cannot be identified, or the source was not read again",
    "duplicated_by_pipeline": "output messages cannot be identified, or the source was not read again",
    "late_rows": "the job has no watermark",
    "state_rows_max": "the job keeps no state",
    "state_bytes_max": "the job keeps no state",
    "checkpoint_bytes_max": "there is no checkpoint",
    "cpu_cores": "its processes were not sampled",
    "cpu_us_per_message": "its processes were not sampled, or it read nothing",
}
_NO_BATCH: Final = "no batch with messages began in the measure phase"


def pipeline(run: Evidence) -> PipelineSection | None:
    """What the pipeline did; null without one."""
    row = run.one("pipeline")
    if row is None:
        return None
    names = {group.id: group.name for group in run.facts.groups}
    lookups = run.one("lookups", scope="measure") or run.one("lookups", scope="run")
    out = {
        **row,
        "groups": [_of_group(each, names) for each in run.matching("pipeline_delivery", scope="run")],
        "stages": [PipelineStage.model_validate(each) for each in run.rows("waterfall")],
        "events": [PipelineEvent.model_validate(each) for each in run.rows("query")],
        "executors": [PipelineExecutor.model_validate(each) for each in run.matching("executors", scope="measure")],
        "lookups": lookups and PipelineLookups.model_validate(lookups),
    }
    return made(PipelineSection, out, lambda key: _why(row, key))


def _of_group(row: Row, names: dict[int, str]) -> PipelineGroup:
    out = {name: row[name] for name in PipelineGroup.model_fields if name in row}
    out["group"] = names.get(row["group"], str(row["group"]))
    return made(PipelineGroup, out, lambda key: _WHY_NOT.get(key, "the recorded events do not show it"))


def _why(row: Row, key: str) -> str:
    if key == "lookups":
        return "the table is not queried" if row["sink"] == "table" else "it writes no table"
    if key.startswith("batch_"):
        return _NO_BATCH
    return _WHY_NOT.get(key, "the recorded events do not show it")
