"""What librdkafka has against client settings, asked before anything starts."""

from collections.abc import Mapping
from typing import Any, Final

import confluent_kafka as ck
from confluent_kafka import KafkaException

from streamgauge.domain.errors import Fault
from streamgauge.domain.text.secrets import without_secrets
from streamgauge.domain.text.shown import shown
from streamgauge.kafka.clients.messages import log, words_of

_SEE_CONFIGURATION: Final = "Names and values are those of librdkafka's CONFIGURATION.md"
_NO_SUCH: Final = "No such configuration property"
_TOGETHER: Final = "Failed to create"
"""How librdkafka begins when each setting is right by itself, but not all of them together."""

Settings = Mapping[str, str | int | float | bool]
NO_SETTINGS: Final[Settings] = {}


def producer_faults(where: str, settings: Settings, connection: Settings = NO_SETTINGS) -> list[Fault]:
    """What librdkafka has against these settings of a producer, one fault for each; opens no connection.

    `connection` is what the client is given beside them.
    """
    return _faults(where, settings, ck.Producer, connection)


def consumer_faults(where: str, settings: Settings, connection: Settings = NO_SETTINGS) -> list[Fault]:
    """What librdkafka has against these settings of a consumer, one fault for each; opens no connection.

    `connection` is what the client is given beside them.
    """
    return _faults(where, settings, ck.Consumer, {**connection, "group.id": "check"})


def _faults(where: str, settings: Settings, kind: type[Any], needed: Settings) -> list[Fault]:
    """Each setting alone, then those that are right all together, for what contradicts each other."""
    faults = []
    right = dict(settings)
    for name, value in settings.items():
        text = _refusal(kind, {**needed, name: value})
        if text and text.startswith(_NO_SUCH):
            faults.append(Fault(f"{where}.{name}", text, _SEE_CONFIGURATION))
        elif text and not text.startswith(_TOGETHER):
            faults.append(Fault(f"{where}.{name}", f"{shown(name, value)}: {text}", _SEE_CONFIGURATION))
        else:
            continue
        del right[name]
    if text := _refusal(kind, {**needed, **right}):
        faults.append(Fault(where, text, _SEE_CONFIGURATION))
    return faults


def _refusal(kind: type[Any], settings: Settings) -> str | None:
    try:
        kind(dict(settings), logger=log)
    except KafkaException as error:
        return without_secrets(" ".join(words_of(error).split()), settings)
    except (TypeError, ValueError) as error:
        return without_secrets(str(error), settings)
    return None
