"""Sections `backpressure`, `faults` and `recovery` of result.json: what was done to the run, and how it came back."""

from typing import Final

from streamgauge.report.assemble.nulls import Values, made
from streamgauge.result.model.pressure import BackpressureSection, FaultAction, RecoveryScore, ThrottleWait
from streamgauge.verdict.evidence import Evidence, Row

_OF_CREDIT: Final = frozenset({"within_limit", "returned", "ambiguous"})
_OF_HYSTERESIS: Final = frozenset({"resume", "pauses", "paused_s"})
_WHY_NOT: Final = {
    "controller_died_second": "the controller did not die",
    "throttle": "the load has no schedule, or no measurement",
    "offered_per_second": "the load has no schedule",
    "admitted_per_second": "the times of admission are not known",
}
_WHY_NOT_RECOVERED: Final = {
    "began_second": "it was in effect from the start of the run",
    "detail": "no further details",
    "detected_s": "its start was not detected",
    "time_to_drain_s": "it did not recover before the load ended, or the next cause began",
    "drain_rate_per_second": "there was nothing to drain, or it did not drain",
    "floor": "there is neither a time before it nor a settled tail",
    "tolerance": "the floor is not known",
    "group": "it covers all groups",
}


def backpressure(run: Evidence) -> BackpressureSection | None:
    """What the policy that holds producers back did; null without a policy."""
    row = run.one("backpressure")
    if row is None:
        return None
    throttle = run.latency("throttle")
    waited = ThrottleWait.model_validate(throttle) if throttle.get("count") else None
    known = {**row, **_rates(run), "throttle": waited}
    out = {name: known[name] for name in BackpressureSection.model_fields if name in known}
    return made(BackpressureSection, out, lambda key: _why(row, key))


def _why(row: Row, key: str) -> str:
    if key in _OF_CREDIT and row["policy"] != "credit":
        return "hysteresis has no credit"
    if key in _OF_HYSTERESIS and row["policy"] == "credit":
        return "credit does not pause"
    return _WHY_NOT.get(key, "the recorded events do not show it")


def _rates(run: Evidence) -> Values:
    """Offered, admitted, sent and processed: four rates of one measure phase, and what was never sent of it."""
    row, seconds = run.measured, run.measured_seconds
    names = {"offered": "due", "sent": "sent", "processed": "processed"}
    known = {name: row[column] / seconds if row and seconds else None for name, column in names.items()}
    known["offered"] = known["offered"] if run.has_schedule else None
    order = ("offered", "admitted", "sent", "processed")
    rates = known | {"admitted": _admitted_per_second(run)}
    return {**{f"{name}_per_second": rates[name] for name in order}, "unsent": row and row["unsent"]}


def _admitted_per_second(run: Evidence) -> float | None:
    """How many messages a second the policy let go, over the intervals of the measure phase."""
    rows = run.rows("outstanding")
    mine = [row for row in rows if row["group"] == rows[0]["group"] and row["admitted"] is not None]
    inside = [row for row in mine if 0 <= row["second"] <= (run.measured_seconds or 0.0)]
    if len(inside) < 2:
        return None
    first, last = inside[0], inside[-1]
    return float(last["admitted"] - first["admitted"]) / float(last["second"] - first["second"])


def faults(run: Evidence) -> list[FaultAction] | None:
    """What the scenario did to the run, as it was carried out; null where that was nothing."""
    return [FaultAction.model_validate(row) for row in run.rows("faults")] or None


def recovery(run: Evidence) -> list[RecoveryScore] | None:
    """How the run came back from each cause that was over; null where there was none."""
    names = {group.id: group.name for group in run.facts.groups}
    rows = [{**row, "group": names.get(row["group"])} for row in run.rows("recovery")]
    return [made(RecoveryScore, row, _why_not_recovered) for row in rows] or None


def _why_not_recovered(key: str) -> str:
    return _WHY_NOT_RECOVERED.get(key, "there was not enough data")
