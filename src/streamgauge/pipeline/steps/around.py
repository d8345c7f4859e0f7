"""The step of faults: what each did, from what the cluster told around it, and from the rows of every partition."""

from pyspark.sql import DataFrame

from streamgauge.pipeline.audit import judging
from streamgauge.pipeline.columns import ACKED_NS, DUE_NS, IS_STAMPED, PARTITION, RECEIVED_NS, SENT_NS, TOPIC
from streamgauge.pipeline.pressure import faults, outages, recovery, replication
from streamgauge.pipeline.pressure.outages import Around
from streamgauge.pipeline.read.rows import Rows
from streamgauge.pipeline.steps.questions import ReceivedSide
from streamgauge.pipeline.steps.step import Inputs, Tables


def around_faults(run: Inputs, messages: DataFrame, received: ReceivedSide, looks: Tables) -> Tables:
    """The tables `fault_scores` and `fault_partitions`; nothing of a run without faults, which costs nothing.

    `looks` has the table `replication`.
    """
    found = faults.faults_of(recovery.fault_rows(run.bronze.columns("faults"), run.span))
    if not found:
        return {"fault_scores": [], "fault_partitions": []}
    spans, traits = faults.spans_of(found, run.span), run.traits
    last = [row for row in judging.ends_of(run.bronze, traits) if row.moment == "final"]
    ends = {(row.topic, row.partition): row.end for row in last if row.end is not None}
    # Through a pipeline, what is read is not what was written there.
    reads = traits.consumes and traits.piped is None
    around = Around(spans, run.span.to_ns, ends, traits.timed_group if reads else None)
    failed = outages.failures(run.spark, run.frame("sent"), around) if traits.loads else None
    scores = faults.score_rows(found, spans, [dict(row) for row in looks["replication"]], failed, run.span)
    partitions = _partitions(run, messages, received, around, reads=reads)
    led = replication.next_leaders(run.bronze.columns("replicas").to_pylist(), spans)
    told = [row | {"next_leader_s": led.get((row["fault"], row["topic"], row["partition"]))} for row in partitions]
    return {"fault_scores": scores, "fault_partitions": told}


def _partitions(run: Inputs, messages: DataFrame, received: ReceivedSide, around: Around, *, reads: bool) -> Rows:
    """What each fault did to each partition; of several groups, to that whose latency is told."""
    timed, to = (received.timed.where("timed"), RECEIVED_NS) if run.traits.consumes else (messages, ACKED_NS)
    lasted = (f"coalesce({DUE_NS}, {SENT_NS}) as from_ns", f"{to} as to_ns")
    known = timed.where(f"{PARTITION} is not null and {IS_STAMPED} and {to} is not null")
    worst = outages.slowest(run.spark, known.selectExpr(TOPIC, PARTITION, "producer", "seq", *lasted), around)
    held = outages.held_up(run.spark, run.frame("sent"), run.frame("received"), around)
    return outages.partition_rows(held, worst, run.span, acks=run.traits.acks, reads=reads)
