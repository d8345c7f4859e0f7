"""The steps that Spark works on: messages, deliveries, and what is asked of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.audit import NEVER_DELIVERED
from streamgauge.pipeline.audit import accounts, judging, repeats, source, transactions, unsettled
from streamgauge.pipeline.audit.audit import Findings, together
from streamgauge.pipeline.audit.words import InDoubt
from streamgauge.pipeline.columns import CLASS, CONSUMER, DELIVERY, GROUP, SELECTED, SENT_NS, SENT_TICK, TOPIC
from streamgauge.pipeline.metrics import doubt, expressions, processing, throughput, which
from streamgauge.pipeline.metrics.aggregates.histogram import Value, histogram
from streamgauge.pipeline.metrics.aggregates.sums import Sums
from streamgauge.pipeline.metrics.doubt import Doubts
from streamgauge.pipeline.pressure import backpressure, lives, redelivery
from streamgauge.pipeline.pressure.outstanding import OutstandingReplay
from streamgauge.pipeline.read import silver
from streamgauge.pipeline.read.rows import Row, Rows
from streamgauge.pipeline.read.traits import RunTraits
from streamgauge.pipeline.spark.joins import few
from streamgauge.pipeline.steps.step import Inputs
from streamgauge.pipeline.stream import waterfall
from streamgauge.pipeline.stream.waterfall import Staged


@dataclass(frozen=True, slots=True)
class SentSide:
    """What is learnt from messages alone."""

    sums: Sums
    ages: pa.Table | None
    """Histogram of the ages of messages that were never sent; None where there are none."""
    problems: list[Row]
    failed: dict[str, int]
    """How many messages failed or have no report, by error; counted only where a policy holds producers back."""
    by_second: Sequence[Row] = ()
    """Rows of `problem_counts`."""
    unaccounted: int | None = None
    """How many messages lack a row, or have too many; None where nobody says how many there should be."""


@dataclass(frozen=True, slots=True)
class ReceivedSide:
    """What is learnt from deliveries, and from messages beside them."""

    sums: Sums
    timed: DataFrame
    """Deliveries with `counts` (the first of their message) and `timed`: whether their latency counts."""
    ages: pa.Table | None = None
    """Histogram of the ages of messages that were never delivered; None where there are none."""
    found: source.Found = field(default_factory=dict)
    """How many findings there are; none where nothing was found that is not as in a healthy run."""
    problems: Sequence[Row] = ()
    dropped: Mapping[str, int] | None = None
    """Messages that were not to come out of a pipeline, by scope; None where nobody says which."""
    log_read: bool = False
    """Whether the log was read again after the drain."""
    by_second: Sequence[Row] = ()
    """Rows of `problem_counts`."""


class ReceivedLatency(NamedTuple):
    """How long deliveries took."""

    histogram: pa.Table | None
    staged: Staged | None
    """Their way through a pipeline; None where there is none."""


def deliveries(run: Inputs) -> DataFrame:
    """One row per delivery; where messages are delivered again, the first of each, with its first success."""
    traits, rows = run.traits, run.frame("received")
    if carrier := traits.acknowledge:
        rows = redelivery.folded(rows, traits.sent_topics, processing=traits.processing, in_place=carrier.in_place)
    return silver.deliveries(
        rows,
        run.span.measure,
        processing=traits.processing,
        drops=traits.drops,
        ahead_ns=traits.ahead_ns if traits.observes else None,
        piped=traits.piped,
    )


def messages(run: Inputs, deliveries: DataFrame) -> DataFrame:
    """One row per message; those of unknown fate with what their deliveries show of them."""
    traits, rows, outcomes = run.traits, run.frame("sent"), None
    if unsettled.is_shown(traits):
        sized = traits.piped is None or traits.piped.keeps_content
        shown = unsettled.shown(rows, _as_sent(deliveries, traits), run.keep, sized=sized)
        rows = unsettled.with_shown(rows, shown)
    if traits.transactional:
        outcomes = run.spark.createDataFrame(transactions.outcomes(run.bronze.columns("transactions")))
    return silver.messages(rows, run.span.measure, outcomes)


def _as_sent(deliveries: DataFrame, traits: RunTraits) -> DataFrame:
    """The deliveries with the topic that their messages were sent to."""
    return deliveries if traits.pipeline is None else deliveries.withColumn(TOPIC, F.lit(traits.pipeline.source))


def sent_cells(run: Inputs) -> doubt.SentCells | None:
    """How the generator sent; None where nothing was sent."""
    return doubt.sent_cells(run.bronze, run.traits, run.span, run.frame("sent")) if run.traits.loads else None


def doubted(run: Inputs, cells: doubt.SentCells | None, deliveries: DataFrame) -> Doubts | None:
    """What the generator may have added to latencies; None where nothing was sent."""
    if cells is None:
        return None
    return doubt.doubts(run.spark, run.bronze, run.traits, cells, run.frame("sent"), deliveries)


def sent(run: Inputs, messages: DataFrame) -> SentSide:
    """Schedule delay and rates of sending, and what became of messages that were not acknowledged."""
    traits, bronze = run.traits, run.bronze
    sql = {name: value.sql for name, value in _sent_values(traits).items()}
    summed = throughput.message_sums(messages, sql, by_topic=traits.tells_topics).toArrow()
    ages, problems, failed, by_second = None, [], {}, []
    if not bronze.extent("sent", "error").unknown:
        unsent = messages.where(f"report = {silver.NEVER_SENT}")
        # What was never sent has an age since it was due only.
        ages = _ages(run, unsent, which.censored_metrics(traits))
        never = accounts.never_settled(messages)
        problems = accounts.problems(never).toArrow().to_pylist()
        by_second = accounts.by_second(never, run.span.measure)
        failed = backpressure.failures(messages) if traits.policy else {}
    next_seqs = traits.next_seqs
    missing = None if next_seqs is None else unsettled.unaccounted(run.spark, run.frame("sent"), next_seqs)
    return SentSide(Sums(summed), ages, problems, failed, by_second, missing)


def sent_latency(run: Inputs, messages: DataFrame, doubted: Doubts | None) -> pa.Table | None:
    """Histogram of the latency of acknowledgement and of schedule delay, with what the generator may have added."""
    return _counted(doubted.acked.beside(messages) if doubted else messages, _sent_values(run.traits))


def _sent_values(traits: RunTraits) -> Mapping[str, Value]:
    return expressions.values(which.sent_metrics(traits), throttled=traits.policy)


def received(run: Inputs, messages: DataFrame, deliveries: DataFrame) -> ReceivedSide:
    """What became of the messages, and rates of receiving."""
    traits = run.traits
    log = judging.log_of(run.spark, run.bronze) if traits.loads else None
    rows = None
    if traits.loads:
        rows = judging.rows_in_doubt(
            run.spark, run.bronze, traits, messages, deliveries, log, run.keep, many=not run.is_small
        )
    findings = _findings(run, deliveries, rows)
    timed = _timed(deliveries, None if findings is None else findings.untimed, traits)
    timed_sql = {name: f"if(timed, {value.sql}, null)" for name, value in _received_values(traits).items()}
    by = [label for label, is_told in ((TOPIC, traits.tells_topics), (CONSUMER, traits.tells_workers)) if is_told]
    summed = throughput.delivery_sums(timed, timed_sql, by_sent=traits.policy, by=by).toArrow()
    told = None if findings is None else findings.classes
    more = None
    if rows is not None:
        ended = judging.endings_of(run.spark, run.bronze, traits)
        more = judging.beside(rows, told, ended, run.span.measure, transactional=traits.transactional)
    parts = [each for each in (told, more) if each is not None]
    if not parts:
        return ReceivedSide(Sums(summed), timed, log_read=log is not None)
    classes = run.keep(together(parts)) if len(parts) > 1 else parts[0]
    found = {(row[GROUP], row[CLASS]): row.asDict() for row in accounts.class_counts(classes).collect()}
    ages = None
    if any((traits.timed_group, name) in found for name in NEVER_DELIVERED):
        ages = _ages_of_undelivered(run, classes)
    if traits.pipeline is not None:
        classes, found = source.problems(classes), source.told(found)
    problems = accounts.problems(classes).toArrow().to_pylist()
    by_second = accounts.by_second(classes, run.span.measure)
    dropped = None if findings is None else findings.dropped
    return ReceivedSide(Sums(summed), timed, ages, found, problems, dropped, log is not None, by_second)


def received_latency(run: Inputs, received: ReceivedSide, doubted: Doubts | None) -> ReceivedLatency:
    """The latency of what was delivered, with what the generator may have added."""
    staged = _staged(run, received.timed, doubted)
    chosen = received.timed.where("timed")
    rows = doubted.delivered.beside(chosen) if doubted and doubted.delivered else chosen
    return ReceivedLatency(_counted(rows, _received_values(run.traits)), staged)


def _received_values(traits: RunTraits) -> Mapping[str, Value]:
    metrics = which.received_metrics(traits)
    return expressions.values(metrics, throttled=traits.policy, takes_all=not traits.leaves_in_client)


def _findings(run: Inputs, deliveries: DataFrame, rows: InDoubt | None) -> Findings | None:
    """Classes of messages in doubt, and deliveries not to be timed; None where there is nothing to find.

    `rows` are None where nothing is sent.
    """
    traits = run.traits
    if not traits.consumes:
        return None
    if rows is None:
        found = repeats.repeated(deliveries, run.keep, all_sound=traits.all_sound)
        return found if which.received_metrics(traits) else replace(found, untimed=None)
    return judging.judged(run.spark, run.bronze, traits, deliveries, rows)


def _timed(deliveries: DataFrame, untimed: DataFrame | None, traits: RunTraits) -> DataFrame:
    """Deliveries with `counts` (the first of their message) and `timed`: whether their latency counts."""
    timed = F.lit(True) if len(traits.groups) < 2 else F.expr(f"{GROUP} = {traits.timed_group}")
    if untimed is None or untimed.isEmpty():
        return deliveries.withColumn("counts", F.lit(True)).withColumn("timed", timed)
    joined = few(deliveries, untimed.withColumn("untimed", F.lit(True)), DELIVERY, "left")
    return joined.withColumn("counts", F.col("untimed").isNull()).withColumn("timed", F.col("counts") & timed)


def _staged(run: Inputs, timed: DataFrame, doubted: Doubts | None) -> Staged | None:
    """The stages of what is timed; None where nothing is passed on, or not both sent and received."""
    stages = which.known_stages(run.traits, run.bronze)
    if not stages or doubted is None or doubted.delivered is None:
        return None
    rows = waterfall.staged(run.spark, run.bronze, doubted.delivered.beside(timed), stages, run.traits)
    return waterfall.counted(run.keep(rows), stages)


def _ages_of_undelivered(run: Inputs, classes: DataFrame) -> pa.Table | None:
    traits, measure = run.traits, run.span.measure
    never = classes.where(F.col(CLASS).isin(*NEVER_DELIVERED) & (F.col(GROUP) == traits.timed_group)).selectExpr(
        "*",
        f"{silver.PLACE} as place",
        f"{silver.tick('coalesce(due_ns, sent_ns)', measure)} as {SELECTED}",
        f"{silver.tick(SENT_NS, measure)} as {SENT_TICK}",
    )
    return _ages(run, never, [name for name in which.censored_metrics(traits) if name not in expressions.ACK])


def _ages(run: Inputs, rows: DataFrame, metrics: Sequence[str]) -> pa.Table | None:
    """Histogram of the ages that messages had at the end of the run."""
    aged = rows.withColumn("ended_ns", F.lit(run.span.to_ns))
    return _counted(aged, {name: Value(expressions.AGES[name], "place") for name in metrics})


def _counted(rows: DataFrame, values: Mapping[str, Value]) -> pa.Table | None:
    """The histogram of some values; None where there are none."""
    return histogram(rows, values).toArrow() if values else None


def processed(run: Inputs, deliveries: DataFrame) -> Rows:
    """How long consumers took to process."""
    traits, measure = run.traits, run.span.measure
    if not traits.processing:
        return []
    counts = processing.counted(deliveries, measure, traits.delays).toArrow()
    return processing.rows_of(traits, run.bronze, counts, measure)


def replay(run: Inputs, messages: DataFrame, deliveries: DataFrame, received: ReceivedSide) -> OutstandingReplay | None:
    """What was outstanding; None where that cannot be told.

    Where a policy holds producers back, to the message: that is what it promises.
    """
    traits = run.traits
    if traits.outstanding_of is None:
        return None
    grid = lives.Grid.over(run.span, traits.every_ns)
    counted, deliveries = lives.is_counted(hides_aborted=traits.read_committed), _as_sent(deliveries, traits)
    doubted = bool(received.found) or not traits.all_acked
    if doubted:
        lived = lives.doubted_lives(messages, deliveries, traits.groups, counted, with_frontier=traits.policy)
        lived = run.keep(lived)
    else:
        lived = lives.lives(deliveries, with_frontier=traits.policy)
    return OutstandingReplay.of(
        grid,
        lives.progress(messages, grid, counted, policy=traits.policy).toArrow(),
        lives.waits(lived, grid).toArrow(),
        lives.peaks(lived, grid).toArrow() if traits.policy else None,
        lives.changes(lived, traits.outstanding_of, run.span.measure).toArrow() if doubted else None,
        policy=traits.policy,
    )
