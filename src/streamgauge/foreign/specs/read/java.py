"""Settings of Kafka's Java client, as librdkafka has them; each is translated, left out with a reason, or refused."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from streamgauge.domain.text.secrets import is_secret
from streamgauge.domain.text.shown import one_line, shown
from streamgauge.foreign.specs.write.translation import Draft
from streamgauge.scenario.model.values import Setting

JavaEra = Literal["2", "3", "4"]
"""Major version of the client whose defaults are meant."""

_SAME: Final = frozenset(
    "acks linger.ms batch.size compression.type enable.idempotence retries retry.backoff.ms retry.backoff.max.ms"
    " request.timeout.ms delivery.timeout.ms max.in.flight.requests.per.connection transaction.timeout.ms"
    " client.dns.lookup client.rack metadata.max.age.ms connections.max.idle.ms reconnect.backoff.ms"
    " reconnect.backoff.max.ms socket.connection.setup.timeout.ms fetch.min.bytes fetch.max.bytes"
    " max.partition.fetch.bytes session.timeout.ms heartbeat.interval.ms max.poll.interval.ms isolation.level"
    " auto.commit.interval.ms check.crcs group.protocol group.instance.id group.remote.assignor"
    " allow.auto.create.topics enable.metrics.push".split()
)
_OWNED: Final[Mapping[str, str]] = {
    "group.id": "every run creates its own group",
    "client.id": "the run names its clients",
    "transactional.id": "the run names its transactions",
    "key.serializer": "keys and values are bytes",
    "value.serializer": "keys and values are bytes",
    "key.deserializer": "keys and values are bytes",
    "value.deserializer": "keys and values are bytes",
    "max.block.ms": "time blocked by a full queue is recorded, not limited",
    "max.poll.records": "a consumer takes what has arrived",
    "default.api.timeout.ms": "librdkafka limits each request instead",
    "metadata.max.idle.ms": "librdkafka keeps metadata of the topics in use",
    "partitioner.ignore.keys": "librdkafka's partitioners decide by their names",
    "partitioner.adaptive.partitioning.enable": "librdkafka's partitioners do not adapt to brokers",
    "partitioner.availability.timeout.ms": "librdkafka's partitioners do not adapt to brokers",
    "socket.connection.setup.timeout.max.ms": "librdkafka has one limit for all attempts",
    "metrics.num.samples": "the run records the client's statistics",
    "metrics.sample.window.ms": "the run records the client's statistics",
    "metrics.recording.level": "the run records the client's statistics",
    "auto.include.jmx.reporter": "the run records the client's statistics",
    "enable.auto.commit": "",
    "auto.offset.reset": "",
}
"""Settings that have no place among those of a client, and why; the last two have one elsewhere in a scenario."""
_ASKED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("request.timeout.ms", "default.api.timeout.ms"), "each request has 10 s"),
    **dict.fromkeys(("retries", "retry.backoff.ms", "retry.backoff.max.ms"), "a request is sent again for 10 s"),
}
"""Settings of an admin client that the run decides, and why."""
OF_PRODUCERS: Final = frozenset(
    "acks linger.ms batch.size compression.type compression.gzip.level compression.lz4.level compression.zstd.level"
    " enable.idempotence retries request.timeout.ms delivery.timeout.ms transaction.timeout.ms buffer.memory"
    " partitioner.class".split()
)
"""What consumers of librdkafka ignore; the run would refuse it among their settings."""
OF_CONSUMERS: Final = frozenset(
    "auto.commit.interval.ms check.crcs fetch.max.bytes fetch.min.bytes fetch.max.wait.ms group.instance.id"
    " group.protocol group.remote.assignor heartbeat.interval.ms isolation.level max.partition.fetch.bytes"
    " max.poll.interval.ms session.timeout.ms partition.assignment.strategy".split()
)
"""What producers of librdkafka ignore."""
_CLASSES: Final = frozenset({"interceptor.classes", "metric.reporters", "security.providers"})
_SECURITY: Final = ("security.", "sasl.", "ssl.")
_RENAMED: Final[Mapping[str, str]] = {
    "max.request.size": "message.max.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "compression.gzip.level": "compression.level",
    "compression.lz4.level": "compression.level",
    "compression.zstd.level": "compression.level",
}
_PARTITIONERS: Final[Mapping[str, str]] = {
    "DefaultPartitioner": "murmur2_random",
    "UniformStickyPartitioner": "random",
}
_ASSIGNORS: Final[Mapping[str, str]] = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
_ERAS: Final[Mapping[JavaEra, tuple[str, int]]] = {"2": ("1", 0), "3": ("all", 0), "4": ("all", 5)}
"""Defaults of acks and linger.ms; acks of all come with idempotence."""


@dataclass(slots=True)
class JavaClient:
    """What the settings of a Java client come to."""

    settings: dict[str, Setting] = field(default_factory=dict)
    partition: str | None = None
    """`load.partition`, where a partitioner says it."""
    start: str | None = None
    """`consume.start`."""
    commit: str | None = None
    """`consume.commit`."""


def consumer_client(draft: Draft, where: str, given: Mapping[str, Any]) -> JavaClient:
    """The settings of a consumer, by librdkafka's names; what is refused is a fault of the draft."""
    return java_client(draft, where, _without(draft, where, given, _ignored(OF_PRODUCERS, "consumers")))


def _ignored(names: Iterable[str], who: str) -> dict[str, str]:
    """Settings that a kind of client ignores, as where two kinds share a file, and that as the reason."""
    return dict.fromkeys(names, f"{who} of librdkafka ignore it")


