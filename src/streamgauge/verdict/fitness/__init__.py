"""What a machine is as a place to measure on.

Every rule is a pure function from what was read of the machine to a finding: what it is, what that means for a
measurement, and what mends it.
"""

from collections.abc import Callable, Sequence
from typing import Final

from streamgauge.verdict.fitness import calibrated, needs, quiet
from streamgauge.verdict.fitness.machine import Finding, Machine, Status

__all__ = ["RULES", "Finding", "Machine", "Status", "findings", "is_ready"]

RULES: Final[Sequence[Callable[[Machine], Finding]]] = (
    needs.java,
    needs.python,
    needs.jars,
    needs.memory,
    needs.memory_limit,
    needs.disk,
    needs.open_files,
    quiet.cores,
    quiet.cpu_limit,
    quiet.steal,
    quiet.clock_source,
    quiet.timer_slack,
    quiet.governor,
    quiet.huge_pages,
    calibrated.calibration,
)


def findings(machine: Machine) -> list[Finding]:
    """One finding for each subject, those that a run cannot do without first."""
    return [rule(machine) for rule in RULES]


def is_ready(found: Sequence[Finding]) -> bool:
    """Whether nothing is missing that a run cannot do without."""
    return not any(each.status == "fail" for each in found)
