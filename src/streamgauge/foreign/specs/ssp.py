"""SSP_kafka: the flags of `bench`, and the presets of `run.sh`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.quantities import format_duration
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.results.values import go_duration_ns
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.read.flags import Arity, read_flags
from streamgauge.foreign.specs.write.translation import Draft, Translation, name_of, without_none
from streamgauge.foreign.specs.write.workers import clients

_FLAGS: Final[Mapping[str, Arity]] = {
    **dict.fromkeys(
        "broker topic group msg-size rate duration warmup partitions producers batch-bytes linger-ms acks compression"
        " max-msg-bytes consumers initial-offset consumer-delay consumer-jitter phase-duration phase-delay max-lag"
        " resume-lag bp-poll burst-rate burst-duration burst-period payload payload-seed report-interval lag-interval"
        " sysperf-interval output".split(),
        "one",
    ),
    **dict.fromkeys(["reset-topic", "json", "producer-only", "consumer-only"], "none"),
}
KNOWN: Final = frozenset(_FLAGS)
_PAYLOADS: Final = ("random", "zeros", "text", "json", "logline", "mixed")
_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
_SMALLEST: Final = 16
_BP: Final = "-duration 40s -rate 10000 -consumers 2 -payload json -consumer-delay 4ms -consumer-jitter 1ms"
_BURSTY: Final = "-duration 60s -rate 5000 -burst-duration 3s -burst-period 12s -payload json -lag-interval 1s"
PRESETS: Final[Mapping[str, str]] = {
    "quick": "-duration 5s -warmup 2s -rate 5000 -producers 4 -consumers 2 -lag-interval 1s",
    "bench": "-warmup 5s -rate 10000",
    "slow-consumer": "-rate 8000 -consumers 2 -payload json -consumer-delay 500us -consumer-jitter 200us"
    " -lag-interval 1s",
    "recovery": "-duration 60s -rate 8000 -payload json -consumer-delay 800us -phase-duration 30s -lag-interval 1s",
    "sweep-compression": "-duration 20s",
    "sweep-acks": "-duration 20s",
    "sweep-payload": "-duration 15s -warmup 2s -rate 8000 -compression zstd",
    "sweep-msgsize": "-duration 15s -warmup 2s -rate 8000",
    "bursty-light": f"{_BURSTY} -burst-rate 15000",
    "bursty-heavy": f"{_BURSTY} -burst-rate 30000",
    "bursty-overload": f"{_BURSTY} -burst-rate 30000 -consumers 2 -consumer-delay 800us",
    "bp-on": f"{_BP} -max-lag 20000 -resume-lag 5000 -lag-interval 1s",
    "bp-tight": f"{_BP} -max-lag 5000 -resume-lag 1000 -bp-poll 100ms -lag-interval 1s",
    "slow-aggr": f"{_BP} -lag-interval 1s",
    "recovery-aggr": "-duration 80s -rate 10000 -payload json -consumer-delay 3ms -phase-duration 30s -lag-interval 1s",
}
"""What the presets of `run.sh` set; the last three are known from its results."""
TIMED: Final = "bench"
"""The preset that takes its duration from the variable DURATION."""
_FLAG_SWEEPS: Final[Mapping[str, tuple[str, str, Sequence[str]]]] = {
    "sweep-compression": ("compression", "compression.type", ["none", "snappy", "lz4", "zstd", "gzip"]),
    "sweep-acks": ("acks", "acks", ["0", "1", "-1"]),
}
"""Sweeps of a flag: the setting of the client that it is, from which others follow, and its values."""
_SWEEPS: Final[Mapping[str, tuple[str, Sequence[Any]]]] = {
    "sweep-payload": ("load.payload", ["random", "text", "json", "logline", "zeros", "mixed"]),
    "sweep-msgsize": ("load.size", [64, 256, 1024, 4096, 16384]),
}


def ssp_preset(source: str, arguments: Sequence[str], duration: str | None = None) -> Translation:
    """The scenario or experiment of `run.sh PRESET`, of another duration than the preset's; raises BadInput."""
    name = arguments[0] if arguments else ""
    if len(arguments) != 1 or name not in PRESETS:
        what = f"{one_line(' '.join(arguments)) or 'nothing'}: not a preset of run.sh"
        raise BadInput.single(source, what, f"Write one of {', '.join(PRESETS)}")
    flags = [*PRESETS[name].split(), *(("-duration", duration) if duration else ())]
    made = ssp_flags(source, flags, name)
    if name in _FLAG_SWEEPS:
        flag, setting, words = _FLAG_SWEEPS[name]
        base = made.document["load"]["client"]
        runs = [ssp_flags(source, [*flags, f"-{flag}", word], name) for word in words]
        made_clients = [each.document["load"]["client"] for each in runs]
        vary: dict[str, Any] = {
            "variants": {f"{setting}={each[setting]}": _varied(each, base, setting) for each in made_clients}
        }
    elif name in _SWEEPS:
        path, values = _SWEEPS[name]
        vary = {path: list(values)}
    else:
        return made
    experiment = {
        "name": name,
        "about": f"SSP_kafka's {name}.",
        "scenario": made.document,
        "vary": vary,
        "repeat": 1,
        "order": "as-written",
    }
    return Translation("ssp", f"run.sh {name}", "experiment", experiment, made.notes, made.bootstrap)


