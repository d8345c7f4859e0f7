"""The check of faults: whether all faults of the scenario were injected."""

from streamgauge.domain.text.numbers import listed
from streamgauge.verdict.check import Check, passed, unknown
from streamgauge.verdict.evidence import Evidence
from streamgauge.workload.changes import CHANGES


def faults(run: Evidence) -> Check | None:
    """Whether every fault of the scenario was injected.

    Data: the table `faults`, and `faults` of the scenario.
    Fails when: a fault could not be injected, was not, or did not go as the scenario asks for.
    Remedy: see the error; name targets that exist in the run, at times within the measure phase, and conditions that
        are met in it.
    """
    asked = run.profile.fault_count
    if not asked:
        return None
    if "faults" not in run.tables:
        return unknown("faults", "instrument", "it is not known which faults were injected")
    begun = [
        row for row in run.rows("faults") if row["action"] == "begin" and (row["kind"], row["target"]) not in CHANGES
    ]
    failed = [row for row in run.rows("faults") if row["error"] is not None]
    advice = "Name targets that the run has, at times that lie within the measure phase."
    if failed:
        seen = listed([f"{row['kind']} of {row['target']}: {row['error']}" for row in failed])
        return Check("faults", "instrument", "fail", seen, advice)
    if len(begun) < asked:
        seen = f"{len(begun)} of {asked} faults were injected"
        return Check("faults", "instrument", "fail", seen, advice)
    told = listed([f"{row['kind']} of {row['target']} at {row['second']:.1f} s" for row in begun])
    return passed("faults", "instrument", f"injected: {told}")
