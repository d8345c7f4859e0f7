"""What the options of `streamgauge simulate` say about load and processing, and when they change."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamgauge.cli.simulate.options import OptionFaults, SimulationOptions, part_of
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadValue, Fault
from streamgauge.domain.text.quantities import (
    format_duration,
    parse_duration_ns,
    parse_rate_per_second,
)


@dataclass(frozen=True, slots=True)
class _Moment:
    """What changes at a moment."""

    at_ns: int
    said: Mapping[str, str]


def changes_of(changes: Sequence[str], faults: OptionFaults) -> list[_Moment]:
    """The changes that `--change` asks for, by time."""
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


def rates(
    options: SimulationOptions, base: Mapping[str, Any], moments: Sequence[_Moment], faults: OptionFaults
) -> Iterator[tuple[str, Any]]:
    """The rate, as segments where it changes."""
    rate = options.rate if options.rate is not None else part_of(base, "load").get("rate")
    changing = [moment for moment in moments if "rate" in moment.said]
    if not changing:
        yield from [("load.rate", options.rate)] if options.rate is not None else []
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


def processing(
    options: SimulationOptions, moments: Sequence[_Moment], slots: int, faults: OptionFaults
) -> Iterator[tuple[str, Any]]:
    """What consumers do with messages; a capacity is shared evenly by so many slots of all of them."""
    if options.capacity is not None and (options.delay is not None or options.jitter is not None):
        faults.append(Fault("--capacity", "cannot be combined with --delay and --jitter", "Remove one of them"))
    if options.capacity is not None:
        delay = faults.read("--capacity", options.capacity, lambda text: _delay(text, slots))
        yield "consume.processing.delay", delay or "1ms"
        yield "consume.processing.jitter", "0s"
    yield from [("consume.processing.delay", options.delay)] if options.delay is not None else []
    yield from [("consume.processing.jitter", options.jitter)] if options.jitter is not None else []
    if options.slots is not None:
        yield "consume.consumers", 1
        yield "consume.processing.order", "slots"
        yield "consume.processing.slots", options.slots
    changing = [moment for moment in moments if moment.said.keys() & {"capacity", "delay"}]
    if changing:
        yield (
            "consume.processing.changes",
            [{"at": format_duration(moment.at_ns), "delay": _delay_at(moment, slots, faults)} for moment in changing],
        )


def _delay_at(moment: _Moment, slots: int, faults: OptionFaults) -> str:
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
