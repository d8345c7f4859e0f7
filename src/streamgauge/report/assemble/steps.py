"""Parts of a run in result.json: steps of the load, the warm-up, and rates by topic, by partition and by minute."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.report.assemble.latencies import KINDS, latency
from streamgauge.report.assemble.nulls import made
from streamgauge.result.model.latency import LatencyFigures
from streamgauge.result.model.throughput import RatesSection, StepResult, WarmupTotals
from streamgauge.result.model.trust import FigureTrust
from streamgauge.result.model.verdict import ExpectationResult
from streamgauge.verdict.evidence import ARRIVING, Evidence, Row, arrived
from streamgauge.verdict.expectations import expectations

_RATES: Final = tuple(f"{name}_per_second" for name in ("target", "sent", "acked", "received"))
_MINUTE: Final = 60
_BYTES_PER_MB: Final = 1e6
_BYTES: Final = ("sent_bytes", "received_bytes")


def steps(run: Evidence) -> list[StepResult] | None:
    """Each step of the load; None where it has none."""
    rows = run.rows("steps")
    latencies = {(row["metric"], row["second"]): row for row in run.matching("latency", scope="step")} if rows else {}
    return [_step(run, row, latencies, path_of(run)) for row in rows] or None


def path_of(run: Evidence) -> str:
    """Of which path the latencies of steps are."""
    return "end_to_end" if run.consumes else "ack"


def decided(run: Evidence, steps: Sequence[StepResult], trust: Mapping[str, FigureTrust]) -> list[StepResult]:
    """Steps whose expectations are decided by what may be believed of them; `trust` is that of the result.

    A step whose expectation cannot be decided has not held.
    """
    path = path_of(run)
    return [_decided(run, path, step, _of_step(trust, place, path)) for place, step in enumerate(steps)]


def _of_step(trust: Mapping[str, FigureTrust], place: int, path: str) -> dict[str, FigureTrust]:
    """The companions of a step, by the paths that expectations name."""
    begin = f"steps.{place}."
    mine = {name.removeprefix(begin): each for name, each in trust.items() if name.startswith(begin)}
    return {f"{'throughput' if name in _RATES else f'latency.{path}'}.{name}": each for name, each in mine.items()}


def _decided(run: Evidence, path: str, step: StepResult, mine: Mapping[str, FigureTrust]) -> StepResult:
    if not mine:
        return step
    rates = {name: getattr(step, name) for name in _RATES}
    of_kinds = {kind: getattr(step, kind) for kind in KINDS}
    judged = _expectations(run.profile.expect, rates, of_kinds, path, mine)
    held = step.held and all(each.passed for each in judged)
    return step.model_copy(update={"expectations": judged, "held": held})


def warmup(run: Evidence) -> WarmupTotals | None:
    """What was sent and received before the measure phase; None where nothing was before it, or no second is told."""
    phase = run.facts.phase("warmup")
    rows = [row for row in run.matching("throughput", scope="window") if row["second"] < 0]
    if phase is None or not rows:
        return None
    sums = {name: sum(row[name] for row in rows) for name in ("sent", "acked", "received", *_BYTES)}
    errors = sum(row["failed"] + row["unsent"] for row in rows)
    out: dict[str, float | None] = {"seconds": (phase.to_ns - phase.from_ns) / NS_PER_SECOND, "errors": errors, **sums}
    if not run.sends:
        out |= dict.fromkeys(("sent", "acked", "errors", "sent_bytes"))
    if not run.consumes:
        out |= dict.fromkeys(("received", "received_bytes"))
    return made(WarmupTotals, out, lambda key: "no consumers" if key.startswith("received") else "nothing is sent")


def rates(run: Evidence) -> RatesSection | None:
    """Rates of topics, of partitions and of whole minutes; None where the table has no rows of the measure phase."""
    if run.measured is None or not run.measured_seconds:
        return None
    names = {topic.id: topic.name for topic in run.facts.topics}
    windows = {row["second"]: row for row in run.matching("throughput", scope="window")}
    minutes = [
        {"minute": minute, **_part(run, [windows[second] for second in seconds if second in windows], _MINUTE)}
        for minute in range(int(run.measured_seconds // _MINUTE))
        if (seconds := range(minute * _MINUTE, (minute + 1) * _MINUTE))
    ]
    placed = [
        {
            "topic": names.get(row["topic"], str(row["topic"])),
            "partition": row["partition"],
            **_part(run, [row], row["duration_ns"] / NS_PER_SECOND),
        }
        for scope in ("topic", "partition")
        for row in run.matching("throughput", scope=scope)
        if row["topic"] is not None and row["duration_ns"]
    ]
    topics = [
        {name: value for name, value in each.items() if name != "partition"}
        for each in placed
        if each["partition"] is None
    ]
    partitions = [each for each in placed if each["partition"] is not None]
    return RatesSection.model_validate({"topics": topics, "partitions": partitions, "minutes": minutes})


def _part(run: Evidence, rows: Sequence[Row], seconds: float) -> dict[str, float | None]:
    acked, received, size = (sum(row[name] for row in rows) for name in ("acked", "received", "received_bytes"))
    return {
        "acked_per_second": acked / seconds if run.sends else None,
        "received_per_second": received / seconds if run.consumes else None,
        "received_mb_per_second": size / _BYTES_PER_MB / seconds if run.consumes else None,
    }


def _step(run: Evidence, row: Row, latencies: Mapping[Any, Row], path: str) -> StepResult:
    seconds = row["duration_ns"] / NS_PER_SECOND
    rates: dict[str, float | None] = {
        f"{name}_per_second": row[column] / seconds
        for name, column in (("target", "due"), ("sent", "sent"), ("acked", "acked"), ("received", "received"))
    }
    if not run.consumes:
        rates["received_per_second"] = None
    of_kinds: dict[str, LatencyFigures | None] = {
        kind: latency(found, ()) if (found := latencies.get((f"{path}_{kind}", row["from_second"]))) else None
        for kind in KINDS
    }
    judged = _expectations(run.profile.expect, rates, of_kinds, path, {})
    errors = row["failed"] + row["unsent"]
    all_arrived = _arrived(run, row) >= ARRIVING * row["due"]
    missing = any(each.censored for each in of_kinds.values() if each)
    return StepResult.model_validate(
        {name: row[name] for name in ("step", "from_second", "to_second")}
        | rates
        | of_kinds
        | {"errors": errors, "expectations": judged}
        | {"held": all_arrived and not errors and not missing and all(each.passed for each in judged)}
    )


def _arrived(run: Evidence, row: Row) -> int:
    """What came of the messages due in a step; what was acknowledged where groups are not to receive all of it."""
    found = arrived(row) if run.consumes else None
    return int(row["acked"] if found is None else found)


def _expectations(
    expect: Mapping[str, Any],
    rates: Mapping[str, float | None],
    latencies: Mapping[str, LatencyFigures | None],
    path: str,
    trust: Mapping[str, FigureTrust],
) -> list[ExpectationResult]:
    """What the scenario expects of these rates and latencies; of anything else a step says nothing."""
    begins = (f"latency.{path}.", *(f"throughput.{name}" for name in rates))
    mine = {each: wanted for each, wanted in expect.items() if each.startswith(begins)}
    shown = {kind: each and each.model_dump(mode="json", exclude_unset=True) for kind, each in latencies.items()}
    return expectations({"throughput": rates, "latency": {path: shown}}, mine, trust)
