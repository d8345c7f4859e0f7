"""The section `wire` of result.json: what clients sent and received on the wire, and how much of it were messages."""

from typing import Any, Final

from streamgauge.report.assemble.sections import NO_CONSUMERS, NO_LOAD, Section, missing
from streamgauge.verdict.evidence import Evidence, Row

NOT_TOLD: Final = "no client told anything of itself"

_OF_ALL: Final = (
    "messages",
    "message_bytes",
    "wire_bytes",
    "ratio",
    "requests",
    "retries",
    "messages_per_request",
    "rtt_ms",
    "rtt_p99_ms",
    "throttle_ms",
)
_OF_PRODUCERS: Final = ("batch_messages", "batch_bytes", "queue_ms")
_WHY: Final = {
    "ratio": "nothing went over the wire",
    "messages_per_request": "no request for messages was made",
    "rtt_ms": "no request was answered in the seconds looked at",
    "rtt_p99_ms": "no request was answered in the seconds looked at",
}
_NO_BATCH: Final = "no batch was sent in the seconds looked at"


def wire(run: Evidence) -> Section:
    """What producers sent and what consumers received; null, with the reason, where there are none or none told it."""
    out: Section = {
        "producers": _of_role(run, "producer", (*_OF_ALL, *_OF_PRODUCERS)),
        "consumers": _of_role(run, "consumer", _OF_ALL),
    }
    roles = {"producers": (run.sends, NO_LOAD), "consumers": (run.consumes, NO_CONSUMERS)}
    not_told = NOT_TOLD if "wire" in run.tables else missing("wire")
    out["reasons"] = {
        name: not_told if plays else without for name, (plays, without) in roles.items() if out[name] is None
    }
    return out


def _of_role(run: Evidence, role: str, names: tuple[str, ...]) -> Section | None:
    """All of a role together and each: of the measure phase, or of the run where that was too short to look twice."""
    for scope in ("measure", "run"):
        rows = run.matching("wire", scope=scope, role=role)
        together = next((row for row in rows if row["worker"] is None), None)
        if together is not None:
            figures = _figures(together, names)
            nulls = [name for name, value in figures.items() if value is None]
            return {
                "scope": scope,
                **figures,
                "workers": [
                    {"worker": row["worker"], **_figures(row, names)} for row in rows if row["worker"] is not None
                ],
                "reasons": {name: _WHY.get(name, _NO_BATCH) for name in nulls},
            }
    return None


def _figures(row: Row, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: row[name] for name in names}
