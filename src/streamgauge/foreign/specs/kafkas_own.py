"""Command lines of Kafka's own tools: kafka-producer-perf-test, kafka-consumer-perf-test and kafka-e2e-latency."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.quantities import format_rate
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.read.flags import Arity, CommandFlags, read_flags
from streamgauge.foreign.specs.read.java import JavaEra, consumer_client, producer_settings
from streamgauge.foreign.specs.read.texts import command_words, read_properties
from streamgauge.foreign.specs.write.translation import Draft, Translation, duration, name_of, without_none
from streamgauge.scenario import SLOWEST

ReadBeside = Callable[[str], str]
"""Reads a file that a specification names; raises BadInput."""

PRODUCER: Final = "kafka-producer-perf-test"
CONSUMER: Final = "kafka-consumer-perf-test"
LATENCY: Final = "kafka-e2e-latency"
_CLASSES: Final = {"ProducerPerformance": PRODUCER, "ConsumerPerformance": CONSUMER, "EndToEndLatency": LATENCY}
_MOST_S: Final = 7 * 24 * 3600
_REPORTED: Final = "result.json and the report have it"

_PRODUCER_FLAGS: Final[Mapping[str, Arity]] = {
    "topic": "one", "num-records": "one", "record-size": "one", "payload-file": "one", "payload-monotonic": "none",
    "payload-delimiter": "one", "throughput": "one", "producer-props": "many", "producer.config": "one",
    "bootstrap-server": "one", "command-property": "many", "command-config": "one", "print-metrics": "none",
    "transactional-id": "one", "transaction-duration-ms": "one", "warmup-records": "one", "reporting-interval": "one",
}  # fmt: skip
_CONSUMER_FLAGS: Final[Mapping[str, Arity]] = {
    "bootstrap-server": "one", "broker-list": "one", "topic": "one", "include": "one", "messages": "one",
    "num-records": "one", "group": "one", "fetch-size": "one", "from-latest": "none", "socket-buffer-size": "one",
    "consumer.config": "one", "command-config": "one", "command-property": "many", "print-metrics": "none",
    "show-detailed-stats": "none", "timeout": "one", "reporting-interval": "one", "date-format": "one",
    "hide-header": "none", "threads": "one", "num-fetch-threads": "one",
}  # fmt: skip
_LATENCY_FLAGS: Final[Mapping[str, Arity]] = {
    "bootstrap-server": "one", "topic": "one", "num-records": "one", "producer-acks": "one", "record-size": "one",
    "command-config": "one", "record-key-size": "one", "num-headers": "one", "record-header-key-size": "one",
    "record-header-size": "one",
}  # fmt: skip
_LATENCY_WORDS: Final = ("bootstrap-server", "topic", "num-records", "producer-acks", "record-size", "command-config")


def tool_in(words: Sequence[str]) -> tuple[str, list[str]] | None:
    """Which of Kafka's tools a command calls, and its arguments; None for any other command."""
    for place, word in enumerate(words[:3]):
        name = re.sub(r"\.(sh|bat)$", "", re.split(r"[/\\]", word)[-1])
        if name in {PRODUCER, CONSUMER, LATENCY}:
            return name, list(words[place + 1 :])
        if tool := _CLASSES.get(name.rpartition(".")[2]):
            return tool, list(words[place + 1 :])
    return None


def kafkas_command(line: str, source: str, read: ReadBeside) -> Translation:
    """The scenario of one command line; raises BadInput."""
    found = tool_in(command_words(line, source))
    if found is None:
        what = "no command of Kafka's tools"
        raise BadInput.single(source, what, f"Begin with {PRODUCER}, {CONSUMER} or {LATENCY}")
    tool, arguments = found
    return _TOOLS[tool](Draft(source), arguments, read)


