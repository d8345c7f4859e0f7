"""From the options of `simulate lag` to a scenario and its model: everything that can be wrong is found at once."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any, Final

from streamgauge.cli.simulate.loads import changes_of, processing, rates
from streamgauge.cli.simulate.options import OptionFaults, SimulationOptions, part_of
from streamgauge.control.simulation import TICK_NS, LagModel, Sticky, model_of, slots_of
from streamgauge.domain.errors import BadInput, BadValue, Fault
from streamgauge.domain.text.quantities import (
    format_duration,
    parse_count,
    parse_duration_ns,
)
from streamgauge.domain.text.shown import one_line
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


def checked(options: SimulationOptions) -> tuple[Scenario, LagModel, int]:
    """The scenario and the model that the options say, and the time between two lines; BadInput with all faults."""
    faults = OptionFaults()
    scenario = _scenario(options, faults)
    sticky = faults.read("--sticky", options.sticky, _sticky)
    transit_ns = faults.read("--transit", options.transit, parse_duration_ns)
    every_ns = faults.read("--every", options.every, _between_lines)
    faults.choice("--held", options.held, ("keep", "drop"))
    if options.sticky and options.partitioning not in {None, "sticky"}:
        faults.append(Fault("--sticky", f"cannot be combined with --partitioning {options.partitioning}", "Remove one"))
    if options.figure:
        faults += _undrawable(options.figure)
    model = None
    if scenario and not faults:
        try:
            model = model_of(scenario)
        except BadInput as error:
            faults += [_renamed(fault, options) for fault in error.faults]
    if model and every_ns and model.measure_ns // every_ns > MOST_ROWS:
        faults.append(Fault("--every", f"prints more than {MOST_ROWS:,} lines", "Write a longer time"))
    if faults or scenario is None or model is None or every_ns is None:
        raise BadInput(faults)
    if options.partitioning == "random":
        sticky = Sticky(lasts_ns=0)
    model = replace(model, sticky=sticky) if sticky else model
    model = replace(model, transit_ns=transit_ns) if transit_ns is not None else model
    if options.held is not None:
        model = replace(model, held="drop" if options.held == "drop" else "keep")
    return scenario, model, every_ns


def _scenario(options: SimulationOptions, faults: OptionFaults) -> Scenario | None:
    """The scenario that the options make of the one that is named, or of the plain one."""
    base: Mapping[str, Any] = PLAIN
    if options.scenario is not None:
        named, wrong = read_scenario(options.scenario, options.settings)
        faults += wrong
        if named is None or wrong:
            return None
        base = document(named)
    elif options.settings:
        faults.append(Fault("--set", "needs --scenario", "Name a scenario, or use the other options"))
    scenario, wrong = examine(_made(options, base, 1, faults))
    if scenario and not faults:
        # What a message takes follows from a capacity and the slots, and these from all other options.
        scenario, wrong = examine(_made(options, base, prod(slots_of(scenario)), faults))
    faults += [_renamed(fault, options) for fault in wrong]
    return scenario


def _made(options: SimulationOptions, base: Mapping[str, Any], slots: int, faults: OptionFaults) -> dict[str, Any]:
    """A scenario as the options change it, where consumers have so many slots."""
    made: dict[str, Any] = json.loads(json.dumps(base))
    for path, value in _changes(options, base, slots, faults):
        _put(made, path.split("."), value)
    return made


def _put(mapping: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    for key in keys[:-1]:
        below = mapping.get(key)
        mapping[key] = below if isinstance(below, dict) else {}
        mapping = mapping[key]
    mapping[keys[-1]] = value


def _changes(
    options: SimulationOptions, base: Mapping[str, Any], slots: int, faults: OptionFaults
) -> Iterator[tuple[str, Any]]:
    """What the options change in a scenario: paths and values."""
    plain = {
        "topic.partitions": options.partitions,
        "phases.measure": options.duration,
        "load.producers": options.producers,
        "lag.every": options.sampling,
        "seed": options.seed,
    }
    yield from ((path, value) for path, value in plain.items() if value is not None)
    if options.commit:
        yield "consume.commit", options.commit if options.commit == "never" else {"interval": options.commit}
    yield from _partition(options, faults)
    yield from _policy(options, base, faults)
    moments = changes_of(options.change, faults)
    yield from rates(options, base, moments, faults)
    yield from processing(options, moments, slots, faults)


def _partition(options: SimulationOptions, faults: OptionFaults) -> Iterator[tuple[str, Any]]:
    words = {"round-robin": "round-robin", "sticky": "client", "random": "client"}
    faults.choice("--partitioning", options.partitioning, tuple(words))
    how = options.partitioning or ("sticky" if options.sticky else None)
    if how in words:
        yield "load.partition", words[how]


def _policy(options: SimulationOptions, base: Mapping[str, Any], faults: OptionFaults) -> Iterator[tuple[str, Any]]:
    """The policy that is named, or that the limits mean, on top of the same one of the scenario."""
    limits = {
        "hysteresis": {"max_lag": options.max_lag, "resume_lag": options.resume_lag, "poll": options.poll},
        "credit": {"limit": options.limit, "poll": options.poll},
    }
    faults.choice("--policy", options.policy, ("off", *limits))
    meant = [name for name, said in limits.items() if any(said[key] is not None for key in said if key != "poll")]
    there = part_of(base, "backpressure")
    names = [options.policy] if options.policy else meant or [name for name in there if options.poll]
    for name in meant if options.policy else ():
        if name != options.policy:
            faults.append(Fault(f"--policy {options.policy}", f"has no limits of {name}", "Remove one of them"))
    if len(names) > 1:
        faults.append(Fault("--max-lag, --limit", "select two policies", "Remove one of them"))
        return
    if not names and options.poll:
        faults.append(Fault("--poll", "no policy is given", "Use --max-lag or --limit"))
    if options.policy == "off":
        yield "backpressure", "off"
    elif names and all(name in limits for name in names):
        yield "backpressure", {name: there.get(name, {}) | _said(limits[name]) for name in names}
    if "credit" in names:
        # How producers try again is no part of the model.
        yield "load.client.retries", 0


def _said(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


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


def _renamed(fault: Fault, options: SimulationOptions) -> Fault:
    """A fault by the name of the option that it comes from; those of a scenario's own keys stay as they are."""
    where = next(
        (option for path, option in _OPTIONS.items() if fault.where == path or fault.where.startswith(f"{path}.")),
        fault.where,
    )
    return fault if options.scenario and not _given(where, options) else replace(fault, where=where)


def _given(option: str, options: SimulationOptions) -> bool:
    name = option.partition(",")[0].removeprefix("--").replace("-", "_")
    return getattr(options, name, None) not in {None, ()}
