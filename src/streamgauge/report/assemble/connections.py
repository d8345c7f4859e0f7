"""The section `connections` of result.json: what became of connections beside the load."""

from typing import Final

from streamgauge.report.assemble.sections import Section
from streamgauge.scenario.model.connections import Kind
from streamgauge.verdict.evidence import Evidence, Row

NOT_ASKED: Final = "the scenario asks for none"

_FIGURES: Final = (
    "asked_per_second",
    "made",
    "failed",
    "error",
    "per_second",
    "p50_ms",
    "p99_ms",
    "max_ms",
    "late_p99_ms",
    "late_max_ms",
)
_WHY: Final = {
    "asked_per_second": "what the scenario asks for is not understood",
    "error": "none failed",
    "per_second": "the measure phase has no length",
}
_NO_ANSWER: Final = "none was answered"
_NO_BEGIN: Final = "none began"


def connections(run: Evidence) -> Section | None:
    """What became of connections in the measure phase, kind by kind; null where there are none, or the table is not."""
    rows = {row["kind"]: row for row in run.matching("connections", scope="measure")}
    if not rows:
        return None
    out: Section = {_key(kind): _of_kind(rows[kind]) if kind in rows else None for kind in Kind}
    out["reasons"] = {_key(kind): NOT_ASKED for kind in Kind if kind not in rows}
    return out


def _key(kind: Kind) -> str:
    return kind.value.replace("-", "_")


def _of_kind(row: Row) -> Section:
    out = {name: row[name] for name in (*_FIGURES, *(["held"] if row["held"] is not None else []))}
    nulls = [name for name, value in out.items() if value is None]
    nothing = _NO_ANSWER if row["failed"] else _NO_BEGIN
    return {**out, "reasons": {name: _WHY.get(name, nothing) for name in nulls}}
