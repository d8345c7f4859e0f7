"""Keys where they do not belong, and the names of other benchmarks: each is answered with the place that is meant."""

from typing import Any

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.runs.request.scenario_file import load_scenario
from streamgauge.scenario import parse
from streamgauge.scenario.misplaced.names import OTHER_NAMES, SETTINGS
from streamgauge.scenario.misplaced.places import is_path, option_fault

PLACES: list[tuple[str, str]] = [
    # Ours, in another part or in none.
    ("rate", "load.rate"),
    ("consumers", "consume.consumers"),
    ("load.consumers", "consume.consumers"),
    ("consume.producers", "load.producers"),
    ("producers", "load.producers"),
    ("size", "load.size"),
    ("partitions", "topic.partitions"),
    ("load.partitions", "topic.partitions"),
    ("topic.size", "load.size"),
    ("warmup", "phases.warmup"),
    ("measure", "phases.measure"),
    ("load.drain", "phases.drain"),
    ("delay", "consume.processing.delay"),
    ("consume.delay", "consume.processing.delay"),
    ("commit", "consume.commit"),
    ("max_lag", "backpressure.hysteresis.max_lag"),
    ("maxLag", "backpressure.hysteresis.max_lag"),
    ("backpressure.max_lag", "backpressure.hysteresis.max_lag"),
    ("backpressure.limit", "backpressure.credit.limit"),
    ("lag.interval", "lag.every"),
    ("job", "pipeline.job"),
    ("poisson", "load.rate.poisson"),
    ("processes", "load.processes` or `consume.processes"),
    # Settings of clients, topics and Spark.
    ("load.acks", "load.client.acks"),
    ("acks", "load.client.acks"),
    ("load.linger.ms", "load.client.linger.ms"),
    ("load.lingerMs", "load.client.linger.ms"),
    ("linger.ms", "load.client.linger.ms"),
    ("client.linger.ms", "load.client.linger.ms"),
    ("producer.linger.ms", "load.client.linger.ms"),
    ("consume.linger.ms", "load.client.linger.ms"),
    ("load.fetch.max.wait.ms", "consume.client.fetch.wait.max.ms"),
    ("load.compression", "load.client.compression.type"),
    ("load.some.thing.new", "load.client.some.thing.new"),
    ("consume.fetch.min.bytes", "consume.client.fetch.min.bytes"),
    ("load.fetch.min.bytes", "consume.client.fetch.min.bytes"),
    ("fetch.min.bytes", "consume.client.fetch.min.bytes"),
    ("topic.retention.ms", "topic.configs.retention.ms"),
    ("topic.compression.type", "topic.configs.compression.type"),
    ("retentionMs", "topic.configs.retention.ms"),
    ("minInsyncReplicas", "topic.configs.min.insync.replicas"),
    ("spark.sql.shuffle.partitions", "pipeline.settings.spark.sql.shuffle.partitions"),
    # kafka-producer-perf-test.
    ("throughput", "load.rate"),
    ("num-records", "phases.measure.messages"),
    ("record-size", "load.size"),
    ("payload-file", "load.payload.file.path"),
    ("producer-props", "load.client"),
    # The OpenMessaging Benchmark.
    ("producerRate", "load.rate"),
    ("producersPerTopic", "load.producers"),
    ("partitionsPerTopic", "topic.partitions"),
    ("messageSize", "load.size"),
    ("subscriptionsPerTopic", "consume.groups"),
    ("consumerPerSubscription", "consume.consumers"),
    ("keyDistributor", "load.keys"),
    # tussle.
    ("targetRate", "load.rate"),
    ("warmupTime", "phases.warmup"),
    ("runTime", "phases.measure"),
    ("messageLength", "load.size"),
    ("messageLengthMax", "load.size.uniform.to"),
    ("replicationFactor", "topic.replication"),
    ("batchSize", "load.client.batch.size"),
    ("sleConfig", "expect"),
    # Trogdor.
    ("targetMessagesPerSec", "load.rate"),
    ("maxMessages", "phases.measure.messages"),
    ("numPartitions", "topic.partitions"),
    ("activeTopics", "topic.name"),
    ("producerConf", "load.client"),
    ("messagesPerWindow", "load.rate.windows.messages"),
    ("messagesPerTransaction", "load.transactions.messages"),
    ("producerConnectionCount", "connections.hold.producers"),
    # KafkaBench.
    ("replicas", "topic.replication"),
    ("streamSize", "phases.measure.bytes_per_partition"),
    # SSP_kafka.
    ("msg-size", "load.size"),
    ("duration", "phases.measure"),
    ("phases.duration", "phases.measure"),
    ("burst-rate", "load.rate.burst.burst"),
    ("consumer-delay", "consume.processing.delay"),
    ("initial-offset", "consume.start"),
    ("bp-poll", "backpressure.hysteresis.poll"),
    ("lag-interval", "lag.every"),
    ("payload-seed", "seed"),
    # mqperf.
    ("sender_threads", "load.producers"),
    ("receiver_threads", "consume.consumers"),
    ("msg_count_per_thread", "phases.measure.messages"),
    ("msgsPerProcessInSecond", "load.rate"),
    ("testLengthSeconds", "phases.measure"),
]  # fmt: skip


