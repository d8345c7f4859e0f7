"""Runs of tussle at a rate, one or several after each other, as a load or as an experiment."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import format_duration
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.tussle.properties import TussleBench, tussle_number, tussle_time_ns
from streamgauge.foreign.specs.write.translation import Draft, Translation, without_none

MINUTE_NS: Final = 60 * NS_PER_SECOND
_CHUNK_MS: Final = 10
"""Of the throttle INT."""
MOST_STEPS: Final = 1_000
_PLACE: Final = "scenario"
_ONE_RUN: Final = "steps are one run; the report has the figures of each second, and of each step"


class TussleStep(NamedTuple):
    """One run."""

    rate: Any
    """As `load.rate` has it."""
    warmup_ns: int
    length_ns: int


def step_of(draft: Draft, fields: SpecFields, bench: TussleBench) -> TussleStep:
    """The run that `targetRate`, `warmupTime` and `runTime` say; a rate of 0 is as fast as possible."""
    rate: int = fields.read("targetRate", 1000, tussle_number)
    if rate < 0:
        draft.refuse(fields.place("targetRate"), f"{rate}: below 0", "Write a rate, or 0 for as fast as possible")
    length: int = fields.read("runTime", MINUTE_NS, tussle_time_ns)
    if not length:
        draft.refuse(fields.place("runTime"), "0 leaves nothing to measure", "Write a time like 60s")
    return TussleStep(paced(draft, rate, bench), fields.read("warmupTime", 0, tussle_time_ns), length)


def paced(draft: Draft, rate: int, bench: TussleBench) -> Any:
    """A rate of all producers together, as `load.rate` has it."""
    if rate <= 0:
        return "max"
    in_chunk = rate * _CHUNK_MS / 1000
    if bench.in_chunks and in_chunk.is_integer():
        return {"windows": {"messages": int(in_chunk), "window": f"{_CHUNK_MS}ms"}}
    if bench.in_chunks:
        draft.differs("throttleMode", f"INT sends in chunks of {_CHUNK_MS} ms; here messages are sent evenly")
    return rate


def scenario_at(document: Mapping[str, Any], step: TussleStep) -> dict[str, Any]:
    """A scenario of one run."""
    made = dict(document)
    if isinstance(document["load"], dict):
        made["load"] = {"rate": step.rate, **document["load"]}
    phases = {"warmup": format_duration(step.warmup_ns), "measure": format_duration(step.length_ns)}
    return {**made, "phases": phases}


def stepped(draft: Draft, runner: str, steps: Sequence[TussleStep], document: Mapping[str, Any]) -> Translation:
    """Steps as one load, where each has a rate and follows the last at once; else as runs of an experiment."""
    if not steps:
        return draft.finished("tussle", runner, document)
    if all(isinstance(step.rate, int) for step in steps) and not any(step.warmup_ns for step in steps[1:]):
        segments = [{"rate": step.rate, "for": format_duration(step.length_ns)} for step in steps]
        whole = TussleStep({"segments": segments}, steps[0].warmup_ns, sum(step.length_ns for step in steps))
        draft.differs("scenario", _ONE_RUN)
        return draft.finished("tussle", runner, scenario_at(document, whole))
    draft.differs("scenario", "each step is a run with topics and clients of its own; there they are kept")
    variants = {
        f"step-{place}": {
            "load.rate": step.rate,
            "phases.warmup": format_duration(step.warmup_ns),
            "phases.measure": format_duration(step.length_ns),
        }
        for place, step in enumerate(steps, start=1)
    }
    base = scenario_at(document, steps[0])
    return draft.finished("tussle", runner, experiment_of_steps(base, vary={"variants": variants}), "experiment")


def shorthand(draft: Draft, text: str, document: Mapping[str, Any]) -> Translation:
    """What `RAMP_steps_from_to_length` and `SPIKE_base_peak_before_length` say, with defaults for what is left out."""
    said = _said(draft, text)
    step = TussleStep(1, 0, MINUTE_NS)
    if said is not None:
        step = TussleStep(said.pace, 0, said.length_ns)
    draft.differs(_PLACE, _ONE_RUN)
    return draft.finished("tussle", "ScenarioRunner", scenario_at(document, step))


def shorthand_rates(draft: Draft, text: str) -> list[tuple[int, int]]:
    """The rates that a shorthand says, one after the other, each with its length in ns; none where it is refused."""
    said = _said(draft, text)
    rates = [] if said is None else list(islice(said.rates, MOST_STEPS + 1))
    if len(rates) > MOST_STEPS:
        draft.refuse(_PLACE, f"{one_line(text)}: has more than {MOST_STEPS:,} steps", "Write fewer")
        return []
    return rates


def experiment_of_steps(
    scenario: Mapping[str, Any], repeat: int = 1, vary: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """An experiment of runs in their order."""
    return without_none(
        {
            "name": scenario["name"],
            "about": "Steps of tussle, in their order.",
            "scenario": dict(scenario),
            "vary": dict(vary) if vary else None,
            "repeat": repeat,
            "order": "as-written",
        }
    )


def braced(line: str) -> str:
    """The YAML of what is typed in a line: `targetRate=1k runTime=10s`, or a mapping with or without its braces."""
    if re.match(r"[A-Za-z]+=", line):
        return "{" + ", ".join(word.replace("=", ": ", 1) for word in line.split()) + "}"
    return line if line.startswith("{") else "{" + line + "}"


class _SaidRates(NamedTuple):
    """A shorthand: as `load.rate` has it, and as rates with their lengths in ns."""

    pace: dict[str, Any]
    length_ns: int
    rates: Iterable[tuple[int, int]]


def _said(draft: Draft, text: str) -> _SaidRates | None:
    kind, *parts = text.strip().split("_")
    if kind not in _SHORTHANDS or len(parts) > 4:
        like = "Write a list of steps, RAMP_10_1k_10k_1m or SPIKE_1k_1m_5m_10s"
        draft.refuse(_PLACE, f"{one_line(text)}: not a scenario", like)
        return None
    try:
        return _SHORTHANDS[kind]([*parts, *[""] * (4 - len(parts))])
    except BadValue as error:
        draft.refuse(_PLACE, f"{one_line(text)}: {error.what}", error.mend)
        return None


def _ramp(parts: Sequence[str]) -> _SaidRates:
    count, low, high = (_above_zero(tussle_number(p or d)) for p, d in zip(parts, ("10", "1k", "10k"), strict=False))
    each, count = _above_zero(tussle_time_ns(parts[3] or "1m")), max(2, count)
    pace = {"steps": {"from": low, "to": high, "steps": count, "each": format_duration(each)}}
    rates = ((round(low + (high - low) * place / (count - 1)), each) for place in range(count))
    return _SaidRates(pace, count * each, rates)


def _spike(parts: Sequence[str]) -> _SaidRates:
    base, peak = (_above_zero(tussle_number(p or d)) for p, d in zip(parts, ("1k", "1m"), strict=False))
    before, lasts = (_above_zero(tussle_time_ns(p or d)) for p, d in zip(parts[2:], ("5m", "10s"), strict=True))
    pace = {"spike": {"base": base, "peak": peak, "at": format_duration(before), "for": format_duration(lasts)}}
    return _SaidRates(pace, 2 * before + lasts, [(base, before), (peak, lasts), (base, before)])


def _above_zero(number: int) -> int:
    if number <= 0:
        raise BadValue("has a part of 0", "Write rates and times above 0")
    return number


_SHORTHANDS: Final = {"RAMP": _ramp, "SPIKE": _spike}
