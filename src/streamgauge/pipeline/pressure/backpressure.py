"""The table `backpressure`: what the policy that holds producers back did, in one row."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from streamgauge.delivery.reports import certainly_not_written
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.events import FATE_UNKNOWN, UNSENT
from streamgauge.domain.folder.facts import RunFacts
from streamgauge.pipeline.pressure.lives import Grid
from streamgauge.pipeline.pressure.outstanding import Outstanding
from streamgauge.pipeline.read.rows import Row, numbers
from streamgauge.pipeline.read.silver import UNSETTLED, Span
from streamgauge.scenario.profile import recorded_profile
from streamgauge.scenario.profile.model import PolicyProfile

PAUSE, RESUME = "pause", "resume"


def failures(messages: DataFrame) -> dict[str, int]:
    """How many messages failed with each error, or have no report; those that were received were sent, for certain."""
    found = (
        messages.where(f"error is not null and (report != {UNSETTLED} or sent_ns is null)")
        .groupBy("error")
        .count()
        .collect()
    )
    return {row["error"]: row["count"] for row in found}


def backpressure_rows(
    facts: RunFacts,
    decisions: pa.Table,
    failed: Mapping[str, int],
    grid: Grid | None,
    groups: Mapping[int, Outstanding],
    span: Span,
) -> list[Row]:
    """The row of `backpressure`; none without a policy. `grid` and `groups` are empty where nothing was replayed."""
    policy = recorded_profile(facts.profile, facts.scenario).backpressure
    if policy is None:
        return []
    row: Row = {
        "policy": policy.name,
        "limit": policy.limit,
        "resume": policy.resume,
        "poll_ms": policy.poll_ms,
        "decisions": decisions.num_rows,
        "controller_died_second": controller_died_second(facts, span),
    }
    row |= _peaks(policy, grid, groups, span)
    if not row["within_limit"] and any(worker.role == "consumer" and worker.died for worker in facts.workers):
        # What a consumer processed last it may have told and not recorded: the replay counts it too late.
        row["within_limit"] = None
    if row["within_limit"] and row["credits_used_max"] + failed.get(FATE_UNKNOWN, 0) > policy.limit:
        # They had credit, and may be in the log: nobody knows from when on they count.
        row["within_limit"] = None
    if policy.is_credit:
        return [row | {"pauses": None, "paused_s": None} | _credits(failed)]
    return [row | {"returned": None, "ambiguous": None} | _pauses(decisions, span)]


def _peaks(policy: PolicyProfile, grid: Grid | None, groups: Mapping[int, Outstanding], span: Span) -> Row:
    """The most that was outstanding of any group, and when."""
    most = {name: _most(groups, f"{name}_max") for name in ("outstanding", "credits_used")}
    told = most["credits_used" if policy.is_credit else "outstanding"]
    used = most["credits_used"] and most["credits_used"][0]
    return {
        **{f"{name}_max": found and found[0] for name, found in most.items()},
        "max_second": span.second(int(grid.edges_ns[told[1]])) if grid and told else None,
        "within_limit": used <= policy.limit if policy.is_credit and used is not None else None,
    }


def _most(groups: Mapping[int, Outstanding], name: str) -> tuple[int, int] | None:
    """The largest value of any group, and its interval."""
    found = [
        (int(values.max()), int(values.argmax()))
        for each in groups.values()
        if (values := getattr(each, name)) is not None
    ]
    return max(found, key=lambda each: each[0], default=None)


def _credits(failed: Mapping[str, int]) -> Row:
    """Credits that came back, and those that did not; what was never sent had none."""
    sent = {error: count for error, count in failed.items() if error != UNSENT}
    returned = sum(count for error, count in sent.items() if certainly_not_written(error))
    return {"returned": returned, "ambiguous": sum(sent.values()) - returned}


def _pauses(decisions: pa.Table, span: Span) -> Row:
    """How often producers paused, and for how long in the measure phase."""
    ordered = decisions.sort_by("at_ns")
    at = numbers(ordered, "at_ns").tolist()
    paused_ns, since = 0, None
    for at_ns, reason in [*zip(at, ordered.column("reason").to_pylist(), strict=True), (span.to_ns, RESUME)]:
        if reason == PAUSE and since is None:
            since = at_ns
        elif reason == RESUME and since is not None:
            paused_ns += max(0, min(at_ns, span.measure.to_ns) - max(since, span.measure.from_ns))
            since = None
    pauses = pc.sum(pc.equal(decisions.column("reason"), PAUSE)).as_py() or 0
    return {"pauses": pauses, "paused_s": paused_ns / NS_PER_SECOND}


def controller_died_second(facts: RunFacts, span: Span) -> float | None:
    """When the controller died; None where it lived."""
    died = (worker.ended_ns for worker in facts.workers if worker.role == "controller" and worker.died)
    at_ns = next((at_ns for at_ns in died if at_ns is not None), None)
    return None if at_ns is None else span.second(at_ns)
