"""The rule for calibrations: whether it is known how wrong the instrument is on this machine."""

from typing import Final

from streamgauge.domain.clock import utc_text
from streamgauge.domain.text.numbers import listed, whole
from streamgauge.verdict.calibration import OLD_DAYS, of_version
from streamgauge.verdict.fitness.machine import Finding, Machine, untold

_NAME: Final = "calibration"
_REMEDY: Final = "streamgauge calibrate"


def calibration(machine: Machine) -> Finding:
    """Whether there is a calibration of this machine and version that is not old."""
    what = "How wrong the instrument itself is on this machine is not known."
    if machine.calibrations is None:
        return untold(_NAME, machine, what)
    if not machine.calibrations:
        return Finding(_NAME, "warn", "none", what, _REMEDY)
    mine = of_version(machine.calibrations, machine.version)
    if not mine:
        last = max(machine.calibrations, key=lambda each: each.wall_ns)
        found = f"made with version {last.version}, on {_day(last.wall_ns)}"
        return Finding(_NAME, "warn", found, f"It says nothing of version {machine.version}.", _REMEDY)
    rates = listed([whole(rate) for rate in sorted({each.rate for each in mine})])
    found = f"{_day(max(each.wall_ns for each in mine))}, at {rates} messages a second"
    if all(each.is_old(machine.wall_ns) for each in mine):
        return Finding(_NAME, "warn", found, f"It is older than {OLD_DAYS:g} days.", _REMEDY)
    if wrong := sorted({name for each in mine for name in each.miscounted}):
        what = f"These counts were not what was planted: {listed(wrong)}."
        return Finding(_NAME, "warn", found, what, _REMEDY)
    return Finding(_NAME, "ok", found, "How wrong the instrument itself is on this machine is known.")


def _day(wall_ns: int) -> str:
    return utc_text(wall_ns).partition("T")[0]
