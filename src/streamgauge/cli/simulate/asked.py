"""From the options of `simulate lag` to a scenario and its model: everything that can be wrong is found at once."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from streamgauge.control.simulation import TICK_NS, Model, Sticky, model_of
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput, BadValue, Fault, Faults
from streamgauge.domain.text.quantities import (
    format_duration,
    parse_count,
    parse_duration_ns,
    parse_rate_per_second,
)
from streamgauge.domain.text.shown import one_line, shown
from streamgauge.runs.request.scenario_file import read_scenario
from streamgauge.scenario import Scenario, document, examine

MOST_ROWS: Final = 10_000
KINDS: Final = ("svg", "png", "pdf")
PLAIN: Final[Mapping[str, Any]] = {
    "name": "simulated",
    "topic": {"partitions": 4},
    "load": {"rate": "10k/s", "producers": 8, "partition": "round-robin", "client": {"retries": 0}},
    "consume": {"processing": {"delay": "1ms", "order": "partitions"}, "commit": {"interval": "1s"}},
    "phases": {"warmup": "0s", "measure": "16s"},
}
"""What is simulated unless something else is said: 10,000/s into 4 slots that can do 4,000/s."""
_OPTIONS: Final = {
    "topic.partitions": "--partitions",
    "phases.measure": "--duration",
    "phases": "--duration",
    "load.rate": "--rate",
    "load.producers": "--producers",
    "load.partition": "--partitioning",
    "consume.processing.delay": "--delay",
    "consume.processing.jitter": "--jitter",
    "consume.processing.slots": "--slots",
    "consume.processing.changes": "--change",
    "consume.commit": "--commit",
    "backpressure.hysteresis.max_lag": "--max-lag",
    "backpressure.hysteresis.resume_lag": "--resume-lag",
    "backpressure.hysteresis.poll": "--poll",
    "backpressure.hysteresis": "--max-lag, --resume-lag",
    "backpressure.credit.limit": "--limit",
    "backpressure.credit.poll": "--poll",
    "lag.every": "--sampling",
    "seed": "--seed",
}
"""What a key of a scenario is called on the command line."""
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Asked:
    """The options as they were given; None for what was not."""

    scenario: str | None = None
    settings: Sequence[str] = ()
    partitions: int | None = None
    duration: str | None = None
    rate: str | None = None
    producers: int | None = None
    capacity: str | None = None
    slots: int | None = None
    delay: str | None = None
    jitter: str | None = None
    change: Sequence[str] = ()
    policy: str | None = None
    max_lag: str | None = None
    resume_lag: str | None = None
    limit: str | None = None
    poll: str | None = None
    sampling: str | None = None
    commit: str | None = None
    partitioning: str | None = None
    sticky: str | None = None
    transit: str | None = None
    held: str | None = None
    seed: int | None = None
    every: str = "1s"
    figure: Path | None = None


def checked(asked: Asked) -> tuple[Scenario, Model, int]:
    """The scenario and the model that the options say, and the time between two lines; BadInput with all faults."""
    faults = _Options()
    scenario = _scenario(asked, faults)
    sticky = faults.read("--sticky", asked.sticky, _sticky)
    transit_ns = faults.read("--transit", asked.transit, parse_duration_ns)
    every_ns = faults.read("--every", asked.every, _between_lines)
    faults.choice("--held", asked.held, ("keep", "drop"))
    if asked.sticky and asked.partitioning not in {None, "sticky"}:
        faults.append(Fault("--sticky", f"cannot be combined with --partitioning {asked.partitioning}", "Remove one"))
    if asked.figure:
        faults += _undrawable(asked.figure)
    model = None
    if scenario and not faults:
        try:
            model = model_of(scenario)
        except BadInput as error:
            faults += [_renamed(fault, asked) for fault in error.faults]
    if model and every_ns and model.measure_ns // every_ns > MOST_ROWS:
        faults.append(Fault("--every", f"prints more than {MOST_ROWS:,} lines", "Write a longer time"))
    if faults or scenario is None or model is None or every_ns is None:
        raise BadInput(faults)
    if asked.partitioning == "random":
        sticky = Sticky(lasts_ns=0)
    model = replace(model, sticky=sticky) if sticky else model
    model = replace(model, transit_ns=transit_ns) if transit_ns is not None else model
    if asked.held is not None:
        model = replace(model, held="drop" if asked.held == "drop" else "keep")
    return scenario, model, every_ns


class _Options(Faults):
    """Faults of options as they are found."""

    def read(self, option: str, text: str | None, parse: Callable[[str], _Found]) -> _Found | None:
        """What an option says; None where it was not given, or is wrong, which is kept."""
        if text is None:
            return None
        try:
            return parse(text)
        except BadValue as error:
            self.append(error.at(option, shown(option, text)))
            return None

    def choice(self, option: str, text: str | None, known: Sequence[str]) -> None:
        """Keep the fault of a word that is not known."""
        if text is not None and text not in known:
            self.append(Fault(option, f"{shown(option, text)} is not known", f"Write one of {', '.join(known)}"))


def _scenario(asked: Asked, faults: _Options) -> Scenario | None:
    """The scenario that the options make of the one that is named, or of the plain one."""
    base: Mapping[str, Any] = PLAIN
    if asked.scenario is not None:
        named, wrong = read_scenario(asked.scenario, asked.settings)
        faults += wrong
        if named is None or wrong:
            return None
        base = document(named)
    elif asked.settings:
        faults.append(Fault("--set", "needs --scenario", "Name a scenario, or use the other options"))
    made = json.loads(json.dumps(base))
    for path, value in _changes(asked, base, faults):
        _put(made, path.split("."), value)
    scenario, wrong = examine(made)
    faults += [_renamed(fault, asked) for fault in wrong]
    return scenario


def _put(mapping: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    for key in keys[:-1]:
        below = mapping.get(key)
        mapping[key] = below if isinstance(below, dict) else {}
        mapping = mapping[key]
    mapping[keys[-1]] = value


def _changes(asked: Asked, base: Mapping[str, Any], faults: _Options) -> Iterator[tuple[str, Any]]:
    """What the options change in a scenario: paths and values."""
    plain = {
        "topic.partitions": asked.partitions,
        "phases.measure": asked.duration,
        "load.producers": asked.producers,
        "lag.every": asked.sampling,
        "seed": asked.seed,
    }
    yield from ((path, value) for path, value in plain.items() if value is not None)
    if asked.commit:
        yield "consume.commit", asked.commit if asked.commit == "never" else {"interval": asked.commit}
    yield from _partition(asked, faults)
    yield from _policy(asked, base, faults)
    moments = _moments(asked.change, faults)
    yield from _rates(asked, base, moments, faults)
    yield from _processing(asked, base, moments, faults)


def _partition(asked: Asked, faults: _Options) -> Iterator[tuple[str, Any]]:
    words = {"round-robin": "round-robin", "sticky": "client", "random": "client"}
    faults.choice("--partitioning", asked.partitioning, tuple(words))
    how = asked.partitioning or ("sticky" if asked.sticky else None)
    if how in words:
        yield "load.partition", words[how]


def _policy(asked: Asked, base: Mapping[str, Any], faults: _Options) -> Iterator[tuple[str, Any]]:
    """The policy that is named, or that the limits mean, on top of the same one of the scenario."""
    limits = {
        "hysteresis": {"max_lag": asked.max_lag, "resume_lag": asked.resume_lag, "poll": asked.poll},
        "credit": {"limit": asked.limit, "poll": asked.poll},
    }
    faults.choice("--policy", asked.policy, ("off", *limits))
    meant = [name for name, said in limits.items() if any(said[key] is not None for key in said if key != "poll")]
    there = _part(base, "backpressure")
    names = [asked.policy] if asked.policy else meant or [name for name in there if asked.poll]
    for name in meant if asked.policy else ():
        if name != asked.policy:
            faults.append(Fault(f"--policy {asked.policy}", f"has no limits of {name}", "Remove one of them"))
    if len(names) > 1:
        faults.append(Fault("--max-lag, --limit", "select two policies", "Remove one of them"))
        return
    if not names and asked.poll:
        faults.append(Fault("--poll", "no policy is given", "Use --max-lag or --limit"))
    if asked.policy == "off":
        yield "backpressure", "off"
    elif names and all(name in limits for name in names):
        yield "backpressure", {name: there.get(name, {}) | _said(limits[name]) for name in names}
    if "credit" in names:
        # How producers try again is no part of the model.
        yield "load.client.retries", 0


def _part(mapping: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A part of a scenario; empty where it is off."""
    part = mapping.get(key)
    return part if isinstance(part, dict) else {}


