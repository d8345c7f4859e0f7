"""What librdkafka has against client settings, asked before anything starts; it opens no connection to tell."""

import contextlib
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import confluent_kafka as ck
from confluent_kafka import KafkaException

from streamgauge.domain.blocks import Settings as Settings
from streamgauge.domain.errors import Fault
from streamgauge.domain.text.secrets import without_secrets
from streamgauge.domain.text.shown import shown
from streamgauge.kafka.clients.messages import words_of
from streamgauge.scenario.contradictory.contradictions import OWNED_SETTINGS
from streamgauge.scenario.misplaced.places import close_setting

SEE_CONFIGURATION: Final = "Names and values are those of librdkafka's CONFIGURATION.md"
_NO_SUCH: Final = "No such configuration property"
_TOGETHER: Final = "Failed to create"
"""How librdkafka begins when each setting is right by itself, but not all of them together."""
JAVAS: Final = "is a setting of the Java client"
_PEM: Final = "Leave it out: `ssl.ca.location` takes a PEM file"
_BYTES: Final = "Leave it out: keys and values are bytes"
JAVA_NAMES: Final[Mapping[str, str]] = {
    "buffer.memory": "Write `queue.buffering.max.kbytes` instead, in KiB",
    "max.block.ms": "Leave it out: time blocked by a full queue is recorded",
    "max.request.size": "Write `message.max.bytes` instead",
    "compression.gzip.level": "Write `compression.level` instead",
    "compression.lz4.level": "Write `compression.level` instead",
    "compression.zstd.level": "Write `compression.level` instead",
    "key.serializer": _BYTES,
    "value.serializer": _BYTES,
    "key.deserializer": _BYTES,
    "value.deserializer": _BYTES,
    "partitioner.class": "Write `partitioner` instead, like murmur2_random",
    "fetch.max.wait.ms": "Write `fetch.wait.max.ms` instead",
    "default.api.timeout.ms": "Write `socket.timeout.ms` instead",
    "send.buffer.bytes": "Write `socket.send.buffer.bytes` instead",
    "receive.buffer.bytes": "Write `socket.receive.buffer.bytes` instead",
    "socket.connection.setup.timeout.max.ms": "Write `socket.connection.setup.timeout.ms` instead",
    "interceptor.classes": "Leave it out: librdkafka does not use Java classes",
    "metric.reporters": "Leave it out: the run records the client's statistics",
    "sasl.jaas.config": "Write `sasl.username` and `sasl.password` instead",
    "sasl.login.callback.handler.class": "Leave it out and set `sasl.oauthbearer.method=oidc`",
    "ssl.truststore.location": "Write `ssl.ca.location` with a PEM file instead",
    "ssl.truststore.certificates": "Write `ssl.ca.pem` instead",
    "ssl.truststore.password": f"{_PEM} without a password",
    "ssl.truststore.type": _PEM,
    "ssl.keystore.type": "Leave it out: `ssl.keystore.location` takes a PKCS#12 file",
    "ssl.keystore.key": "Write `ssl.key.pem` instead",
    "ssl.keystore.certificate.chain": "Write `ssl.certificate.pem` instead",
}
"""Names of the Java client that people bring along and librdkafka does not take, and what to write instead."""
_IGNORED: Final = re.compile(r"property (\S+) is a (producer|consumer) property and will be ignored")
"""What a client logs about a setting that has no effect on it; the name is the one that librdkafka uses."""
HOMES: Final = {"producer": "load.client", "consumer": "consume.client"}
"""Where a scenario has the settings of one side."""
_GROUP: Final[Settings] = {"group.id": "check"}
# Clients that are only made to be refused say nothing.
_quiet: Final = logging.getLogger("streamgauge.kafka.clients.settings")
_quiet.setLevel(logging.CRITICAL)

NO_SETTINGS: Final[Settings] = {}


def producer_faults(where: str, settings: Settings, connection: Settings = NO_SETTINGS) -> list[Fault]:
    """What librdkafka has against these settings of a producer, one fault for each.

    `connection` is what the client is given beside them.
    """
    return _faults(where, settings, ck.Producer, connection)


def consumer_faults(where: str, settings: Settings, connection: Settings = NO_SETTINGS) -> list[Fault]:
    """What librdkafka has against these settings of a consumer, one fault for each.

    `connection` is what the client is given beside them.
    """
    return _faults(where, settings, ck.Consumer, {**connection, **_GROUP})


