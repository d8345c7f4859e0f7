"""Settings of a share consumer, looked at before anything starts: the client takes some of them without a word."""

from typing import Any, Final

import confluent_kafka as ck

from streamgauge.domain.blocks import Settings
from streamgauge.domain.errors import Fault
from streamgauge.domain.text.shown import shown
from streamgauge.kafka.carriers.share.reader import EXPLICIT, MODE
from streamgauge.kafka.clients.settings import (
    NO_SETTINGS,
    SEE_CONFIGURATION,
    misplaced_setting,
    objection,
    refusal,
    without_effect,
)
from streamgauge.scenario.contradictory.contradictions import OWNED_SETTINGS

_FOR_OTHERS: Final = ("not applicable", "not supported")
_INSTEAD: Final = {"isolation.level": "use consume.acknowledge.share.isolation"}
_WITHOUT_EFFECT: Final = frozenset({"auto.commit.interval.ms", "enable.auto.offset.store"})
"""The client takes these, and commits nothing."""
_KIND: Final[Any] = ck.ShareConsumer


def share_faults(where: str, settings: Settings, connection: Settings = NO_SETTINGS) -> list[Fault]:
    """What is wrong with these settings of a share consumer, one fault for each; opens no connection to tell.

    `connection` is what the client is given beside them. What the run decides the scenario has refused already.
    """
    needed, faults = {**connection, "group.id": "check"}, []
    given = {name: value for name, value in settings.items() if name not in OWNED_SETTINGS}
    right = dict(given)
    for name, value in given.items():
        fault = _fault(name, value, needed)
        if fault is not None:
            what, mend = fault
            faults.append(Fault(f"{where}.{name}", what, mend))
            del right[name]
    if text := refusal({**needed, **right}, _KIND):
        faults.append(Fault(where, text, SEE_CONFIGURATION))
    return faults + [misplaced_setting(where, name, whose) for name, whose in without_effect(right, _KIND, needed)]


def _fault(name: str, value: str | int | float | bool, needed: Settings) -> tuple[str, str] | None:
    """What is wrong with one setting, and what mends it."""
    if name == MODE:
        return f"is set by the run: {EXPLICIT}", "Leave it out"
    if name in _WITHOUT_EFFECT:
        return "has no effect: a share consumer commits no offsets", "Leave it out"
    text = refusal({**needed, name: value}, _KIND) or ""
    if any(each in text for each in _FOR_OTHERS):
        instead = _INSTEAD.get(name)
        return "is no setting of a share consumer", f"Leave it out: {instead}" if instead else "Leave it out"
    wrong = objection(name, value, _KIND, needed)
    return None if wrong is None else (f"{shown(name, value)}: {wrong[0]}", wrong[1])
