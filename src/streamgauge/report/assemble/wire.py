"""The section `wire` of result.json: what clients sent and received on the wire, and how much of it were messages."""

from collections.abc import Sequence
from typing import Final

from streamgauge.report.assemble.nulls import Values, made, missing
from streamgauge.report.assemble.sections import NO_CONSUMERS, NO_LOAD
from streamgauge.result.model.clients import WireOfRole, WireSection, WireTraffic
from streamgauge.verdict.evidence import Evidence, Row

NOT_TOLD: Final = "no client statistics"

_ROLES: Final = {
    "producers": "producer",
    "consumers": "consumer",
    "acknowledgements": "acknowledgements",
    "tracker_consumers": "tracker-consumer",
    "tracker_producers": "tracker-producer",
}
"""Of each role that result.json has, how rows call it."""
_OF_PRODUCERS: Final = ("batch_messages", "batch_bytes", "queue_ms")
_OPTIONAL: Final = ("tx_bytes", "rx_bytes", "tx_requests", "retried_messages")
"""What older versions did not record, or not of every client."""
_WHY: Final = {
    "ratio": "no network traffic",
    "messages_per_request": "no request for messages was made",
    "rtt_ms": "no request was answered in the sampled seconds",
    "rtt_p99_ms": "no request was answered in the sampled seconds",
}
_NO_BATCH: Final = "no batch was sent in the sampled seconds"


def wire(run: Evidence) -> WireSection:
    """What producers sent and what consumers received; null, with the reason, where there are none or none told it."""
    roles = {"producers": (run.sends, NO_LOAD), "consumers": (run.consumes, NO_CONSUMERS)}
    found = {name: _of_role(run, role) for name, role in _ROLES.items()}
    found = {name: each for name, each in found.items() if each is not None or name in roles}
    not_told = NOT_TOLD if "wire" in run.tables else missing("wire")
    each = _for_each_message([row for row in run.matching("wire", scope="measure") if row["worker"] is not None])
    return made(WireSection, {**found, **each}, lambda name: not_told if roles[name][0] else roles[name][1])


def _for_each_message(rows: Sequence[Row]) -> dict[str, float]:
    """Bytes and requests of all clients for each message of producers, by their rates: each was looked at in its time.

    Nothing where a client did not tell, or no producer sent.
    """
    if any(row.get("tx_bytes") is None or not row["duration_ns"] for row in rows):
        return {}
    sent = sum(row["messages"] / row["duration_ns"] for row in rows if row["role"] == "producer")
    if not sent:
        return {}
    bytes_ = sum((row["tx_bytes"] + row["rx_bytes"]) / row["duration_ns"] for row in rows)
    requests = sum(row["tx_requests"] / row["duration_ns"] for row in rows)
    return {"bytes_per_message": bytes_ / sent, "requests_per_message": requests / sent}


def _of_role(run: Evidence, role: str) -> WireOfRole | None:
    """All of a role together and each: of the measure phase, or of the run where that was too short to look twice."""
    for scope in ("measure", "run"):
        rows = [_known(row) for row in run.matching("wire", scope=scope, role=role)]
        together = next((row for row in rows if row["worker"] is None), None)
        if together is not None:
            figures = {name: value for name, value in together.items() if name != "worker"}
            workers = [row for row in rows if row["worker"] is not None]
            return made(WireOfRole, {**figures, "workers": workers}, lambda name: _WHY.get(name, _NO_BATCH))
    return None


def _known(row: Row) -> Values:
    """What clients of the role can tell: consumers have no batches."""
    absent = {name for name in _OPTIONAL if row.get(name) is None}
    if row["role"] in {"consumer", "tracker-consumer"}:
        absent.update(_OF_PRODUCERS)
    return {name: row[name] for name in (*WireTraffic.model_fields, "scope", "worker") if name not in absent}
