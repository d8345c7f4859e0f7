"""Checks of the wall clock: did the load begin when it was to, and did the clock that figures rest on keep going."""

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
"""Hosts that set their clocks over a network may be tens of milliseconds apart: a begin that is asked for in wall time
means no less."""
WALL_MOVED_MS: Final = 1.0
"""What the time of a record is exact to: less cannot be seen in any figure."""
SLEW: Final = 500e-6
"""How fast NTP lets a clock catch up, at most; what moves faster was set."""
READ_NS: Final = 100_000
"""How far two readings of a pair of clocks may be off; mostly it is less than a microsecond."""


@dataclass(frozen=True, slots=True)
class ClockReading:
    """How far the wall clock was ahead of the monotonic clock, and when, on the monotonic clock."""

    at_ns: int
    ahead_ns: int


@dataclass(frozen=True, slots=True)
class Movement:
    """How the wall clock moved against the monotonic clock."""

    in_all_ns: int
    """Between the smallest and the largest lead that was read."""
    step_ns: int
    """What it was set by, the largest of several times: above 0 forward, below 0 back; 0 where it was never set."""
    step_at_ns: int | None
    """When that was seen first."""


def movement(readings: Sequence[ClockReading]) -> Movement:
    """How the wall clock moved from reading to reading; in order of time.

    It was set where it moved by more between two readings than NTP can slew it meanwhile, and than readings are off.
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

    Looks at: `phases.start_at`, beside the begin of the first phase in run.json, put on the wall clock by the pair of
    clocks that was read when the run began.
    Fails when: it began more than {START_LATE_MS:g} ms late.
    To do: name a later time. Broker and workers must be ready by then: the program says how long that takes.
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
    """Whether the wall clock was left alone while a figure rested on it.

    Times of messages are read from the monotonic clock, which nobody can set. What others write down in wall time is
    put beside them by the lead of the wall clock over the monotonic clock when the run began. So on the wall clock
    rest: the latency `since_record_time` of a run that only consumes; of a pipeline, when the broker appended messages
    to its source and sink, when batches began, and so the stages of a message on its way and the times of batches; and
    when the load begins, with `phases.start_at`. No other figure does. The lead changes when somebody sets the wall
    clock, when NTP lets it catch up (by 500 ppm at most; Linux slews both clocks alike), and when the machine sleeps,
    because the monotonic clock then stands still.

    Looks at: both clocks, read together when the run began, every half second, and when it ended.
    Warns when: the lead changed by {WALL_MOVED_MS:g} ms or more in all, at once or little by little, and no figure
    rests on it.
    Fails when: it changed by as much, and a figure rests on it; where only the begin of the load does, before that.
    To do: stop what sets the clock (NTP, the synchronisation of a virtual machine with its host) while you measure.
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
    """What rests on the wall clock, in words; on its way to the begin of the load, when that is."""
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
    """Every reading of both clocks, in order of time."""
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
    """Second 0 of tables: when the measure phase began."""
    measured = run.facts.phase("measure")
    if measured is not None:
        return measured.from_ns
    return min((phase.from_ns for phase in run.facts.phases), default=run.facts.monotonic_ns)


def _duration(milli: float) -> str:
    return milliseconds(milli) if abs(milli) < 1_000 else f"{abs(milli) / 1_000:.3g} s"
