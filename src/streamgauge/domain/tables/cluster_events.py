"""Schemas of the recorded events that a cluster tells when it is asked."""

from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _STR = Type.INT32, Type.INT64, Type.STRING

LAG = Schema(
    "lag",
    "One sample of the offsets of a partition: log start and end, committed offset, or consumer position.",
    (
        must("at_ns", _I64, "time of the request"),
        may("answered_ns", _I64, "time of the response; null if nothing was requested, or the cluster did not answer"),
        must(
            "moment",
            _STR,
            "`start` (before the load), `sample`, `final` (end of the drain), or `reread`: "
            "the log was read again from `start` to `end`",
        ),
        must("topic", _I32, "topic number in run.json"),
        may("group", _I32, "consumer group number; null in a run that only produces"),
        may("consumer", _I32, "consumer whose position this is; null in rows of log ends and committed offsets"),
        must("partition", _I32, "partition number"),
        may("start", _I64, "log start offset"),
        may("committed", _I64, "committed offset of the group"),
        may("position", _I64, "next offset that this consumer would have read"),
        may("end", _I64, "log end offset"),
        may("error", _STR, "why a value is missing"),
    ),
)

REPLICAS = Schema(
    "replicas",
    "Leader and in-sync replicas of a partition, as the cluster told: of all partitions in the first and the last "
    "look, and of those that have changed in the others; or a look that failed. Only in runs that ask for replicas.",
    (
        must("at_ns", _I64, "time of the request"),
        may("answered_ns", _I64, "time of the response; null if the cluster did not answer"),
        may("topic", _I32, "topic number in run.json; null for a look that failed"),
        may("partition", _I32, "partition number; null for a look that failed"),
        may("leader", _I32, "node id of the leader; null without one"),
        may("in_sync", _I32, "number of in-sync replicas"),
        may("replicas", _I32, "number of replicas"),
        may("error", _STR, "why the cluster did not answer"),
    ),
)

FOLLOWERS = Schema(
    "followers",
    "How far a broker is behind the longest logs, and the controller, each second. Only in runs that ask for replicas.",
    (
        must("at_ns", _I64, "time of the request"), may("answered_ns", _I64, "time of the last response"),
        may("controller", _I32, "active controller"), may("node", _I32, "the broker; null for a look that failed"),
        may("behind", _I64, "messages that it lacks, all partitions together; null if it did not answer"),
        may("worst", _I64, "messages that it lacks of the partition that it lacks most of"),
        may("topic", _I32, "topic of this partition"), may("partition", _I32, "number of this partition"),
        may("error", _STR, "why the cluster, or this broker, did not answer"),
    ),
)  # fmt: skip