def objection(
    name: str, value: str | int | float | bool, kind: type[Any] = ck.Producer, needed: Settings = NO_SETTINGS
) -> tuple[str, str] | None:
    """What is wrong with one setting by itself, and what mends it. Producers know the names of consumers, too."""
    dotted = _dotted(name)
    if (java := JAVA_NAMES.get(name) or JAVA_NAMES.get(dotted)) is not None:
        return JAVAS, java
    text = refusal({**needed, name: value}, kind)
    if text is None or text.startswith(_TOGETHER):
        return None
    near = None
    if text.startswith(_NO_SUCH):
        is_known = not (refusal({**needed, dotted: value}, kind) or "").startswith(_NO_SUCH)
        near = dotted if is_known else close_setting(name)
    return text, f"Did you mean `{near}`? {SEE_CONFIGURATION}" if near else SEE_CONFIGURATION


def without_effect(settings: Settings, kind: type[Any], needed: Settings = NO_SETTINGS) -> Iterator[tuple[str, str]]:
    """The settings that a client of this kind takes and ignores: the name of each, and whose setting it is."""
    if not settings:
        return
    known = _ignored(needed, kind)
    if _ignored({**needed, **settings}, kind) == known:
        return
    # A client tells them by librdkafka's own names: `queue.buffering.max.ms` for `linger.ms`.
    for name, value in settings.items():
        for _, whose in _ignored({**needed, name: value}, kind) - known:
            yield name, whose


def one_side(name: str, value: str) -> str | None:
    """Whose setting it is, where only producers or only consumers heed it; None where both do, or neither takes it."""
    ignored = [*without_effect({name: value}, ck.Producer), *without_effect({name: value}, ck.Consumer, _GROUP)]
    return ignored[0][1] if ignored else None


def _ignored(settings: Settings, kind: type[Any]) -> set[tuple[str, str]]:
    """What a new client logs that it ignores, and whose setting each is; nothing where it refuses its settings."""
    told = _Told()
    logger = logging.getLogger(f"{__name__}.ignored")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.handlers = [told]
    try:
        client = kind(dict(settings), logger=logger)
    except (KafkaException, TypeError, ValueError):
        return set()
    # The client keeps what it logs until it is asked for events; a share consumer tells it, and refuses to be asked.
    with contextlib.suppress(RuntimeError):
        client.poll(0)
    return {(found[1], found[2]) for line in told.lines if (found := _IGNORED.search(line))}


class _Told(logging.Handler):
    """Keeps the lines that a client logs."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        self.lines.append(record.getMessage())


def _dotted(name: str) -> str:
    """A name as librdkafka writes it: `bufferMemory` and `buffer_memory` as `buffer.memory`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-_]", ".", name).lower()


def refusal(settings: Settings, kind: type[Any] = ck.Producer) -> str | None:
    """What librdkafka has against settings together; no secret of theirs is in it."""
    try:
        kind(dict(settings), logger=_quiet)
    except KafkaException as error:
        return without_secrets(" ".join(words_of(error).split()), settings)
    except (TypeError, ValueError) as error:
        # Settings that are functions in Python, like `error_cb`.
        return without_secrets(str(error), settings)
    return None


def _faults(where: str, settings: Settings, kind: type[Any], needed: Settings) -> list[Fault]:
    """Each setting alone, then those that are right all together, for what contradicts each other.

    Settings that the run decides are left out: the scenario has refused them already, whatever their value is.
    """
    faults = []
    given = {name: value for name, value in settings.items() if name not in OWNED_SETTINGS}
    right = dict(given)
    for name, value in given.items():
        if wrong := objection(name, value, kind, needed):
            what, mend = wrong
            told = what if what.startswith((_NO_SUCH, JAVAS)) else f"{shown(name, value)}: {what}"
            faults.append(Fault(f"{where}.{name}", told, mend))
            del right[name]
    if text := refusal({**needed, **right}, kind):
        faults.append(Fault(where, text, SEE_CONFIGURATION))
    return faults + [misplaced_setting(where, name, whose) for name, whose in without_effect(right, kind, needed)]


def misplaced_setting(where: str, name: str, whose: str) -> Fault:
    """The fault of a setting of producers among those of consumers, or the other way round."""
    home = f"{HOMES[whose]}.{name}"
    return Fault(f"{where}.{name}", f"is a setting of {whose}s and has no effect here", f"Its place is `{home}`")
