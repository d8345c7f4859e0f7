"""KafkaBench: its flags, and the YAML file that names its cluster."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamgauge.foreign.specs.kafkas_own import ReadBeside
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.read.flags import Arity, read_flags
from streamgauge.foreign.specs.read.java import plain_setting
from streamgauge.foreign.specs.read.texts import read_mapping
from streamgauge.foreign.specs.write.translation import Draft, Translation

SPEC: Final = "flags"
_FLAGS: Final[Mapping[str, Arity]] = {
    "f": "one", "s": "one", "a": "one", "i": "one", "M": "one", "m": "one", "mS": "one", "P": "one", "p": "one",
    "pS": "one", "r": "one", "T": "one", "t": "one", "c": "none", "eos": "none", "D": "none", "pr": "none",
    "pg": "none", "d": "none",
}  # fmt: skip
_MIB: Final = 1 << 20


def kafkabench_flags(source: str, arguments: Sequence[str], read: ReadBeside) -> Translation:
    """The scenario of one combination, or the experiment of several; raises BadInput."""
    draft = Draft(source)
    given = read_flags(draft, arguments, _FLAGS, is_go=True)
    for word in given.words:
        draft.refuse(word, "stands without an option", "Write -option value")
    fields = SpecFields(draft, given.options, "", "KafkaBench")
    path = fields.text("f")
    if path:
        text = draft.faults.of(read, path)
        cluster = draft.faults.of(read_mapping, text, path) if text is not None else None
        if cluster is not None:
            _cluster(draft, cluster)
    return _document(draft, fields)


def kafkabench_file(source: str, given: object) -> Translation:
    """What the YAML file of a cluster alone asks for: KafkaBench's defaults; raises BadInput."""
    draft = Draft(source)
    _cluster(draft, given)
    return _document(draft, SpecFields(draft, {}, "", "KafkaBench"))


def _cluster(draft: Draft, given: object) -> None:
    fields = SpecFields(draft, given, "", "the YAML file")
    kafka = fields.part("kafka", "kafka")
    if kafka is None:
        draft.refuse("kafka", "is missing", "Add it: it names the cluster")
        return
    kafka.required("bootstrapServers")
    draft.cluster("kafka.bootstrapServers", ",".join(kafka.texts("bootstrapServers")))
    protocol = kafka.text("securityProtocol")
    sasl = kafka.part("sasl", "sasl")
    if protocol == "SASL_SSL":
        draft.left_out(
            "kafka.securityProtocol",
            "belongs to a cluster: write security.protocol, sasl.mechanism, sasl.username and sasl.password into a "
            "file for --client-config",
        )
    if sasl:
        sasl.ignored(
            "belongs to a cluster: write it into a file for --client-config", "mechanism", "username", "password"
        )
        sasl.close()
    kafka.close()
    fields.close()


def _document(draft: Draft, fields: SpecFields) -> Translation:
    stream = fields.whole("s", 128 * _MIB, least=1)
    iterations = fields.whole("i", 1, least=1, most=1000)
    sizes = _range(draft, fields, "m", 128, "M", 2048, fields.whole("mS", 4), "mS")
    partitions = _range(draft, fields, "p", 8, "P", 8, fields.whole("pS", 2), "pS")
    topics = _range(draft, fields, "t", 4, "T", 4, None, "t")
    is_eos = fields.flag("eos", False)
    # Exactly once waits for each report, too.
    waits = fields.flag("c", False) or is_eos
    acks = "all" if is_eos else fields.word("a", "1", "0", "1", "-1", "all")
    replicas = fields.whole("r", 3, least=1, most=32)
    fields.ignored("use `streamgauge topics --prefix streamgauge-kafkabench --delete`", "D")
    fields.ignored("use `streamgauge kafkabench DIR --partitions`", "pr")
    fields.ignored("progress is shown on a terminal", "pg", "d")
    fields.close()
    _figures(draft, by_partition=fields.has("pr"), is_eos=is_eos)
    workers = "per-partition" if waits else "per-topic"
    load: dict[str, Any] = {
        "rate": "closed" if waits and not is_eos else "max",
        "producers": workers,
        "processes": 1,
        "size": sizes[0],
        "payload": "random",
        **({} if waits else {"partition": "round-robin"}),
        **({"transactions": {"messages": 1}} if is_eos else {}),
        "client": {
            "acks": plain_setting(acks),
            "max.in.flight.requests.per.connection": 1,
            "retries": 10,
            "message.timeout.ms": 30000,
        },
    }
    base = {
        "name": "kafkabench",
        "about": "A fixed number of bytes per partition, as KafkaBench sends them.",
        "topic": {"count": topics[0], "partitions": partitions[0], "replication": replicas, "reset": True},
        "load": load,
        "consume": {
            "consumers": workers,
            "processes": 1,
            "client": {
                "fetch.wait.max.ms": 100,
                "heartbeat.interval.ms": 3000,
                "session.timeout.ms": 10000,
                "max.poll.interval.ms": 300000,
            },
        },
        "phases": {"warmup": "0s", "measure": {"bytes_per_partition": _bytes(stream), "at_most": "1h"}, "drain": "60s"},
    }
    vary = {"topic.count": topics, "topic.partitions": partitions, "load.size": sizes}
    varied = {path: values for path, values in vary.items() if len(values) > 1}
    if not varied and iterations == 1:
        return draft.finished("kafkabench", SPEC, base)
    experiment = {
        "name": "kafkabench",
        "about": "Topics x partitions x sizes, as KafkaBench loops over them.",
        "scenario": base,
        "vary": varied,
        "repeat": iterations,
        "order": "blocks" if iterations > 1 else "as-written",
        "metric": "throughput.received_per_second",
    }
    return draft.finished("kafkabench", SPEC, experiment, "experiment")


def _range(
    draft: Draft, fields: SpecFields, low: str, least: int, high: str, most: int, times: int | None, step: str
) -> list[int]:
    """The values of a loop, which advances by a factor, or by 1."""
    first = fields.whole(low, least, least=1)
    last = max(first, fields.whole(high, most, least=1))
    if fields.has(low) and fields.has(high) and fields.whole(high, most) < first:
        draft.differs(f"-{low}, -{high}", f"{first} is above {fields.whole(high, most)}, and counts for both")
    if times is not None and times < 2:
        draft.refuse(
            f"-{step}", f"{times}: a factor that does not advance, with which KafkaBench never ends", "Write 2"
        )
        return [first]
    values: list[int] = []
    value = first
    while value <= last and len(values) <= 100:
        values.append(value)
        value = value + 1 if times is None else value * times
    if len(values) > 100:
        draft.refuse(f"-{low}", "more than 100 values", "Write a larger step, or a smaller range")
    return values


def _bytes(count: int) -> Any:
    return f"{count // _MIB}MiB" if count % _MIB == 0 else count


def _figures(draft: Draft, *, by_partition: bool, is_eos: bool) -> None:
    draft.differs("Kbps", "theirs are KiB/s, divided by the mean time of the partitions; ours are bytes by wall time")
    draft.differs("MinLat, MaxLat, AvgLat", "ours are percentiles of the end-to-end service time, in ms")
    if by_partition:
        draft.differs(
            "-pr", "lines by partition are not by partition there: one consumer serves all workers of a topic"
        )
    if is_eos:
        draft.differs("-eos", "each worker is a client with transactions of its own; there workers share one client's")