def _said(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class _Moment:
    """What changes at a moment."""

    at_ns: int
    said: Mapping[str, str]


def _moments(changes: Sequence[str], faults: _Options) -> list[_Moment]:
    found = [moment for text in changes if (moment := faults.read("--change", text, _moment))]
    return sorted(found, key=lambda moment: moment.at_ns)


def _moment(text: str) -> _Moment:
    """`8s:rate=5k/s,capacity=16k/s`; BadValue for anything else."""
    at, colon, rest = text.partition(":")
    pairs = [each.partition("=") for each in rest.split(",")]
    said = {key.strip(): value.strip() for key, _, value in pairs}
    if not colon or not all(value for _, _, value in pairs) or not said.keys() <= {"rate", "capacity", "delay"}:
        raise BadValue("not a change", "Write a time and rate, capacity or delay, like 8s:capacity=16k/s")
    if {"capacity", "delay"} <= said.keys():
        raise BadValue("capacity and delay exclude each other", "Write one of them")
    at_ns = parse_duration_ns(at.strip())
    if at_ns == 0:
        raise BadValue("changes a value before it exists", "Write a later time, or --rate and --capacity")
    return _Moment(at_ns, said)


def _rates(
    asked: Asked, base: Mapping[str, Any], moments: Sequence[_Moment], faults: _Options
) -> Iterator[tuple[str, Any]]:
    """The rate, as segments where it changes."""
    rate = asked.rate if asked.rate is not None else _part(base, "load").get("rate")
    changing = [moment for moment in moments if "rate" in moment.said]
    if not changing:
        yield from [("load.rate", asked.rate)] if asked.rate is not None else []
        return
    if not isinstance(rate, str) or faults.read("--rate", rate, parse_rate_per_second) is None:
        faults.append(Fault("--change", "the scenario's rate has a shape, or none", "Use --rate, or leave it out"))
        return
    for moment in changing:
        faults.read("--change", moment.said["rate"], parse_rate_per_second)
    ends = [moment.at_ns for moment in changing] + [changing[-1].at_ns + NS_PER_SECOND]
    begins, levels = [0, *ends], [rate, *(moment.said["rate"] for moment in changing)]
    lasting = [format_duration(end - begin) for begin, end in zip(begins, ends, strict=False)]
    yield "load.rate", [{"rate": level, "for": each} for level, each in zip(levels, lasting, strict=True)]


def _processing(
    asked: Asked, base: Mapping[str, Any], moments: Sequence[_Moment], faults: _Options
) -> Iterator[tuple[str, Any]]:
    """What consumers do with messages; a capacity is shared evenly by the slots."""
    if asked.capacity is not None and (asked.delay is not None or asked.jitter is not None):
        faults.append(Fault("--capacity", "cannot be combined with --delay and --jitter", "Remove one of them"))
    there = _part(_part(base, "consume"), "processing")
    slots = asked.slots or there.get("slots") or asked.partitions or base["topic"]["partitions"]
    if asked.capacity is not None:
        delay = faults.read("--capacity", asked.capacity, lambda text: _delay(text, slots))
        yield "consume.processing.delay", delay or "1ms"
        yield "consume.processing.jitter", "0s"
    yield from [("consume.processing.delay", asked.delay)] if asked.delay is not None else []
    yield from [("consume.processing.jitter", asked.jitter)] if asked.jitter is not None else []
    if asked.slots is not None:
        yield "consume.consumers", 1
        yield "consume.processing.order", "slots"
        yield "consume.processing.slots", asked.slots
    elif asked.capacity is not None and "slots" not in there:
        yield "consume.processing.order", "partitions"
    changing = [moment for moment in moments if moment.said.keys() & {"capacity", "delay"}]
    if changing:
        yield (
            "consume.processing.changes",
            [{"at": format_duration(moment.at_ns), "delay": _delay_at(moment, slots, faults)} for moment in changing],
        )


def _delay_at(moment: _Moment, slots: int, faults: _Options) -> str:
    if "delay" in moment.said:
        return moment.said["delay"]
    return faults.read("--change", moment.said["capacity"], lambda text: _delay(text, slots)) or "1ms"


def _delay(capacity: str, slots: int) -> str:
    """What a message takes where so many slots together process `capacity`; BadValue."""
    try:
        rate = parse_rate_per_second(capacity)
    except BadValue as error:
        raise BadValue("not a rate", "Write messages a second like 4k/s") from error
    if rate == 0:
        raise BadValue("a capacity of 0", "Write one like 4k/s")
    return format_duration(round(slots * NS_PER_SECOND / rate))


def _sticky(text: str) -> Sticky:
    """`10ms` or `25`; BadValue."""
    if text.strip()[-1:].isdecimal():
        messages = parse_count(text)
        if messages == 0:
            raise BadValue("0 messages", "Write a number like 25, or a time like 10ms")
        return Sticky(messages=messages)
    return Sticky(lasts_ns=parse_duration_ns(text))


def _between_lines(text: str) -> int:
    every_ns = parse_duration_ns(text)
    if every_ns < TICK_NS:
        raise BadValue(f"less than {format_duration(TICK_NS)}", "Write a longer time")
    return every_ns


def _undrawable(path: Path) -> Iterator[Fault]:
    """Why a figure cannot be written to a file."""
    if path.suffix.removeprefix(".") not in KINDS:
        yield Fault(
            f"--figure {one_line(str(path))}", "not a format of figures", "Write FILE.svg, FILE.png or FILE.pdf"
        )
    if not path.parent.is_dir():
        yield Fault(f"--figure {one_line(str(path))}", "there is no such folder", "Create it, or name another")


def _renamed(fault: Fault, asked: Asked) -> Fault:
    """A fault by the name of the option that it comes from; those of a scenario's own keys stay as they are."""
    where = next(
        (option for path, option in _OPTIONS.items() if fault.where == path or fault.where.startswith(f"{path}.")),
        fault.where,
    )
    return fault if asked.scenario and not _given(where, asked) else replace(fault, where=where)


def _given(option: str, asked: Asked) -> bool:
    name = option.partition(",")[0].removeprefix("--").replace("-", "_")
    return getattr(asked, name, None) not in {None, ()}
