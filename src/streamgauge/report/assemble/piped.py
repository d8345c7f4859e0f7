"""The section `pipeline` of result.json: what stood in the measured path, what it did, and where time went."""

from typing import Final

from streamgauge.report.assemble.sections import Section, with_reasons
from streamgauge.verdict.evidence import Evidence, Row

_OF_STAGE: Final = (
    "stage", "from", "to", "count", "mean_ms", "min_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms", "share", "error_ms",
    "null_count", "reason",
)  # fmt: skip
_OF_GROUP: Final = ("expected", "dropped", "unexpected", "duplicated_at_source", "duplicated_by_pipeline")
_OF_EXECUTOR: Final = (
    "start", "executor", "tasks", "failed_tasks", "task_ms", "gc_ms", "gc_share", "busy_cores", "cpu_cores",
    "memory_bytes",
)  # fmt: skip
_WHY_NOT: Final = {
    "down_s": "it never died, or never came back",
    "unexpected": "only a job that lets some messages out, and has an oracle, can have any",
    "expected": "only of a job that lets some messages out, and has an oracle",
    "dropped": "only of a job that lets some messages out, and has an oracle",
    "duplicated_at_source": "what came out cannot be told apart, or the source was not read again",
    "duplicated_by_pipeline": "what came out cannot be told apart, or the source was not read again",
    "late_rows": "the job has no watermark",
    "state_rows_max": "the job keeps no state",
    "state_bytes_max": "the job keeps no state",
    "checkpoint_bytes_max": "there is no checkpoint",
    "cpu_cores": "nobody looked at its processes",
    "cpu_us_per_message": "nobody looked at its processes, or it read nothing",
}
_NO_BATCH: Final = "no batch with messages began in the measure phase"


def pipeline(run: Evidence) -> Section | None:
    """What the pipeline did; null without one."""
    row = run.one("pipeline")
    if row is None:
        return None
    names = {group.id: group.name for group in run.facts.groups}
    groups = [_of_group(each, names) for each in run.matching("through", scope="run")]
    lookups = run.one("lookups", scope="measure") or run.one("lookups", scope="run")
    out: Section = {
        **row,
        "groups": groups,
        "stages": [{name: each[name] for name in _OF_STAGE} for each in run.rows("waterfall")],
        "life": [dict(each) for each in run.rows("query")],
        "executors": [
            {name: each[name] for name in _OF_EXECUTOR} for each in run.matching("executors", scope="measure")
        ],
        "lookups": lookups and {name: value for name, value in lookups.items() if name != "scope"},
    }
    return with_reasons(out, lambda key: _why(row, key))


def _of_group(row: Row, names: dict[int, str]) -> Section:
    out: Section = {"group": names.get(row["group"], str(row["group"])), **{name: row[name] for name in _OF_GROUP}}
    return with_reasons(out, lambda key: _WHY_NOT.get(key, "it cannot be told from the rows"))


def _why(row: Row, key: str) -> str:
    if key == "lookups":
        return "nobody asks the table" if row["sink"] == "table" else "it writes no table"
    if key.startswith("batch_"):
        return _NO_BATCH
    return _WHY_NOT.get(key, "it cannot be told from the rows")