def _without(draft: Draft, where: str, given: Mapping[str, Any], reasons: Mapping[str, str]) -> Mapping[str, Any]:
    """Settings without those that there are reasons to leave out."""
    for name in (each for each in given if each in reasons):
        draft.left_out(f"{where}.{name}", reasons[name])
    return {name: value for name, value in given.items() if name not in reasons}


def java_client(draft: Draft, where: str, given: Mapping[str, Any]) -> JavaClient:
    """The settings of a client, by librdkafka's names; what is refused is a fault of the draft."""
    client = JavaClient()
    for name, value in given.items():
        place = f"{where}.{one_line(name)}"
        if not isinstance(value, str | int | float | bool):
            draft.refuse(place, f"{shown(name, value)}: not a single value", "Write a text or a number")
        elif name == "bootstrap.servers":
            draft.cluster(place, str(value))
        elif name.startswith(_SECURITY) or is_secret(name):
            draft.left_out(
                place, "belongs to a cluster: write it into a file for --client-config, by librdkafka's name"
            )
        elif name in _CLASSES:
            draft.refuse(place, "names a Java class, which librdkafka cannot load", "Leave it out")
        else:
            _translated(draft, place, name, plain_setting(value), client)
    return client


def producer_settings(
    draft: Draft, where: str, given: Mapping[str, Any], era: JavaEra = "3"
) -> tuple[dict[str, Setting], str | None]:
    """Settings of a producer on top of the defaults of the Java client, and the partitions that it chooses, if any."""
    client = java_client(draft, where, _without(draft, where, given, _ignored(OF_CONSUMERS, "producers")))
    acks, linger = _ERAS[era]
    merged: dict[str, Setting] = {
        "acks": acks,
        "enable.idempotence": acks == "all",
        "linger.ms": linger,
        "batch.size": 16384,
        "max.in.flight.requests.per.connection": 5,
        **client.settings,
    }
    without = str(merged["acks"]) not in {"all", "-1"} or merged.get("retries") == 0
    if without and "enable.idempotence" not in client.settings:
        # The Java client switches it off by itself.
        merged["enable.idempotence"] = False
    if not merged["enable.idempotence"]:
        del merged["enable.idempotence"]
    return merged, client.partition


def admin_settings(draft: Draft, where: str, given: Mapping[str, Any]) -> dict[str, Setting]:
    """Settings of the client that creates topics."""
    reasons = {**_ASKED, **_ignored(OF_CONSUMERS, "admin clients")}
    return java_client(draft, where, _without(draft, where, given, reasons)).settings


def plain_setting(value: Setting) -> Setting:
    """A setting as YAML would have it: a text that is a whole number or a truth is one."""
    if isinstance(value, str):
        if re.fullmatch(r"-?\d{1,18}", value.strip()):
            return int(value)
        return {"true": True, "false": False}.get(value.strip().lower(), value.strip())
    return value


def _translated(draft: Draft, place: str, name: str, value: Setting, client: JavaClient) -> None:
    special = _SPECIAL.get(name)
    if special:
        special(draft, place, value, client)
    elif name in _SAME:
        client.settings[name] = value
    elif name in _RENAMED:
        renamed = _RENAMED[name]
        # -1 leaves a buffer to the system; librdkafka writes 0.
        client.settings[renamed] = 0 if value == -1 and renamed.startswith("socket.") else value
    elif why := _OWNED.get(name):
        draft.left_out(place, why)
    else:
        what = "not a setting of the Java client that has a counterpart"
        draft.refuse(place, what, "Leave it out, or write librdkafka's setting into the converted scenario")


def _buffer(draft: Draft, place: str, value: Setting, client: JavaClient) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        draft.refuse(place, f"{shown(place, value)}: not a number of bytes", "Write one like 33554432")
        return
    client.settings["queue.buffering.max.kbytes"] = max(1, value >> 10)
    draft.unit(place, f"{value} bytes are `queue.buffering.max.kbytes: {max(1, value >> 10)}`, in KiB")


def _partitioner(draft: Draft, place: str, value: Setting, client: JavaClient) -> None:
    short = str(value).rpartition(".")[2]
    if short == "RoundRobinPartitioner":
        client.partition = "round-robin"
    elif short in _PARTITIONERS:
        client.settings["partitioner"] = _PARTITIONERS[short]
    else:
        draft.refuse(place, f"{one_line(str(value))}: a Java class, which librdkafka cannot load", "Leave it out")


def _assignor(draft: Draft, place: str, value: Setting, client: JavaClient) -> None:
    names = [each.strip().rpartition(".")[2] for each in str(value).split(",")]
    if unknown := [each for each in names if each not in _ASSIGNORS]:
        draft.refuse(place, f"{one_line(unknown[0])}: librdkafka has no such assignor", f"Use {', '.join(_ASSIGNORS)}")
    else:
        client.settings["partition.assignment.strategy"] = ",".join(_ASSIGNORS[each] for each in names)


def _reset(draft: Draft, place: str, value: Setting, client: JavaClient) -> None:
    if value not in ("earliest", "latest"):
        draft.refuse(place, f"{shown(place, value)}: not earliest or latest", "Write one of them")
        return
    client.start = str(value)


def _auto_commit(draft: Draft, place: str, value: Setting, client: JavaClient) -> None:
    if not isinstance(value, bool):
        draft.refuse(place, f"{shown(place, value)}: not true or false", "Write one of them")
        return
    client.commit = "auto" if value else "never"


_SPECIAL: Final[Mapping[str, Callable[[Draft, str, Setting, JavaClient], None]]] = {
    "buffer.memory": _buffer,
    "partitioner.class": _partitioner,
    "partition.assignment.strategy": _assignor,
    "auto.offset.reset": _reset,
    "enable.auto.commit": _auto_commit,
}