def nested(key: str, value: object) -> dict[str, Any]:
    """The mapping that `load.linger.ms` with a value is, the part being one of ours."""
    part, dot, rest = key.partition(".")
    return (
        {part: {rest: value}}
        if dot and part in {"load", "consume", "topic", "backpressure", "lag", "phases"}
        else {key: value}
    )


def only_fault(make: Any, *given: Any) -> str:
    with pytest.raises(BadInput) as caught:
        make(*given)
    (fault,) = caught.value.faults
    return str(fault)


@pytest.mark.parametrize(("key", "place"), PLACES)
def test_a_misplaced_key_of_a_file_is_told_its_place(key: str, place: str) -> None:
    assert only_fault(parse, {"name": "x", **nested(key, 5)}) == f"{key}: no such key. Its place is `{place}`"


@pytest.mark.parametrize(("key", "place"), PLACES)
def test_a_misplaced_key_of_a_setting_is_told_its_place(key: str, place: str) -> None:
    """Where dots part the keys of mappings."""
    off = ["backpressure=off"] if key.startswith("backpressure") else []
    assert only_fault(load_scenario, "baseline", [*off, f"{key}=5"]) == f"{key}: no such key. Its place is `{place}`"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bootstrap.servers": "x:1"}, "Leave it out: name the cluster with --bootstrap"),
        ({"brokerList": "x:1"}, "Use --bootstrap HOST:PORT"),
        ({"load": {"group.id": "g"}}, "Leave it out: use consume.group"),
        ({"auto.offset.reset": "earliest"}, "Leave it out: use consume.start"),
        ({"security.protocol": "SSL"}, "Write it into a file, and use --client-config FILE"),
        ({"load.rate": "5k/s"}, "Write it as `load: {rate: ...}`"),
        ({"consumerOnly": True}, "Its place is `load: off`"),
        # A number with the unit that its name has.
        ({"durationMs": 60000}, "Its place is `phases.measure`, with its unit, like 60000ms"),
        ({"testDurationMinutes": 5}, "Its place is `phases.measure`, with its unit, like 5m"),
        ({"windowSizeMs": "many"}, "Its place is `load.rate.windows.window`"),
        # Close misspellings, here and elsewhere.
        ({"laod": {"rate": 5}}, "Did you mean `load`?"),
        ({"topics": {"partitions": 5}}, "Did you mean `topic`?"),
        ({"load": {"rat": 5}}, "Did you mean `rate`?"),
        ({"load": {"lingr.ms": 5}}, "Did you mean `load.client.linger.ms`?"),
        ({"partitons": 5}, "Did you mean `topic.partitions`?"),
        ({"targetRat": 5}, "Did you mean `load.rate`?"),
        ({"producerProps": {"acks": 1, "linger.ms": 5}}, "Its place is `load.client`"),
        ({"load": {"rate": {"for": "5s"}}}, "Its place is `load.rate.spike.for` or `load.rate.burst.for`"),
        ({"load": {"size": {"mean": 5}}}, "Its place is `load.size.gaussian.mean`"),
        ({"load": {"keys": {"zipf": {"keys": 9, "exponent": 1, "count": 10}}}}, "Known keys here: keys, exponent"),
        ({"zzz": 1}, "Known keys here: name, about, topic, cluster, load"),
        ({"zzz": {"deep": {"er": [1]}}}, "Known keys here: name, about, topic, cluster, load"),
    ],
)  # fmt: skip
def test_what_else_is_said(given: dict[str, Any], said: str) -> None:
    assert f": no such key. {said}" in only_fault(parse, {"name": "x", **given})