def _producer(draft: Draft, arguments: Sequence[str], read: ReadBeside) -> Translation:
    given = _flags(draft, arguments, _PRODUCER_FLAGS)
    fields = SpecFields(draft, given.options, "", PRODUCER)
    fields.required("topic", "num-records", "throughput")
    topic, records = fields.text("topic"), fields.whole("num-records", 1, least=1)
    throughput = fields.number("throughput", -1, least=-1e9)
    if throughput == 0:
        draft.refuse("throughput", "0: the tool would wait forever", "Write a rate, or -1 for as fast as possible")
    if 0 < throughput < SLOWEST:
        draft.refuse("throughput", f"below {SLOWEST} a second", "Write a higher rate")
        throughput = SLOWEST
    is_paced = throughput > 0
    settings = _settings(fields, draft, read, ("producer-props", "command-property"), ("producer.config",))
    id_given = fields.text("transactional-id") or settings.pop("transactional.id", None)
    client, partition = producer_settings(draft, "producer-props", settings, _era(fields))
    interval = fields.whole("transaction-duration-ms", 3000 if id_given else 0, least=0)
    fields.ignored("the run names its transactions", "transactional-id")
    fields.ignored(_REPORTED, "print-metrics", "reporting-interval")
    warmup_records = fields.whole("warmup-records", 0, least=0)
    load: dict[str, Any] = {
        "rate": format_rate(throughput) if is_paced else "max",
        "producers": 1,
        **_produced(fields, draft),
        "partition": partition,
        "transactions": {"interval": duration(interval)} if interval else None,
        "client": client,
    }
    fields.close()
    draft.differs("throughput", "messages have a due time here, and response time counts from it; theirs from the send")
    draft.differs("latency", "theirs is ours of acknowledgements (`latency.ack.service`), in whole ms")
    draft.differs("MB/sec", "theirs is MiB of values; ours is MB (10^6), and result.json has bytes")
    measured = max(1, records - warmup_records)
    if warmup_records:
        draft.differs("warmup-records", "a warm-up has a length here; its messages are not in the figures")
    warmup_s = warmup_records / throughput if is_paced else 5 if warmup_records else 0
    phases = {
        "warmup": _seconds(warmup_s),
        "measure": {"messages": measured, "at_most": _at_most(measured / throughput if is_paced else None)},
    }
    return draft.finished(
        "perf-test",
        PRODUCER,
        {
            "name": name_of("producer-perf-test", topic),
            "about": f"{records} records, as {PRODUCER} sends them.",
            "topic": {"name": topic, **_AS_IT_IS},
            "load": without_none(load),
            "consume": "off",
            "phases": phases,
        },
    )


def _produced(fields: SpecFields, draft: Draft) -> dict[str, Any]:
    """Sizes and contents: exactly one of the three options says them."""
    ways = [name for name in ("record-size", "payload-file", "payload-monotonic") if fields.has(name)]
    delimiter = fields.text("payload-delimiter", "\\n")
    if len(ways) != 1:
        draft.refuse("record-size", f"{len(ways)} kinds of payload", "Write one of record-size, payload-file")
        return {}
    if ways == ["payload-file"]:
        if delimiter not in {"\\n", "\n"}:
            draft.refuse("payload-delimiter", "entries of a file end with their lines here", "Write one entry a line")
        draft.differs("payload-file", "lines are sent in turn here, and chosen at random there")
        return {"payload": {"file": {"path": fields.text("payload-file")}}}
    if ways == ["payload-monotonic"]:
        fields.flag("payload-monotonic", True)
        draft.differs("payload-monotonic", "the number of a message is 8 bytes here, and decimal digits there")
        return {"size": 8, "payload": "sequential"}
    draft.differs("record-size", "values are random bytes here, and random letters from A to Z there, which compress")
    return {"size": fields.whole("record-size", 512, least=1), "payload": "random"}


def _consumer(draft: Draft, arguments: Sequence[str], read: ReadBeside) -> Translation:
    given = _flags(draft, arguments, _CONSUMER_FLAGS)
    fields = SpecFields(draft, given.options, "", CONSUMER)
    if fields.has("include"):
        draft.refuse("include", "a scenario names its topic", "Write --topic")
    count = fields.first("num-records", "messages")
    fields.required(count, *([] if fields.has("include") else ["topic"]))
    topic, messages = fields.text("topic"), fields.whole(count, 1, least=1)
    era = _era(fields)
    settings = _settings(fields, draft, read, ("command-property",), ("consumer.config",))
    client = consumer_client(draft, "consumer.config", settings)
    client.settings = {
        **client.settings,
        "max.partition.fetch.bytes": fields.whole("fetch-size", 1 << 20, least=1),
        "socket.receive.buffer.bytes": max(0, fields.whole("socket-buffer-size", 2 << 20, least=-1)),
        "check.crcs": False,
    }
    is_latest = fields.flag("from-latest", False)
    timeout_ms = fields.whole("timeout", 10_000, least=1)
    fields.ignored("every run creates its own group", "group")
    fields.ignored(
        _REPORTED, "print-metrics", "show-detailed-stats", "reporting-interval", "date-format", "hide-header"
    )
    fields.ignored("the tool itself has ignored it since 2.x", "threads", "num-fetch-threads")
    if fields.has("timeout"):
        draft.left_out("timeout", f"a run does not end after {timeout_ms} ms without a record, but with its phase")
    fields.close()
    if is_latest:
        draft.differs(count, "a run that only reads what comes ends after a time, not after a number of messages")
    else:
        draft.differs(count, f"the run ends when all is read that was in the log at its start, not after {messages}")
    draft.differs("MB.sec, nMsg.sec", "theirs divide by the time since the start of the process, joining included")
    measure: Any = "60s" if is_latest else {"drained": True, "at_most": "1h"}
    return draft.finished(
        "perf-test",
        f"{CONSUMER}{' of Kafka 4' if era == '4' else ''}",
        {
            "name": name_of("consumer-perf-test", topic),
            "about": f"{messages} records, as {CONSUMER} reads them.",
            "topic": {"name": topic, **_AS_IT_IS},
            "load": "off",
            "consume": {
                "consumers": 1,
                "start": client.start or ("latest" if is_latest else "earliest"),
                **without_none({"commit": client.commit}),
                "client": client.settings,
            },
            "phases": {"warmup": "0s", "measure": measure},
            "verify": "off",
        },
    )