def _varied(client: Mapping[str, Any], base: Mapping[str, Any], setting: str) -> dict[str, Any]:
    """The setting of a client that is varied, and those in which it differs from the base as well."""
    return {f"load.client.{key}": value for key, value in client.items() if key == setting or base.get(key) != value}


def ssp_flags(source: str, arguments: Sequence[str], name: str = "bench") -> Translation:
    """The scenario that flags of `bench` say; raises BadInput."""
    draft = Draft(source)
    given = read_flags(draft, arguments, _FLAGS, is_go=True)
    for word in given.words:
        draft.refuse(one_line(word), "stands without an option", "Write -option value")
    fields = SpecFields(draft, given.options, "", "bench")
    if fields.has("broker"):
        draft.cluster("broker", fields.text("broker"))
    fields.ignored("every run creates its own group", "group")
    fields.ignored("result.json and the report have it", "report-interval", "sysperf-interval", "output", "json")
    sides = fields.flag("producer-only", False), fields.flag("consumer-only", False)
    if all(sides):
        draft.refuse("consumer-only", "excludes producer-only", "Leave one of them out")
    reset = fields.flag("reset-topic", True)
    partitions = fields.whole("partitions", 12, least=1, most=10_000)
    lag_ns = _duration(fields, "lag-interval", 2 * NS_PER_SECOND)
    load, consume = _load(draft, fields), _consume(draft, fields, reset=reset)
    backpressure = _backpressure(draft, fields)
    document = {
        "name": name_of("ssp", name),
        "about": f"SSP_kafka's {one_line(name)}.",
        "topic": {
            "name": fields.text("topic", "bench-topic-v4"),
            "partitions": partitions,
            "replication": 1,
            "reset": reset,
        },
        "load": "off" if sides[1] else load,
        "consume": "off" if sides[0] else consume,
        "backpressure": None if any(sides) else backpressure,
        "lag": {"every": format_duration(lag_ns)},
        "phases": {
            "warmup": format_duration(_duration(fields, "warmup", 3 * NS_PER_SECOND)),
            "measure": format_duration(_duration(fields, "duration", 30 * NS_PER_SECOND)),
        },
        "seed": fields.whole("payload-seed", 42, least=0),
    }
    fields.close()
    _figures(draft, fields)
    return draft.finished("ssp", name, without_none(document))


def _load(draft: Draft, fields: SpecFields) -> dict[str, Any]:
    producers = fields.whole("producers", 8, least=1)
    # Its workers send at least one message a second each.
    rate = max(producers, fields.whole("rate", 10_000, least=0))
    size = fields.whole("msg-size", 512, least=0)
    if size < _SMALLEST:
        draft.differs("msg-size", f"{size} bytes become {_SMALLEST}, as there: the least that holds its header")
    acks = fields.whole("acks", 1)
    if acks not in {0, 1, -1}:
        draft.differs("acks", f"{acks} acts as 1, as there")
    codec = fields.text("compression", "snappy")
    if codec not in _CODECS:
        draft.differs("compression", f"{one_line(codec)} acts as none, as there")
    client: dict[str, Any] = {
        "acks": {0: 0, -1: "all"}.get(acks, 1),
        "compression.type": codec if codec in _CODECS else "none",
        "batch.size": fields.whole("batch-bytes", 65536, least=1),
        "linger.ms": fields.whole("linger-ms", 5, least=0),
        "max.in.flight.requests.per.connection": 1 if acks == -1 else 5,
        "retries": 3,
        # Each message of its clients goes to a partition at random.
        "sticky.partitioning.linger.ms": 0,
    }
    if codec == "gzip":
        client["compression.level"] = 1
    if acks == -1:
        client["enable.idempotence"] = True
    if fields.has("max-msg-bytes"):
        client["message.max.bytes"] = fields.whole("max-msg-bytes", 1_048_576, least=1000)
    payload = fields.word("payload", "mixed", *_PAYLOADS)
    draft.differs("payload", "contents of the same kind, other words; ours are the same for a seed")
    return {
        "rate": _rate(draft, fields, rate),
        **clients(draft, "producers", "producers", producers),
        "size": max(_SMALLEST, size),
        "payload": payload,
        "client": client,
    }


