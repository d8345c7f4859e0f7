"""Checks of what holds producers back: did the tool keep what its policy promises."""

from streamgauge.domain.text.numbers import whole
from streamgauge.verdict.check import Check, passed, unknown
from streamgauge.verdict.evidence import Evidence

_CONTROLLER = "controller"


def credit(run: Evidence) -> Check | None:
    """Whether the number of outstanding messages stayed within the credit limit.

    That is what the tool promises, so that it is replayed from the rows: messages sent, without those processed up to
    the first gap of each partition by the group that is furthest behind.

    Looks at: `credits_used_max` of the whole run, exact to the message, and `limit` in the table `backpressure`.
    Fails when: it is above the limit. Unknown where a consumer died: what it processed last, and gave credit back for,
    it may not have recorded, and is replayed as if it had been processed when it was delivered again. Unknown, too,
    where messages of a producer that died have no report and were not received, and with all of them it would be above
    the limit: nobody knows from when on they were outstanding.
    To do: report it with the run folder; the figures of the run stand, but its load was not the one that was asked for.
    """
    if run.policy is None or not run.policy.is_credit:
        return None
    row = run.one("backpressure") or {}
    most, limit = row.get("credits_used_max"), run.policy.limit
    if most is None:
        return unknown("credit", "instrument", "the peak of outstanding messages is not known")
    evidence = f"at most {whole(most)} messages outstanding, credit for {whole(limit)}"
    if most <= limit and row.get("within_limit", True) is None:
        evidence += "; unreported messages of a producer that died may have been outstanding, too"
        return unknown("credit", "instrument", evidence, "Read the count as a lower bound. See `fate_unknown`.")
    if most <= limit:
        return passed("credit", "instrument", evidence)
    if any(worker.role == "consumer" and worker.died for worker in run.facts.workers):
        evidence += "; the last rows of a consumer were lost when it died"
        return unknown("credit", "instrument", evidence, "Read the count as an upper bound.")
    return Check(
        "credit", "instrument", "fail", evidence, "The policy did not keep its limit: report a bug with the run folder."
    )


def controller(run: Evidence) -> Check | None:
    """Whether the controller ran to the end. When it is dead, its last decision stays in force.

    Looks at: how the worker `controller` ended, in run.json.
    Warns when: it died, and the scenario killed it.
    Fails when: it died otherwise.
    To do: read the worker's log in the run folder; from then on the load is not what the policy would have made it.
    """
    if run.policy is None:
        return None
    workers = [worker for worker in run.facts.workers if worker.role == _CONTROLLER]
    if not workers:
        return unknown(
            "controller", "instrument", "the outcome of the controller is not known", "See the folder's logs."
        )
    dead = [worker for worker in workers if worker.died]
    if not dead:
        decisions = (run.one("backpressure") or {}).get("decisions")
        return passed("controller", "instrument", f"the controller did not die; {whole(decisions)} decisions")
    second = (run.one("backpressure") or {}).get("controller_died_second")
    evidence = f"the controller died{'' if second is None else f' at {second:.1f} s'}; no grants after that"
    if all(worker.declared_dead for worker in dead):
        return Check(_CONTROLLER, "system", "warn", evidence, "The scenario declared this fault.")
    advice = "After that the policy did not control the load. See the worker's log in the folder."
    return Check(_CONTROLLER, "instrument", "fail", evidence, advice)


def lost_credit(run: Evidence) -> Check | None:
    """Whether all credit was returned.

    A send that failed, or that its producer could not report before it died, may have been written all the same. Its
    credit does not come back, or the limit might be exceeded: from then on, so many fewer messages can be outstanding.

    Looks at: `ambiguous` in the table `backpressure`.
    Warns when: there is one.
    To do: see `problems` for the errors, and the broker's log.
    """
    if run.policy is None or not run.policy.is_credit:
        return None
    count = (run.one("backpressure") or {}).get("ambiguous")
    if count is None:
        return unknown("lost_credit", "system", "the number of failed sends is not known")
    if count == 0:
        return passed("lost_credit", "system", "no credit was lost")
    evidence = f"{whole(count)} of {whole(run.policy.limit)} credits lost with sends that may have been written"
    return Check("lost_credit", "system", "warn", evidence, "See `problems` for the errors, and the broker's log.")
