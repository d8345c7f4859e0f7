"""mqperf: its configuration in JSON, that of the harness of its articles and the request of version 2."""

import math
from typing import Any, Final

from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.write.translation import Draft, Translation, name_of, without_none
from streamgauge.foreign.specs.write.workers import clients

FIRST: Final = frozenset({"mq_type", "sender_threads", "msg_count_per_thread"})
SECOND: Final = frozenset({"msgsPerProcessInSecond", "sendersNumber", "mqConfig"})
_KMQ: Final = {"markers": {"timeout": "15s", "limit": 3, "silence": "10s"}}
"""How mqperf sets kmq up."""
_TOPIC: Final = {"name": "mqperf", "partitions": 64, "replication": 3, "configs": {"min.insync.replicas": 2}}


def mqperf_spec(source: str, given: dict[str, Any]) -> Translation:
    """The scenario of a configuration of either version; raises BadInput."""
    draft = Draft(source)
    if SECOND & given.keys():
        return _second(draft, SpecFields(draft, given, "", "a request of mqperf"))
    return _first(draft, SpecFields(draft, given, "", "a configuration of mqperf"))


def _first(draft: Draft, fields: SpecFields) -> Translation:
    fields.required("mq_type", "sender_threads", "msg_count_per_thread", "msg_size", "receiver_threads")
    name, kind = fields.text("name", "mqperf"), fields.word("mq_type", "Kafka", "Kafka", "Kmq")
    senders, receivers = fields.whole("sender_threads", 1, least=1), fields.whole("receiver_threads", 1, least=0)
    count = fields.whole("msg_count_per_thread", 1, least=1, most=10**12)
    batch = fields.whole("max_send_msg_batch_size", 1, least=1, most=1_000_000)
    draft.cluster("broker_hosts", ",".join(fields.texts("broker_hosts")))
    mq = fields.part("mq", "mq") or SpecFields(draft, {}, "mq", "mq")
    acks = mq.word("acks", "-1", "0", "1", "-1", "all")
    commit_ms = mq.whole("commitMs", 10_000, least=1)
    drop = mq.number("drop_percent", 0, least=0, most=1) if kind == "Kmq" else 0
    mq.close()
    size = fields.whole("msg_size", 100, least=1)
    if fields.whole("receive_msg_batch_size", 1, least=1) > 1:
        draft.left_out("receive_msg_batch_size", "a consumer takes what has arrived")
    fields.close()
    drawn = {"uniform": {"from": 1, "to": batch}} if batch > 1 else batch
    if batch > 1:
        what = "a random number from 1 to it, as there; the published tests always sent as many: "
        what += f"load.rate.closed.batch={batch}"
        draft.differs("max_send_msg_batch_size", what)
    if drop:
        draft.unit("mq.drop_percent", f"is a share of the deliveries, not per cent: {drop:g}")
    _figures(draft, "ours `latency.batch`")
    consume: dict[str, Any] = {
        **clients(draft, "receiver_threads", "consumers", receivers),
        "processing": {"fail": drop} if drop else None,
        "acknowledge": _KMQ if kind == "Kmq" else None,
        "client": None if kind == "Kmq" else {"auto.commit.interval.ms": commit_ms},
    }
    return draft.finished(
        "mqperf",
        "configuration",
        {
            "name": name_of("mqperf", name),
            "about": f"mqperf's test {one_line(name)}.",
            "topic": _TOPIC,
            "load": {
                "rate": {"closed": {"batch": drawn}},
                **clients(draft, "sender_threads", "producers", senders),
                "size": size,
                "payload": "text",
                "client": {"acks": _acks(acks), "linger.ms": 1, "batch.size": 16384, "retries": 0},
            },
            "consume": without_none(consume) if receivers else "off",
            "phases": {"warmup": "0s", "measure": {"messages": senders * count, "at_most": "1h"}, "drain": "60s"},
        },
    )


def _second(draft: Draft, fields: SpecFields) -> Translation:
    fields.required("testLengthSeconds", "msgsPerProcessInSecond", "msgSizeBytes")
    test = fields.text("testId", "mqperf")
    each = fields.whole("msgsPerProcessInSecond", 1, least=1, most=10**7)
    batch = fields.whole("batchSizeSend", 1, least=1, most=1_000_000)
    senders = fields.whole("sendersNumber", 1, least=1) * fields.whole("senderConcurrency", 1, least=1)
    receivers = fields.whole("receiversNumber", 1, least=0) * fields.whole("receiverConcurrency", 1, least=0)
    fields.ignored("a consumer takes what has arrived", "batchSizeReceive")
    mq = fields.part("mqConfig", "mqConfig") or SpecFields(draft, {}, "mqConfig", "mqConfig")
    hosts = mq.raw("hosts")
    draft.cluster("mqConfig.hosts", hosts if isinstance(hosts, str) else ",".join(mq.texts("hosts")))
    mq.ignored("every run creates its own group", "groupId")
    acks, commit_ms = mq.word("acks", "-1", "0", "1", "-1", "all"), mq.whole("commitMs", 10_000, least=1)
    topic = {
        "name": mq.text("topic", "mqperf"),
        "partitions": mq.whole("partitions", 64, least=1, most=10_000),
        "replication": mq.whole("replicationFactor", 3, least=1, most=32),
    }
    mq.close()
    length = fields.whole("testLengthSeconds", 60, least=1)
    size = fields.whole("msgSizeBytes", 100, least=1)
    fields.close()
    # A process sends whole batches until it has sent enough.
    per_second = senders * each
    sent = senders * math.ceil(each / batch) * batch
    if sent != per_second:
        draft.differs("msgsPerProcessInSecond", f"exactly {per_second} a second here; whole batches, {sent}, there")
    draft.differs("batchSizeSend", "messages of a second are sent at its begin; batches do not wait for each other")
    draft.left_out("testId", "mqperf's HTTP server is not part of this program: a run is a command")
    _figures(draft, "ours of each message")
    return draft.finished(
        "mqperf",
        "request of version 2",
        {
            "name": name_of("mqperf", test),
            "about": f"mqperf's test {one_line(test)}.",
            "topic": topic,
            "load": {
                "rate": {"windows": {"messages": per_second, "window": "1s"}},
                **clients(draft, "sendersNumber", "producers", senders),
                "size": size,
                "payload": "text",
                "client": {"acks": _acks(acks), "linger.ms": 0, "batch.size": 16384},
            },
            "consume": {
                **clients(draft, "receiversNumber", "consumers", receivers),
                "client": {"auto.commit.interval.ms": commit_ms},
            }
            if receivers
            else "off",
            "phases": {"warmup": "0s", "measure": f"{length}s"},
        },
    )


def _acks(text: str) -> Any:
    return int(text) if text in {"0", "1"} else "all"


def _figures(draft: Draft, ours: str) -> None:
    draft.differs("mqperf_send_latency_ms", f"theirs is of a batch, in buckets of 50 ms: {ours}")
    draft.differs("mqperf_latency_ms", "a p95 of 47 to 48 ms is the first bucket there, not a latency")
