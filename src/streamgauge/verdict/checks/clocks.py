"""Checks of the wall clock: whether the load started on time, and whether the clock was changed during the run."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.text.numbers import listed, milliseconds
from streamgauge.scenario.model.values import epoch_ns
from streamgauge.verdict.check import Check, passed, unknown
from streamgauge.verdict.evidence import Evidence

START_LATE_MS: Final = 100.0
"""Clocks of hosts that synchronize over a network may differ by tens of milliseconds; a start in wall time cannot be
more precise."""
WALL_MOVED_MS: Final = 1.0
"""Resolution of record timestamps: a smaller change is not visible in any result."""
SLEW: Final = 500e-6
"""Fastest rate at which NTP slews a clock; a faster change means that the clock was set."""
READ_NS: Final = 100_000
"""Error bound of a reading of two clocks; usually less than a microsecond."""


@dataclass(frozen=True, slots=True)
class ClockReading:
    """Difference between the wall clock and the monotonic clock, and when it was read (monotonic clock)."""

    at_ns: int
    ahead_ns: int


@dataclass(frozen=True, slots=True)
class Movement:
    """Change of the wall clock relative to the monotonic clock."""

    in_all_ns: int
    """Largest minus smallest difference."""
    step_ns: int
    """Largest step by which the clock was set: above 0 forward, below 0 back; 0 if it was not set."""
    step_at_ns: int | None
    """When this step was first seen."""


def movement(readings: Sequence[ClockReading]) -> Movement:
    """Change of the wall clock over readings in order of time.

    The clock was set if it moved between two readings by more than the maximum slew of NTP and the error of the
    readings.
    """
    leads = [each.ahead_ns for each in readings]
    steps = [
        (late.ahead_ns - early.ahead_ns, late.at_ns)
        for early, late in pairwise(readings)
        if abs(late.ahead_ns - early.ahead_ns) > READ_NS + SLEW * (late.at_ns - early.at_ns)
    ]
    step_ns, at_ns = max(steps, key=lambda step: abs(step[0]), default=(0, None))
    return Movement(max(leads, default=0) - min(leads, default=0), step_ns, at_ns)


def start(run: Evidence) -> Check | None:
    """Whether the load started at `phases.start_at`.

    Data: `phases.start_at`, and the start of the first phase in run.json, converted to wall time with the pair of clock
    readings from the start of the run.
    Fails when: the load started more than {START_LATE_MS:g} ms late or early.
    Remedy: set a later time. Broker and workers must be ready by then; the error message states how long that takes.
    """
    asked = run.profile.start_at
    if asked is None:
        return None
    if not run.facts.phases:
        return unknown("start", "instrument", "the start of the load is not known", "See why the run ended.")
    began_ns = min(phase.from_ns for phase in run.facts.phases)
    late_ms = (began_ns - run.facts.monotonic_ns + run.facts.wall_ns - epoch_ns(asked)) / NS_PER_MS
    if abs(late_ms) <= START_LATE_MS:
        off = f", {milliseconds(late_ms)} late" if late_ms > 0 else ""
        return passed("start", "instrument", f"the load started at {asked} as scheduled{off}")
    evidence = (
        f"the load was scheduled for {asked}, and started {_duration(late_ms)} {'late' if late_ms > 0 else 'early'}"
    )
    advice = "Broker and workers were not ready in time. Set a later phases.start_at."
    return Check("start", "instrument", "fail", evidence, advice)


def wall_clock(run: Evidence) -> Check | None:
    """Whether the wall clock was left unchanged while results depended on it.

    Message times are read from the monotonic clock, which cannot be set. Wall-clock times of other systems are
    converted with the difference between both clocks at the start of the run. The following depend on the wall clock:
    the latency `since_record_time` of a run that only consumes; the stages and batch times of a pipeline (append times
    in source and sink, batch starts); and the start of the load with `phases.start_at`. Nothing else does. The
    difference changes if the wall clock is set, if NTP slews it (by 500 ppm at most; Linux slews both clocks alike),
    and if the machine sleeps, because the monotonic clock then stops.

    Data: readings of both clocks at the start of the run, every half second, and at the end.
    Warns when: the difference changed by {WALL_MOVED_MS:g} ms or more in total, and no result depends on it.
    Fails when: it changed by as much, and a result depends on it; for the start of the load, only changes before it
    count.
    Remedy: disable clock adjustments (NTP, the synchronization of a virtual machine with its host) during measurements.
    """
    readings = _readings(run)
    resting = _resting(run, readings)
    if len(readings) < 2:
        missing = "it is not known whether the wall clock was changed"
        return unknown("wall_clock", "instrument", missing, "Measure again.") if resting else None
    moved = movement(readings)
    in_all_ms = moved.in_all_ns / NS_PER_MS
    if in_all_ms < WALL_MOVED_MS:
        return passed("wall_clock", "instrument", f"the wall clock moved by less than {WALL_MOVED_MS:g} ms")
    evidence = f"the wall clock drifted by {_duration(in_all_ms)} in total"
    if moved.step_at_ns is not None:
        direction = "forward" if moved.step_ns > 0 else "back"
        second = (moved.step_at_ns - _zero_ns(run)) / NS_PER_SECOND
        evidence = f"the wall clock was set {direction} by {_duration(abs(moved.step_ns) / NS_PER_MS)}"
        evidence += f", detected at {second:.1f} s; it moved by {_duration(in_all_ms)} in total"
    if not resting:
        return Check("wall_clock", "instrument", "warn", evidence, "No figure of this run depends on it.")
    advice = "Stop clock adjustments (NTP, the host of a virtual machine), and measure again."
    return Check("wall_clock", "instrument", "fail", f"{evidence}; it affects {listed(resting)}", advice)


def _resting(run: Evidence, readings: Sequence[ClockReading]) -> list[str]:
    """Results that depend on the wall clock, in words; the start of the load only if the clock moved before it."""
    begun_ns = min((phase.from_ns for phase in run.facts.phases), default=None)
    is_timed = begun_ns is not None and run.profile.start_at is not None
    before = sum(each.at_ns < (begun_ns or 0) for each in readings)
    moved_ns = movement(readings[: before + 1]).in_all_ns
    found = {
        "the start of the load": is_timed and (len(readings) < 2 or moved_ns >= WALL_MOVED_MS * NS_PER_MS),
        "the latency since_record_time": not run.sends and bool(run.latency("since_record_time").get("count")),
        "the stages of the pipeline": run.piped is not None,
    }
    return [what for what, is_so in found.items() if is_so]


def _readings(run: Evidence) -> list[ClockReading]:
    """All readings of both clocks, in order of time."""
    facts = run.facts
    readings = [ClockReading(facts.monotonic_ns, facts.wall_ns - facts.monotonic_ns)]
    readings += [
        ClockReading(_zero_ns(run) + round(row["second"] * NS_PER_SECOND), row["wall_ahead_ns"])
        for row in run.matching("resources", scope="interval", role="host")
        if row.get("wall_ahead_ns") is not None
    ]
    if facts.ended_wall_ns is not None and facts.ended_monotonic_ns is not None:
        readings.append(ClockReading(facts.ended_monotonic_ns, facts.ended_wall_ns - facts.ended_monotonic_ns))
    return sorted(readings, key=lambda each: each.at_ns)


def _zero_ns(run: Evidence) -> int:
    """Second 0 of the tables: start of the measure phase."""
    measured = run.facts.phase("measure")
    if measured is not None:
        return measured.from_ns
    return min((phase.from_ns for phase in run.facts.phases), default=run.facts.monotonic_ns)


def _duration(milli: float) -> str:
    return milliseconds(milli) if abs(milli) < 1_000 else f"{abs(milli) / 1_000:.3g} s"
