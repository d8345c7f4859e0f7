"""Faults that lie between fields of a scenario, each of which is right by itself."""

from collections.abc import Iterator, Mapping
from typing import Final

from streamgauge.domain import stamp
from streamgauge.domain.errors import Fault
from streamgauge.domain.expect import parse_bound
from streamgauge.domain.scenario.load import Load
from streamgauge.domain.scenario.model import Scenario
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
    "client.id": "workers are named by their role",
}
"""Client settings that the run decides, and what to do instead."""


def contradictions(scenario: Scenario) -> Iterator[Fault]:
    """Faults that lie between fields, each of which is right by itself."""
    if scenario.load is None and scenario.consume is None:
        yield Fault("load, consume", "both are off, so nothing would happen", "Leave at least one of them on")
    if scenario.phases.measure == 0:
        yield Fault("phases.measure", "0s leaves nothing to measure", "Write a duration like 30s")
    if scenario.phases.drain == 0:
        yield Fault("phases.drain", "0s gives no message the time to arrive", "Write a duration like 30s")
    if scenario.load:
        yield from _owned("load.client", scenario.load.client)
        yield from _acks(scenario.load.client)
        yield from _too_large(scenario.load)
        if scenario.load.stamp == "value" and scenario.load.size < stamp.SIZE:
            yield Fault(
                "load.stamp",
                f"a value of {scenario.load.size} bytes has no room for a stamp of {stamp.SIZE}",
                f"Write `stamp: headers`, or a size of at least {stamp.SIZE}",
            )
    if scenario.consume:
        yield from _owned("consume.client", scenario.consume.client)
    yield from _expected(scenario.expect)


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
    if isinstance(limit, int) and load.size > limit:
        yield Fault(
            "load.size",
            f"{load.size} bytes are more than the client sends in one message ({limit})",
            "Write a smaller size, or raise `message.max.bytes` in load.client and the topic's `max.message.bytes`",
        )
