"""The section `connections` of result.json: what became of connections beside the load."""

from typing import Final

from streamgauge.domain.blocks import ConnectionKind
from streamgauge.report.assemble.nulls import made
from streamgauge.result.model.clients import ConnectionsOfKind, ConnectionsSection
from streamgauge.verdict.evidence import Evidence, Row

NOT_ASKED: Final = "the scenario has none"

_WHY: Final = {
    "target_per_second": "the scenario's setting is not understood",
    "error": "none failed",
    "per_second": "the measure phase has no length",
}
_NO_ANSWER: Final = "none succeeded"
_NO_BEGIN: Final = "none began"


def connections(run: Evidence) -> ConnectionsSection | None:
    """What became of connections in the measure phase, kind by kind; null where there are none, or the table is not."""
    rows = {row["kind"]: row for row in run.matching("connections", scope="measure")}
    if not rows:
        return None
    found = {_key(kind): _of_kind(rows[kind]) if kind in rows else None for kind in ConnectionKind}
    return made(ConnectionsSection, found, lambda _: NOT_ASKED)


def _key(kind: ConnectionKind) -> str:
    return kind.value.replace("-", "_")


def _of_kind(row: Row) -> ConnectionsOfKind:
    nothing = _NO_ANSWER if row["failed"] else _NO_BEGIN
    known = {name: row[name] for name in ConnectionsOfKind.model_fields if name in row}
    if row["held"] is None:
        del known["held"]
    return made(ConnectionsOfKind, known, lambda name: _WHY.get(name, nothing))
