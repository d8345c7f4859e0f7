"""The steps that Spark works on: messages, deliveries, and what is asked of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.audit import NEVER_DELIVERED
from streamgauge.pipeline.audit import accounts, judging, repeats, source, transactions, unsettled
from streamgauge.pipeline.audit.audit import Findings
from streamgauge.pipeline.columns import CLASS, CONSUMER, DELIVERY, GROUP, SELECTED, SENT_NS, SENT_TICK, TOPIC
from streamgauge.pipeline.metrics import expressions, processing, throughput, which
from streamgauge.pipeline.metrics.aggregates.histogram import Value, histogram
from streamgauge.pipeline.metrics.aggregates.sums import Sums
from streamgauge.pipeline.metrics.doubt import Doubts, doubts
from streamgauge.pipeline.pressure import backpressure, lives
from streamgauge.pipeline.pressure.outstanding import OutstandingReplay
from streamgauge.pipeline.read import silver
from streamgauge.pipeline.read.knowledge import Knowledge
from streamgauge.pipeline.read.rows import Row, Rows
from streamgauge.pipeline.steps.step import Inputs
from streamgauge.pipeline.stream import waterfall
from streamgauge.pipeline.stream.waterfall import Staged


@dataclass(frozen=True, slots=True)
class SentSide:
    """What is learnt from messages alone."""

    sums: Sums
    histogram: pa.Table | None
    ages: pa.Table | None
    """Histogram of the ages of messages that were never sent; None where there are none."""
    problems: list[Row]
    failed: dict[str, int]
    """How many messages failed or have no report, by error; counted only where a policy holds producers back."""
    unaccounted: int | None = None
    """How many messages lack a row, or have too many; None where nobody says how many there should be."""


@dataclass(frozen=True, slots=True)
class ReceivedSide:
    """What is learnt from deliveries, and from messages beside them."""

    sums: Sums
    histogram: pa.Table | None
    ages: pa.Table | None = None
    """Histogram of the ages of messages that were never delivered; None where there are none."""
    found: source.Found = field(default_factory=dict)
    """How many findings there are; none where nothing was found that is not as in a healthy run."""
    problems: Sequence[Row] = ()
    dropped: Mapping[str, int] | None = None
    """Messages that were not to come out of a pipeline, by scope; None where nobody says which."""
    staged: Staged | None = None
    """Their way through a pipeline; None where there is none."""


def deliveries(run: Inputs) -> DataFrame:
    """One row per delivery."""
    knows = run.knows
    return silver.deliveries(
        run.frame("received"),
        run.span.measure,
        processing=knows.processing,
        drops=knows.drops,
        ahead_ns=knows.ahead_ns if knows.observes else None,
        piped=knows.piped,
    )


def messages(run: Inputs, deliveries: DataFrame) -> DataFrame:
    """One row per message; those of unknown fate with what their deliveries show of them."""
    knows, rows, outcomes = run.knows, run.frame("sent"), None
    if unsettled.is_shown(knows):
        sized = knows.piped is None or knows.piped.keeps_content
        shown = unsettled.shown(rows, _as_sent(deliveries, knows), run.keep, sized=sized)
        rows = unsettled.with_shown(rows, shown)
    if knows.transactional:
        outcomes = run.spark.createDataFrame(transactions.outcomes(run.bronze.columns("transactions")))
    return silver.messages(rows, run.span.measure, outcomes)


def _as_sent(deliveries: DataFrame, knows: Knowledge) -> DataFrame:
    """The deliveries with the topic that their messages were sent to."""
    return deliveries if knows.passage is None else deliveries.withColumn(TOPIC, F.lit(knows.passage.source))


def doubted(run: Inputs, deliveries: DataFrame) -> Doubts | None:
    """What the generator may have added to latencies; None where nothing was sent."""
    if not run.knows.loads:
        return None
    return doubts(run.spark, run.bronze, run.knows, run.span, run.frame("sent"), deliveries)


def sent(run: Inputs, messages: DataFrame, doubted: Doubts | None) -> SentSide:
    """Latency of acknowledgement, schedule delay and rates of sending."""
    knows, bronze = run.knows, run.bronze
    values = expressions.values(which.sent_metrics(knows), throttled=knows.policy)
    sql = {name: value.sql for name, value in values.items()}
    summed = throughput.message_sums(messages, sql, by_topic=knows.tells_topics).toArrow()
    ages, problems, failed = None, [], {}
    if not bronze.extent("sent", "error").unknown:
        unsent = messages.where(f"fate = {silver.NEVER_SENT}")
        # What was never sent has an age since it was due only.
        ages = _ages(run, unsent, which.censored_metrics(knows))
        problems = accounts.problems(accounts.never_settled(messages)).toArrow().to_pylist()
        failed = backpressure.failures(messages) if knows.policy else {}
    next_seqs = knows.next_seqs
    missing = None if next_seqs is None else unsettled.unaccounted(run.spark, run.frame("sent"), next_seqs)
    counted = _counted(doubted.acked.beside(messages) if doubted else messages, values)
    return SentSide(Sums(summed), counted, ages, problems, failed, missing)


def received(run: Inputs, messages: DataFrame, deliveries: DataFrame, doubted: Doubts | None) -> ReceivedSide:
    """What became of the messages, and the latency of those that were delivered."""
    knows = run.knows
    findings = _findings(run, messages, deliveries)
    timed = _timed(deliveries, None if findings is None else findings.untimed, knows)
    staged = _staged(run, timed, doubted)
    values = expressions.values(
        which.received_metrics(knows), throttled=knows.policy, takes_all=not knows.leaves_in_client
    )
    timed_sql = {name: f"if(timed, {value.sql}, null)" for name, value in values.items()}
    by = [label for label, is_told in ((TOPIC, knows.tells_topics), (CONSUMER, knows.tells_workers)) if is_told]
    summed = throughput.delivery_sums(timed, timed_sql, by_sent=knows.policy, by=by).toArrow()
    chosen = timed.where("timed")
    counted = _counted(doubted.delivered.beside(chosen) if doubted and doubted.delivered else chosen, values)
    if findings is None:
        return ReceivedSide(Sums(summed), counted, staged=staged)
    classes = findings.classes
    found = {(row[GROUP], row[CLASS]): row.asDict() for row in accounts.class_counts(classes).collect()}
    ages = None
    if any((knows.timed_group, name) in found for name in NEVER_DELIVERED):
        ages = _ages_of_undelivered(run, classes)
    if knows.passage is not None:
        classes, found = source.problems(classes), source.told(found)
    problems = accounts.problems(classes).toArrow().to_pylist()
    return ReceivedSide(Sums(summed), counted, ages, found, problems, findings.dropped, staged)


def _findings(run: Inputs, messages: DataFrame, deliveries: DataFrame) -> Findings | None:
    """Classes of messages in doubt, and deliveries not to be timed; None where there is nothing to find."""
    knows, keep = run.knows, run.keep
    if not knows.consumes:
        return None
    if not knows.loads:
        found = repeats.repeated(deliveries, keep, all_sound=knows.all_sound)
        return found if which.received_metrics(knows) else replace(found, untimed=None)
    return judging.judged(run.spark, run.bronze, knows, messages, deliveries, keep)


def _timed(deliveries: DataFrame, untimed: DataFrame | None, knows: Knowledge) -> DataFrame:
    """Deliveries with `timed`: whether their latency counts."""
    timed = F.lit(True) if len(knows.groups) < 2 else F.expr(f"{GROUP} = {knows.timed_group}")
    if untimed is None or untimed.isEmpty():
        return deliveries.withColumn("timed", timed)
    joined = deliveries.join(untimed.withColumn("untimed", F.lit(True)), [*DELIVERY], "left")
    return joined.withColumn("timed", F.col("untimed").isNull() & timed)


def _staged(run: Inputs, timed: DataFrame, doubted: Doubts | None) -> Staged | None:
    """The stages of what is timed; None where nothing is passed on, or not both sent and received."""
    stages = which.known_stages(run.knows, run.bronze)
    if not stages or doubted is None or doubted.delivered is None:
        return None
    rows = waterfall.staged(run.spark, run.bronze, doubted.delivered.beside(timed), stages, run.knows)
    return waterfall.counted(run.keep(rows), stages)


def _ages_of_undelivered(run: Inputs, classes: DataFrame) -> pa.Table | None:
    knows, measure = run.knows, run.span.measure
    never = classes.where(F.col(CLASS).isin(*NEVER_DELIVERED) & (F.col(GROUP) == knows.timed_group)).selectExpr(
        "*",
        f"{silver.PLACE} as place",
        f"{silver.tick('coalesce(due_ns, sent_ns)', measure)} as {SELECTED}",
        f"{silver.tick(SENT_NS, measure)} as {SENT_TICK}",
    )
    return _ages(run, never, [name for name in which.censored_metrics(knows) if name not in expressions.ACK])


def _ages(run: Inputs, rows: DataFrame, metrics: Sequence[str]) -> pa.Table | None:
    """Histogram of the ages that messages had at the end of the run."""
    aged = rows.withColumn("ended_ns", F.lit(run.span.to_ns))
    return _counted(aged, {name: Value(expressions.AGES[name], "place") for name in metrics})


def _counted(rows: DataFrame, values: Mapping[str, Value]) -> pa.Table | None:
    """The histogram of some values; None where there are none."""
    return histogram(rows, values).toArrow() if values else None


def processed(run: Inputs, deliveries: DataFrame) -> Rows:
    """How long consumers took to process."""
    knows, measure = run.knows, run.span.measure
    if not knows.processing:
        return []
    counts = processing.counted(deliveries, measure, knows.delays).toArrow()
    return processing.rows_of(knows, run.bronze, counts, measure)


def replay(run: Inputs, messages: DataFrame, deliveries: DataFrame, received: ReceivedSide) -> OutstandingReplay | None:
    """What was outstanding; None where that cannot be told.

    Where a policy holds producers back, to the message: that is what it promises.
    """
    knows = run.knows
    if knows.outstanding_of is None:
        return None
    grid = lives.Grid.over(run.span, knows.every_ns)
    counted, deliveries = lives.is_counted(hides_aborted=knows.read_committed), _as_sent(deliveries, knows)
    if received.found or not knows.all_acked:
        lived = lives.doubted_lives(messages, deliveries, knows.groups, counted, with_frontier=knows.policy)
        lived = run.keep(lived)
    else:
        lived = lives.lives(deliveries, with_frontier=knows.policy)
    return OutstandingReplay.of(
        grid,
        lives.passages(messages, grid, counted, policy=knows.policy).toArrow(),
        lives.waits(lived, grid).toArrow(),
        lives.peaks(lived, grid).toArrow() if knows.policy else None,
        policy=knows.policy,
    )
