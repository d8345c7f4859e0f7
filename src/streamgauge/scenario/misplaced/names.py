"""What other benchmarks call the fields of a scenario, and the settings of clients and topics that people set most.

The names are those of Trogdor, the OpenMessaging Benchmark, Kafka's kafka-producer-perf-test, tussle, KafkaBench,
SSP_kafka and mqperf. How they are written does not matter: `record-size` and `recordSize` are one.
"""

from collections.abc import Mapping
from typing import Final

CLIENT_CONFIG: Final = "Write it into a file, and use --client-config FILE"
SECURITY: Final = ("security.", "sasl.", "ssl.")
"""How the names of client settings begin that belong to a cluster, not to a scenario."""

OTHER_NAMES: Final[Mapping[str, str]] = {
    "topic.name": "topic topics topicName activeTopic activeTopics",
    "topic.partitions": "partitions partitionsPerTopic numPartitions partitionCount",
    "topic.replication": "replicationFactor replicas",
    "topic.configs": "topicProps topicConfig topicConfigs",
    "topic.reset": "resetTopic",
    "load": "producer sender publisher",
    "load: off": "consumerOnly",
    "load.rate": (
        "rate targetRate initialTargetRate throughput throughputGenerator targetMessagesPerSec targetMessagesPerSecond"
        " messagesPerSec messagesPerSecond msgsPerSecond msgsPerProcessInSecond producerRate publishRate scenario"
    ),
    "load.rate.windows.messages": "messagesPerWindow messagesPerWindowAverage",
    "load.rate.windows.deviation": "messagesPerWindowDeviation",
    "load.rate.windows.hold": "windowsUntilRateChange",
    "load.rate.windows.window=ms": "windowSizeMs",
    "load.rate.burst.burst": "burstRate",
    "load.rate.burst.for": "burstDuration",
    "load.rate.burst.every": "burstPeriod",
    "load.rate.closed.batch": "maxSendMsgBatchSize batchSizeSend",
    "load.producers": "producersPerTopic numProducers senders senderThreads sendersNumber senderConcurrency",
    "load.size": "messageSize messageSizeBytes messageLength recordSize msgSize msgSizeBytes valueSize",
    "load.size.uniform.to": "messageLengthMax",
    "load.size.gaussian.mean": "messageSizeAverage",
    "load.size.gaussian.deviation": "messageSizeDeviation",
    "load.size.gaussian.hold": "messagesUntilSizeChange",
    "load.payload": "payloadMode payloadType valueGenerator useRandomizedPayloads",
    "load.payload.file.path": "payloadFile",
    "load.keys": "key keyDistributor keyGenerator",
    "load.partition": "activePartition partitioning",
    "load.flush": "flushGenerator messagesPerFlush messagesPerFlushAverage",
    "load.transactions": "transactionGenerator eos",
    "load.transactions.messages": "messagesPerTransaction",
    "load.transactions.interval=ms": "transactionIntervalMs transactionDurationMs",
    "load.client": "producerConf producerConfig producerProps producerProperties",
    "load.client.batch.size": "batchBytes",
    "load.client.compression.type": "compression codec",
    "load.client.message.max.bytes": "maxMsgBytes max.request.size",
    "consume": "consumer receiver subscriber",
    "consume: off": "producerOnly",
    "consume.consumers": (
        "consumersPerSubscription consumerPerSubscription numConsumers consumerCount receivers receiverThreads"
        " receiversNumber receiverConcurrency threadsPerWorker"
    ),
    "consume.buffer": "in_hand inHand",
    "consume.groups": "subscriptions subscriptionsPerTopic",
    "consume.start": "initialOffset fromBeginning",
    "consume.client": "consumerConf consumerConfig consumerProps consumerProperties",
    "consume.client.fetch.wait.max.ms": "fetch.max.wait.ms",
    "consume.commit.interval=ms": "commitMs",
    "consume.processing.delay": "consumerDelay processingDelay processingTime",
    "consume.processing.jitter": "consumerJitter",
    "consume.processing.changes": "phaseDelay phaseDuration",
    "consume.processing.skip": "drop",
    "consume.processing.fail": "dropPercent",
    "connections.hold.producers": "producerConnectionCount",
    "connections.hold.consumers": "consumerConnectionCount",
    "connections.hold.metadata": "metadataConnectionCount",
    "connections.hold.refresh=ms": "refreshRateMs",
    "connections.open": "targetConnectionsPerSec",
    "backpressure.hysteresis.poll": "bpPoll",
    "lag.every": "lagInterval",
    "lag.every=ms": "lagIntervalMs",
    "phases.warmup": "warmupTime warmupDuration",
    "phases.warmup=m": "warmupDurationMinutes",
    "phases.measure": "duration runTime testDuration testLengthSeconds durationSeconds",
    "phases.measure=ms": "durationMs",
    "phases.measure=m": "testDurationMinutes",
    "phases.measure.messages": (
        "messages numRecords numMessages maxMessages messageCount recordCount msgCount msgCountPerThread"
    ),
    "phases.measure.bytes_per_partition": "streamSize",
    "phases.start_at": "startTime",
    "seed": "payloadSeed randomSeed",
    "expect": "thresholds sle sleConfig slo",
    "Use --bootstrap HOST:PORT": "bootstrap bootstrapServer broker brokers brokerList brokerHosts",
    "Use --out DIR": "output outputDir reportDir",
    CLIENT_CONFIG: "clientConfig commandConfig commonClientConf",
}
"""Where a field is, with the unit of the other name where it has one (`=ms`), or what to do: what others call it."""

SETTINGS: Final[Mapping[str, str]] = {
    "load.client": (
        "acks request.required.acks linger.ms queue.buffering.max.ms batch.size batch.num.messages compression.type"
        " compression.codec compression.level enable.idempotence retries message.send.max.retries retry.backoff.ms"
        " request.timeout.ms delivery.timeout.ms message.timeout.ms message.max.bytes partitioner"
        " max.in.flight max.in.flight.requests.per.connection queue.buffering.max.messages queue.buffering.max.kbytes"
        " transaction.timeout.ms"
    ),
    "consume.client": (
        "fetch.min.bytes fetch.max.bytes fetch.wait.max.ms fetch.message.max.bytes"
        " max.partition.fetch.bytes queued.min.messages session.timeout.ms heartbeat.interval.ms max.poll.interval.ms"
        " max.poll.records isolation.level auto.commit.interval.ms partition.assignment.strategy group.protocol"
        " group.instance.id check.crcs"
    ),
    "topic.configs": (
        "retention.ms retention.bytes cleanup.policy min.insync.replicas segment.bytes segment.ms max.message.bytes"
        " message.timestamp.type"
    ),
}
"""Client and topic settings that are known by their names alone."""