def test_each_setting_below_a_key_that_is_not_known_is_told_its_place() -> None:
    """Two settings that arrive as one mapping."""
    with pytest.raises(BadInput) as caught:
        load_scenario("baseline", ["load.queue.buffering.max.ms=1", "load.queue.buffering.max.messages=5"])

    assert [str(fault) for fault in caught.value.faults] == [
        "load.queue.buffering.max.ms: no such key. Its place is `load.client.queue.buffering.max.ms`",
        "load.queue.buffering.max.messages: no such key. Its place is `load.client.queue.buffering.max.messages`",
    ]


@pytest.mark.parametrize("place", [*OTHER_NAMES, *SETTINGS])
def test_every_place_of_the_tables_is_one(place: str) -> None:
    """Or what to say on the command line."""
    path = place.partition("=")[0].partition(":")[0]
    free = any(part in path.split(".")[:-1] for part in ("client", "configs"))
    assert free or place.startswith(("Use --", "Write it into a file, and use --")) or is_path(path.split("."))


def test_no_name_of_another_benchmark_stands_in_two_places() -> None:
    names = [name for each in (OTHER_NAMES, SETTINGS) for names in each.values() for name in names.split()]
    assert len(names) == len({name.lower().replace(".", "") for name in names})


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--rate", "20k/s", "--set load.rate=20k/s"),
        ("--duration", "30s", "--set phases.measure=30s"),
        ("--producers", "2", "--set load.producers=2"),
        ("--consumers", "3", "--set consume.consumers=3"),
        ("--size", "1KiB", "--set load.size=1KiB"),
        ("--record-size", "100", "--set load.size=100"),
        ("--partitions", "3", "--set topic.partitions=3"),
        ("--topic", "orders", "--set topic.name=orders"),
        ("--acks", "all", "--set load.client.acks=all"),
        ("--linger-ms", "5", "--set load.client.linger.ms=5"),
        ("--num-records", "1M", "--set phases.measure.messages=1M"),
        ("--duration-ms", "5000", "--set phases.measure=5000ms"),
        ("--throughput", None, "--set load.rate=..."),
        ("-rate", "10000", "--set load.rate=10000"),
        ("--processes", "2", "--set load.processes=2 or --set consume.processes=2"),
        ("--payload", "{constant: {text: a b}}", "--set 'load.payload={constant: {text: a b}}'"),
        ("--broker", "x:1", "--bootstrap HOST:PORT"),
    ],
)
def test_an_option_that_is_a_key_names_the_setting(option: str, value: str | None, said: str) -> None:
    assert str(option_fault(option, value)) == f"{option}: no such option. Use {said}"


@pytest.mark.parametrize("option", ["--nonsense", "--sett", "--password"])
def test_an_option_that_is_no_key_is_not_answered(option: str) -> None:
    assert option_fault(option, "x") is None


def test_what_is_told_to_be_set_can_be_set() -> None:
    """Also where the scenario has a plain value that has to make room."""
    scenario = load_scenario(
        "baseline",
        ["phases.measure.messages=1M", "load.size.gaussian.mean=512", "load.size.gaussian.deviation=10"],
    )

    assert scenario.measured_messages == 1_000_000
    assert scenario.load is not None
    assert scenario.load.mean_size_bytes == 512
