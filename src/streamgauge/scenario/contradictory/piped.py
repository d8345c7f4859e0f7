"""Faults that lie between a pipeline and the rest of a scenario."""

from collections.abc import Iterator
from typing import Final

from streamgauge.domain.errors import Fault
from streamgauge.domain.text.quantities import format_duration
from streamgauge.scenario.model.jobs import SUBSET
from streamgauge.scenario.model.pipeline import REAL_TIME, Pipeline
from streamgauge.scenario.model.scenario import Scenario

OWNED_SPARK: Final = {
    "spark.master": "use pipeline.master or pipeline.parallelism",
    "spark.jars": "the connector's jars are added by the run",
    "spark.app.name": "every run has its own name",
    "spark.redaction.regex": "secrets are hidden by one rule",
    "spark.sql.redaction.options.regex": "secrets are hidden by one rule",
}
"""Settings of Spark that the run decides, and what to do instead."""


def piped(scenario: Scenario, pipeline: Pipeline) -> Iterator[Fault]:
    """Faults between a pipeline and the topics, consumers and phases around it."""
    if len(scenario.sent_topics) > 1:
        what = f"{scenario.topic_name}: a pipeline reads one topic"
        yield Fault("topic.name", what, "Name one")
    if scenario.sink_name in scenario.sent_topics:
        what = f"{scenario.sink_name}: it would read its own output"
        yield Fault("pipeline.sink", what, "Name another topic, or leave it out")
    if scenario.consume and scenario.consume.partitions is not None:
        what = "the output of a pipeline is assigned by the group protocol"
        yield Fault("consume.partitions", what, "Leave it out")
    if scenario.consume and isinstance(scenario.consume.consumers, str):
        what = f"{scenario.consume.consumers}: the output of a pipeline is assigned by the group protocol"
        yield Fault("consume.consumers", what, "Write a number")
    if scenario.backpressure and scenario.backpressure.credit and pipeline.job.is_stateful:
        what = f"{pipeline.job.name} does not report when a message is processed"
        yield Fault("backpressure.credit", what, "Write hysteresis, or a job without a state")
    for key in sorted(pipeline.settings.keys() & OWNED_SPARK.keys()):
        yield Fault(f"pipeline.settings.{key}", "is set by the run", f"Do without it: {OWNED_SPARK[key]}")
    yield from _of_job(pipeline)
    yield from _of_engine(scenario, pipeline)


def _of_job(pipeline: Pipeline) -> Iterator[Fault]:
    function = pipeline.job.function
    if function and function.expects and function.does != SUBSET:
        what = f"expects selects messages, which {function.does} does not need"
        yield Fault("pipeline.job.function.expects", what, "Leave it out, or write `does: subset`")
    if pipeline.job.feature_store and pipeline.table is None:
        what = "feature-store writes a table"
        yield Fault("pipeline.sink", what, "Write one, like {table: features}")


def _of_engine(scenario: Scenario, pipeline: Pipeline) -> Iterator[Fault]:
    engine = pipeline.engine
    if engine.client:
        yield from _of_client(pipeline)
        return
    if pipeline.engine.name == REAL_TIME:
        yield from _of_real_time(scenario, pipeline)
    if engine.available_now and scenario.backpressure:
        what = "available-now starts after the load, so nothing would be processed meanwhile"
        yield Fault("pipeline.engine", what, "Write micro-batch, or leave backpressure out")


def _of_client(pipeline: Pipeline) -> Iterator[Fault]:
    if pipeline.job.pass_ is None:
        what = f"client only passes messages on, and cannot run {pipeline.job.name}"
        yield Fault("pipeline.engine", what, "Write `job: pass`, or an engine of Spark")
    if pipeline.table:
        yield Fault("pipeline.sink", "a plain client writes a topic, not a table", "Name a topic, or leave it out")
    for name in ("settings", "master", "max_offsets", "checkpoint", "parallelism"):
        if getattr(pipeline, name):
            yield Fault(f"pipeline.{name}", "has no effect without Spark", "Leave it out, or write an engine of Spark")


def _of_real_time(scenario: Scenario, pipeline: Pipeline) -> Iterator[Fault]:
    batch_ns = pipeline.engine.interval_ns or 0
    if pipeline.job.does == "aggregate" or pipeline.job.dedup:
        what = f"real-time: Spark's real-time mode keeps no state, which {pipeline.job.name} needs"
        yield Fault("pipeline.engine", what, "Write micro-batch")
    if pipeline.table:
        what = "real-time: Spark's real-time mode writes topics only"
        yield Fault("pipeline.engine", what, "Write micro-batch, or name a topic as the sink")
    if pipeline.max_offsets is not None:
        what = "has no effect in real-time mode, where a batch ends by time"
        yield Fault("pipeline.max_offsets", what, "Leave it out")
    if pipeline.parallelism is not None and pipeline.parallelism <= scenario.topic.partitions:
        what = (
            f"{pipeline.parallelism}: in real-time mode each of the {scenario.topic.partitions} partitions occupies a "
            "task slot for a whole batch"
        )
        mend = f"Write at least {scenario.topic.partitions + 1}, fewer topic.partitions, or leave it out"
        yield Fault("pipeline.parallelism", what, mend)
    if scenario.phases.drain <= batch_ns:
        what = f"shorter than a batch of {format_duration(batch_ns)}, and progress is reported at its end only"
        yield Fault("phases.drain", what, f"Write more than {format_duration(batch_ns)}, or a shorter batch")
