"""Faults that lie between fields of a scenario, each of which is right by itself."""

from collections.abc import Iterator, Mapping
from typing import Final

from streamgauge.domain.errors import Fault
from streamgauge.domain.expect import parse_bound
from streamgauge.domain.scenario.consume import Consume
from streamgauge.domain.scenario.content import content_faults, largest_bytes
from streamgauge.domain.scenario.load import Load
from streamgauge.domain.scenario.model import Measure, Scenario
from streamgauge.domain.scenario.values import ClientSettings, Setting
from streamgauge.domain.shown import shown

DEFAULT_MAX_MESSAGE_BYTES = 1_000_000
"""`message.max.bytes` of the client when nobody sets it."""
_ACKS: Final = ("acks", "request.required.acks")

OWNED_SETTINGS: Mapping[str, str] = {
    "bootstrap.servers": "name the cluster with --bootstrap",
    "group.id": "every run makes a group of its own",
    "enable.auto.offset.store": "offsets are stored when their rows are recorded",
    "auto.offset.reset": "use consume.start",
    "enable.auto.commit": "use consume.commit",
    "client.id": "workers are named by their role",
    "transactional.id": "use load.transactions",
    "statistics.interval.ms": "the run asks for statistics itself",
    "enable.partition.eof": "the run decides whether it needs it",
}
"""Client settings that the run decides, and what to do instead."""


def contradictions(scenario: Scenario) -> Iterator[Fault]:
    """Faults that lie between fields, each of which is right by itself."""
    if scenario.load is None and scenario.consume is None and scenario.connections is None:
        yield Fault(
            "load, consume", "both are off, so nothing would happen", "Leave one of them on, or add connections"
        )
    if scenario.phases.measure_ns == 0:
        yield Fault("phases.measure", "0s leaves nothing to measure", "Write a duration like 30s")
    if scenario.phases.drain == 0:
        yield Fault("phases.drain", "0s gives no message the time to arrive", "Write a duration like 30s")
    if scenario.load:
        yield from _owned("load.client", scenario.load.client)
        yield from _acks(scenario.load.client)
        yield from _too_large(scenario.load)
        in_value = scenario.load.stamp == "value"
        yield from content_faults(scenario.load.payload, scenario.load.size, in_value=in_value)
        yield from _shared("load.processes", scenario.load.processes, scenario.load.producers, "producers")
        yield from _of_load(scenario, scenario.load)
    if scenario.consume:
        clients = scenario.consume.consumers * scenario.consume.groups
        yield from _owned("consume.client", scenario.consume.client)
        yield from _shared("consume.processes", scenario.consume.processes, clients, "consumers")
        yield from _of_consume(scenario, scenario.consume)
    yield from _ends(scenario)
    yield from _expected(scenario.expect)


def _shared(where: str, processes: int | None, clients: int, role: str) -> Iterator[Fault]:
    if processes is not None and processes > clients:
        yield Fault(where, f"{processes} processes for {clients} {role}", f"Write at most {clients}, or leave it out")


def _of_load(scenario: Scenario, load: Load) -> Iterator[Fault]:
    partitions = scenario.topic.partitions
    if isinstance(load.partition, int) and load.partition >= partitions:
        what = f"{load.partition}: the topic has the partitions 0 to {partitions - 1}"
        yield Fault("load.partition", what, "Name one of them, or raise topic.partitions")
    if load.transactions and load.resend:
        what = "a transaction in which a message failed must be aborted"
        yield Fault("load.resend", what, "Leave out load.resend or load.transactions")
    if load.transactions and load.is_closed:
        yield Fault(
            "load.transactions",
            "a closed loop already waits for the reports of every batch",
            "Write `rate: max` or a rate, or leave load.transactions out",
        )
    if load.flush and load.is_closed:
        what = "a closed loop already waits for the reports of every batch"
        yield Fault("load.flush", what, "Leave it out, and set the batch of the closed loop")


def _of_consume(scenario: Scenario, consume: Consume) -> Iterator[Fault]:
    partitions = scenario.topic.partitions
    wrong = [number for number in consume.partitions or () if number >= partitions]
    if wrong:
        what = f"{', '.join(map(str, wrong))}: the topic has the partitions 0 to {partitions - 1}"
        yield Fault("consume.partitions", what, "Name some of them, or raise topic.partitions")


def _ends(scenario: Scenario) -> Iterator[Fault]:
    """What ends the measure phase must be there."""
    if scenario.phases.is_drained and (scenario.load or not scenario.consume):
        what = "only a run that reads and sends nothing can be drained"
        yield Fault("phases.measure.drained", what, "Write a duration, or `load: off` and a `consume`")
    if scenario.phases.is_counted and not scenario.load:
        yield Fault("phases.measure", "nothing is sent that could be counted", "Write a duration, or {drained: true}")
    measure, load = scenario.phases.measure, scenario.load
    if isinstance(measure, Measure) and measure.bytes_per_partition and load and not load.mean_size_bytes:
        what = "how many bytes a message has on average is not known beforehand"
        yield Fault("phases.measure.bytes_per_partition", what, "Write {messages: ...}, or a duration")


def _expected(expect: Mapping[str, Setting]) -> Iterator[Fault]:
    for path, wanted in expect.items():
        try:
            parse_bound(wanted)
        except ValueError as error:
            what, _, mend = str(error).partition("; ")
            yield Fault(f"expect.{path}", f"{shown(path, wanted)}: {what}", mend[:1].upper() + mend[1:])


def _owned(where: str, settings: ClientSettings) -> Iterator[Fault]:
    for key in settings.keys() & OWNED_SETTINGS.keys():
        yield Fault(f"{where}.{key}", "is decided by the run", f"Leave it out: {OWNED_SETTINGS[key]}")


def _acks(settings: ClientSettings) -> Iterator[Fault]:
    """The client takes any number; brokers refuse every message that asks for another one."""
    for key in _ACKS:
        if key in settings and str(settings[key]) not in {"0", "1", "-1", "all"}:
            yield Fault(f"load.client.{key}", f"{shown(key, settings[key])}: no broker knows it", "Write 0, 1 or all")


def _too_large(load: Load) -> Iterator[Fault]:
    limit = load.client.get("message.max.bytes", DEFAULT_MAX_MESSAGE_BYTES)
    largest = largest_bytes(load.payload, load.size)
    if isinstance(limit, int) and largest > limit:
        yield Fault(
            "load.size",
            f"{largest} bytes are more than the client sends in one message ({limit})",
            "Write a smaller size, or raise `message.max.bytes` in load.client and the topic's `max.message.bytes`",
        )
