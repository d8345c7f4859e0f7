"""Checks of backpressure: whether the policy and its controller worked."""

from streamgauge.domain.text.numbers import whole
from streamgauge.verdict.check import Check, passed, unknown
from streamgauge.verdict.evidence import Evidence

_CONTROLLER = "controller"


def credit(run: Evidence) -> Check | None:
    """Whether outstanding messages stayed within the credit limit.

    The policy guarantees this limit, so the number is computed from the recorded rows: messages sent, minus messages
    processed up to the first gap of each partition by the group that is furthest behind.

    Data: `credits_used_max` of the whole run (exact) and `limit` in the table `backpressure`.
    Fails when: `credits_used_max` is above `limit`. Unknown if it is above and a consumer died: rows of messages that
    it processed may be lost, and they then count as outstanding until they are delivered again. Also unknown if
    messages without a delivery report, of a producer that died, could raise it above the limit: their time of sending
    is not known.
    Remedy: report a bug with the run folder; the measured values are valid, but the load was not the configured one.
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
    """Whether the controller ran until the end. After its death, the last decision remains in effect.

    Data: how the worker `controller` ended, in run.json.
    Warns when: it died, and the scenario killed it.
    Fails when: it died for another reason.
    Remedy: read the worker's log in the run folder; after that time the policy did not control the load.
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
    """Whether all credits were returned.

    A send that failed, or whose producer died before it reported, may still have been written. Its credit is not
    returned, because the limit could be exceeded otherwise. Each such credit reduces the number of messages that can be
    outstanding by one.

    Data: `ambiguous` in the table `backpressure`.
    Warns when: it is above 0.
    Remedy: see `problems` for the errors, and the broker's log.
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