def _latency(draft: Draft, arguments: Sequence[str], read: ReadBeside) -> Translation:
    given = _flags(draft, arguments, _LATENCY_FLAGS)
    options = dict(given.options)
    if given.words and not options:
        # The form of Kafka 3: everything by its place.
        if len(given.words) not in {5, 6}:
            what = f"{len(given.words)} arguments instead of 5 or 6"
            draft.refuse("", what, "Write broker_list topic num_messages producer_acks message_size_bytes")
        options = dict(zip(_LATENCY_WORDS, given.words, strict=False))
    fields = SpecFields(draft, options, "", LATENCY)
    fields.required("topic", "num-records", "producer-acks", "record-size")
    topic, records = fields.text("topic"), fields.whole("num-records", 1, least=1)
    acks = fields.word("producer-acks", "1", "1", "all")
    size = fields.whole("record-size", 512, least=1)
    settings = _settings(fields, draft, read, (), ())
    producer, _ = producer_settings(draft, "command-config", {**settings, "acks": acks, "linger.ms": 0})
    fields.ignored("messages have no keys here", "record-key-size")
    fields.ignored(
        "messages have the header of their stamp only", "num-headers", "record-header-key-size", "record-header-size"
    )
    fields.close()
    draft.differs(
        "num-records", "the next message is sent when the last is acknowledged; theirs when it is received, too"
    )
    draft.differs("Avg latency, Percentiles", "theirs is ours of the end-to-end service time; percentiles in whole ms")
    return draft.finished(
        "perf-test",
        LATENCY,
        {
            "name": name_of("e2e-latency", topic),
            "about": f"One message after another, as {LATENCY} sends them.",
            "topic": {"name": topic, **_AS_IT_IS},
            "load": {"rate": "closed", "producers": 1, "size": size, "payload": "random", "client": producer},
            "consume": {
                "consumers": 1,
                "start": "latest",
                "commit": "never",
                "client": {"fetch.wait.max.ms": 0},
            },
            "phases": {"warmup": "0s", "measure": {"messages": records, "at_most": "1h"}},
        },
    )


def _flags(draft: Draft, arguments: Sequence[str], known: Mapping[str, Arity]) -> CommandFlags:
    given = read_flags(draft, arguments, known, may_repeat=True)
    if known is not _LATENCY_FLAGS and given.words:
        draft.refuse(one_line(given.words[0]), "stands without an option", "Write --option value")
    return given


def _settings(
    fields: SpecFields, draft: Draft, read: ReadBeside, lists: Sequence[str], files: Sequence[str]
) -> dict[str, Any]:
    """The client's settings of files and lists; those of lists win."""
    settings: dict[str, Any] = {}
    if fields.has("bootstrap-server"):
        draft.cluster("bootstrap-server", fields.text("bootstrap-server"))
    if fields.has("broker-list"):
        draft.cluster("broker-list", fields.text("broker-list"))
    for name in (*files, "command-config"):
        if fields.has(name) and (path := fields.text(name)):
            settings |= draft.faults.of(lambda path: read_properties(read(path), path), path) or {}
    for name in lists:
        for text in fields.texts(name):
            key, equals, value = text.partition("=")
            if not equals or not key:
                draft.refuse(name, f"{one_line(text)}: not a setting", "Write name=value")
            settings[key] = value
    return settings


def _era(fields: SpecFields) -> JavaEra:
    """Options with the names of Kafka 4 come with its defaults."""
    news = ("bootstrap-server", "command-property", "command-config", "warmup-records", "reporting-interval")
    if fields.of == PRODUCER:
        return "4" if any(fields.has(name) for name in news) else "3"
    return "4" if any(fields.has(name) for name in ("num-records", "command-property", "command-config")) else "3"


def _at_most(expected_s: float | None) -> str:
    """A limit for a number of messages: twice what they take at their rate, and a minute."""
    return "1h" if expected_s is None else _seconds(min(_MOST_S, 2 * expected_s + 60))


def _seconds(seconds: float) -> str:
    return duration(math.ceil(seconds) * 1000)


_AS_IT_IS: Final = {"partitions": 1, "replication": 1, "adopt": True}
"""These tools take a topic as it is, and have the broker make one that is not there, of its own choice: 1 partition."""
_TOOLS: Final[Mapping[str, Callable[[Draft, Sequence[str], ReadBeside], Translation]]] = {
    PRODUCER: _producer,
    CONSUMER: _consumer,
    LATENCY: _latency,
}