def _rate(draft: Draft, fields: SpecFields, rate: int) -> Any:
    burst = fields.whole("burst-rate", 0, least=0)
    lasts, every = _duration(fields, "burst-duration", 0), _duration(fields, "burst-period", 0)
    if not (burst and lasts and every):
        if fields.has("burst-rate") or fields.has("burst-duration") or fields.has("burst-period"):
            draft.differs("burst-rate", "bursts need all three of their flags, as there: without one there are none")
        return rate
    if lasts >= every:
        draft.differs("burst-duration", "bursts fill their period: the rate is that of the burst throughout")
        return burst
    return {"burst": {"base": rate, "burst": burst, "for": format_duration(lasts), "every": format_duration(every)}}


def _consume(draft: Draft, fields: SpecFields, *, reset: bool) -> dict[str, Any]:
    fields.whole("consumers", 4, least=1)
    if fields.has("consumers"):
        draft.differs(
            "consumers", "loops of one client there, which work by partition; here one consumer does the same"
        )
    delay, jitter = _duration(fields, "consumer-delay", 0), _duration(fields, "consumer-jitter", 0)
    phase, later = _duration(fields, "phase-duration", 0), _duration(fields, "phase-delay", 0)
    processing: dict[str, Any] = {}
    if delay or jitter or (phase and later):
        processing = {"delay": format_duration(delay), "order": "partitions"}
        if jitter:
            processing["jitter"] = format_duration(jitter)
        if phase:
            change = {"at": format_duration(phase), "delay": format_duration(later)}
            processing["changes"] = [{**change, **({"jitter": format_duration(jitter)} if later and jitter else {})}]
    start = fields.word("initial-offset", "oldest", "oldest", "newest")
    return without_none(
        {
            "consumers": 1,
            "processing": processing or None,
            # A topic that was made anew has nothing older.
            "start": None if reset else {"oldest": "earliest", "newest": "latest"}[start],
            "client": {
                "auto.commit.interval.ms": 1000,
                "partition.assignment.strategy": "roundrobin",
                "fetch.max.bytes": 10 << 20,
                "session.timeout.ms": 10000,
                "heartbeat.interval.ms": 3000,
            },
        }
    )


def _backpressure(draft: Draft, fields: SpecFields) -> dict[str, Any] | None:
    limit, resume = fields.whole("max-lag", 0), fields.whole("resume-lag", 0)
    poll = _duration(fields, "bp-poll", 200 * NS_PER_MS)
    if limit <= 0:
        return None
    draft.differs("max-lag", "lag is known once in lag-interval, as there: it overshoots by what arrives between")
    policy = {"max_lag": limit, "poll": format_duration(poll), "held": "drop"}
    return {"hysteresis": {**policy, "resume_lag": resume} if resume > 0 else policy}


def _duration(fields: SpecFields, name: str, default: int) -> int:
    found = fields.read(name, default, go_duration_ns)
    return int(found)


def _figures(draft: Draft, fields: SpecFields) -> None:
    draft.differs("ack_latency_ms, e2e_latency_ms", "theirs begin with the send: ours of service time")
    draft.differs("throughput_mb_per_sec", "theirs is MiB; ours is MB (10^6), and result.json has bytes")
    draft.differs("lag_timeline", "theirs is committed lag, whose floor is a commit interval; ours has both")
    draft.differs("time_to_drain_s", "theirs waits for a lag of 0; ours for the lag before the cause")
    draft.differs("cpu_fraction_pct", "theirs includes idle time; ours is CPU time of processes")
    if fields.has("duration") or fields.has("warmup"):
        draft.differs(
            "warmup", "clients are kept for the measure phase; there they are made anew, and join again in it"
        )
