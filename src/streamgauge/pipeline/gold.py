"""From the parts of a run to its tables: which questions a run can answer, and in which order they are asked."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.audit import NEVER_DELIVERED
from streamgauge.domain.folder.facts import RunFacts
from streamgauge.pipeline.audit import accounts, attempts, judging, repeats, source, transactions, unsettled
from streamgauge.pipeline.audit.audit import Findings
from streamgauge.pipeline.columns import DELIVERY
from streamgauge.pipeline.metrics import batches, latency, polls, processing, shapes, throughput
from streamgauge.pipeline.metrics import which as metrics
from streamgauge.pipeline.metrics.histogram import Counts, Value, histogram
from streamgauge.pipeline.metrics.latency import (
    ACK,
    END_TO_END,
    LATENESS,
    OF_SENDING,
    PROCESSING,
    SINCE_RECORD_TIME,
    THROTTLE,
    Histograms,
)
from streamgauge.pipeline.metrics.sums import Sums
from streamgauge.pipeline.pressure import backpressure, lag, outstanding, recovery
from streamgauge.pipeline.read import silver
from streamgauge.pipeline.read.bronze import Bronze
from streamgauge.pipeline.read.knowledge import Knowledge, knowledge, span_of
from streamgauge.pipeline.read.silver import Span
from streamgauge.pipeline.stream import query, waterfall
from streamgauge.pipeline.stream.stages import Stage
from streamgauge.pipeline.stream.waterfall import Staged

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
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
class Received:
    """What is learnt from deliveries, and from messages beside them."""

    sums: Sums
    histogram: pa.Table | None
    ages: pa.Table | None
    """Histogram of the ages of messages that were never delivered; None where there are none."""
    found: dict[tuple[int, str], dict[str, int]]
    problems: list[Row]
    dropped: Mapping[str, int] | None = None
    """Messages that were not to come out of a pipeline, by scope; None where nobody says which."""
    staged: Staged | None = None
    """Their way through a pipeline; None where there is none."""

    @property
    def is_doubted(self) -> bool:
        """Whether anything was found that is not as in a healthy run."""
        return bool(self.found)


@dataclass(slots=True)
class Questions:
    """The questions to one run. Every method asks one of them, and may be called from any thread."""

    spark: SparkSession
    facts: RunFacts
    bronze: Bronze
    knows: Knowledge
    span: Span
    _kept: list[DataFrame] = field(default_factory=list)
    _unsettled: DataFrame | None = None

    def prepare(self) -> None:
        """Find what deliveries show of messages of unknown fate, before any question is asked."""
        if unsettled.is_shown(self.knows):
            sent, deliveries = self.bronze.frame(self.spark, "sent"), self._as_sent(self._deliveries())
            sized = self.knows.piped is None or self.knows.piped.keeps_content
            self._unsettled = unsettled.shown(sent, deliveries, self._keep, sized=sized)

    def sent(self) -> Sent:
        """Latency of acknowledgement, lateness and rates of sending."""
        messages = self._messages()
        values = latency.values(self.sent_metrics, throttled=self.knows.policy)
        summed = throughput.message_sums(messages, {name: value.sql for name, value in values.items()}).toArrow()
        ages, problems, failed = None, [], {}
        if not self.bronze.extent("sent", "error").unknown:
            unsent = messages.where(f"fate = {silver.NEVER_SENT}")
            # What was never sent has an age since it was due only.
            ages = self._ages(unsent, self.censored_metrics)
            problems = accounts.problems(accounts.never_settled(messages)).toArrow().to_pylist()
            failed = backpressure.failures(messages) if self.knows.policy else {}
        next_seqs = self.knows.next_seqs
        rows = self.bronze.frame(self.spark, "sent")
        missing = None if next_seqs is None else unsettled.unaccounted(self.spark, rows, next_seqs)
        return Sent(Sums(summed), _counted(messages, values), ages, problems, failed, missing)

    def received(self) -> Received:
        """What became of the messages, and the latency of those that were delivered."""
        deliveries = self._deliveries()
        findings = self._findings(deliveries)
        timed = self._timed(deliveries, None if findings is None else findings.untimed)
        staged = self._staged(timed)
        values = latency.values(self.received_metrics, throttled=self.knows.policy)
        timed_sql = {name: f"if(timed, {value.sql}, null)" for name, value in values.items()}
        summed = throughput.delivery_sums(timed, timed_sql, by_sent=self.knows.policy).toArrow()
        counted = _counted(timed.where("timed"), values)
        if findings is None:
            return Received(Sums(summed), counted, None, {}, [], staged=staged)
        classes = findings.classes
        found = {(row["group"], row["class"]): row.asDict() for row in accounts.class_counts(classes).collect()}
        ages = None
        if any((self.knows.timed_group, name) in found for name in NEVER_DELIVERED):
            never = classes.where(F.col("class").isin(*NEVER_DELIVERED) & (F.col("group") == self.knows.timed_group))
            selected = silver.tick("coalesce(due_ns, sent_ns)", self.span.measure)
            sent = silver.tick("sent_ns", self.span.measure)
            never = never.selectExpr(
                "*", f"{silver.PLACE} as place", f"{selected} as selected", f"{sent} as {throughput.SENT_TICK}"
            )
            ages = self._ages(never, [name for name in self.censored_metrics if name not in ACK])
        if self.knows.passage is not None:
            classes, found = source.problems(classes), source.told(found)
        problems = accounts.problems(classes).toArrow().to_pylist()
        return Received(Sums(summed), counted, ages, found, problems, findings.dropped, staged)

    def processed(self) -> pa.Table:
        """How long consumers took to process."""
        return processing.counted(self._deliveries(), self.span.measure, self.knows.delays).toArrow()

    def replay(self, *, doubted: bool) -> outstanding.Replay | None:
        """What was outstanding; None where that cannot be told. `doubted` says that something is not as it should be.

        Where a policy holds producers back, to the message: that is what it promises.
        """
        knows = self.knows
        if knows.outstanding_of is None:
            return None
        grid = outstanding.Grid.over(self.span, knows.every_ns)
        counted = outstanding.is_counted(hides_aborted=knows.read_committed)
        messages, deliveries = self._messages(), self._as_sent(self._deliveries())
        if doubted or not knows.all_acked:
            lived = outstanding.doubted_lives(messages, deliveries, knows.groups, counted, with_frontier=knows.policy)
            lived = self._keep(lived)
        else:
            lived = outstanding.lives(deliveries, with_frontier=knows.policy)
        return outstanding.Replay.of(
            grid,
            outstanding.passages(messages, grid, counted, policy=knows.policy).toArrow(),
            outstanding.waits(lived, grid).toArrow(),
            outstanding.peaks(lived, grid).toArrow() if knows.policy else None,
            policy=knows.policy,
        )

    def release(self) -> None:
        """Let go of everything that was held."""
        while self._kept:
            self._kept.pop().unpersist()

    @property
    def sent_metrics(self) -> list[str]:
        """Metrics that are measured on messages."""
        knows = self.knows
        acks = [ACK[0]] * knows.scheduled + [ACK[1]] if knows.loads and knows.acks else []
        return acks + [LATENESS] * knows.scheduled + [*THROTTLE] * (knows.scheduled and knows.policy)

    @property
    def received_metrics(self) -> list[str]:
        """Metrics that are measured on deliveries."""
        knows = self.knows
        if knows.observes:
            return [SINCE_RECORD_TIME] if knows.stamps else []
        if not knows.consumes:
            return []
        both = (END_TO_END, PROCESSING) if knows.processing else (END_TO_END,)
        return [name for pair in both for name in (pair if knows.scheduled else pair[1:])]

    @property
    def censored_metrics(self) -> list[str]:
        """Metrics in which messages that never came count."""
        return [name for name in (*self.sent_metrics, *self.received_metrics) if name not in OF_SENDING]

    def _messages(self) -> DataFrame:
        outcomes = None
        if self.knows.transactional:
            outcomes = self.spark.createDataFrame(transactions.outcomes(self.bronze.columns("transactions")))
        rows = unsettled.with_shown(self.bronze.frame(self.spark, "sent"), self._unsettled)
        return silver.messages(rows, self.span.measure, outcomes)

    def _deliveries(self) -> DataFrame:
        rows = self.bronze.frame(self.spark, "received")
        ahead_ns = self.knows.ahead_ns if self.knows.observes else None
        processing, drops = self.knows.processing, self.knows.drops
        return silver.deliveries(
            rows, self.span.measure, processing=processing, drops=drops, ahead_ns=ahead_ns, piped=self.knows.piped
        )

    def _as_sent(self, deliveries: DataFrame) -> DataFrame:
        """The deliveries with the topic that their messages were sent to."""
        passage = self.knows.passage
        return deliveries if passage is None else deliveries.withColumn("topic", F.lit(passage.source))

    def _findings(self, deliveries: DataFrame) -> Findings | None:
        """Classes of messages in doubt, and deliveries not to be timed; None where there is nothing to find."""
        if not self.knows.consumes:
            return None
        if not self.knows.loads:
            found = repeats.repeated(deliveries, self._keep, all_sound=self.knows.all_sound)
            return found if self.received_metrics else replace(found, untimed=None)
        return judging.judged(self.spark, self.bronze, self.knows, self._messages(), deliveries, self._keep)

    def _staged(self, timed: DataFrame) -> Staged | None:
        """The stages of what is timed; None where nothing is passed on, or not both sent and received."""
        if not self.stages:
            return None
        rows = waterfall.staged(self.spark, self.bronze, timed, self.stages, self.knows)
        return waterfall.counted(self._keep(rows), self.stages)

    @property
    def stages(self) -> Sequence[Stage]:
        """The stages of a message on its way through a pipeline; none where there are none."""
        if self.knows.passage is None or not self.knows.loads or not self.knows.consumes:
            return ()
        return waterfall.known_stages(self.knows, self.bronze, metrics.why_no_schedule(self.knows))

    def _timed(self, deliveries: DataFrame, untimed: DataFrame | None) -> DataFrame:
        """Deliveries with `timed`: whether their latency counts."""
        timed = F.lit(True) if len(self.knows.groups) < 2 else F.expr(f"group = {self.knows.timed_group}")
        if untimed is None or untimed.isEmpty():
            return deliveries.withColumn("timed", timed)
        joined = deliveries.join(untimed.withColumn("untimed", F.lit(True)), [*DELIVERY], "left")
        return joined.withColumn("timed", F.col("untimed").isNull() & timed)

    def _ages(self, rows: DataFrame, metrics: Sequence[str]) -> pa.Table | None:
        """Histogram of the ages that messages had at the end of the run."""
        aged = rows.withColumn("ended_ns", F.lit(self.span.to_ns))
        return _counted(aged, {name: Value(latency.AGE_SQL[name], "place") for name in metrics})

    def _keep(self, frame: DataFrame) -> DataFrame:
        """The frame, worked out and held on disk until `release`."""
        kept = frame.persist(StorageLevel.DISK_ONLY)
        self._kept.append(kept)
        # Counting makes Spark hold every row, and know how many bytes they are when it plans a join with them.
        kept.count()
        return kept


def _counted(rows: DataFrame, values: Mapping[str, Value]) -> pa.Table | None:
    """The histogram of some values; None where there are none."""
    return histogram(rows, values).toArrow() if values else None


def answers(spark: SparkSession, facts: RunFacts, bronze: Bronze, threads: int) -> dict[str, pa.Table | list[Row]]:
    """Tables by name: all that Spark is needed for."""
    questions = Questions(spark, facts, bronze, knowledge(facts, bronze), span_of(facts, bronze))
    questions.prepare()
    with ThreadPoolExecutor(threads, thread_name_prefix="question") as pool:
        # The longest first: the others fill the gaps that it leaves on the cores.
        received, sent = pool.submit(questions.received), pool.submit(questions.sent)
        processed = pool.submit(questions.processed) if questions.knows.processing else None
        try:
            replay = pool.submit(questions.replay, doubted=received.result().is_doubted)
            return tables(
                questions, received.result(), sent.result(), processed.result() if processed else None, replay.result()
            )
        except BaseException:
            # The pool waits for its threads, and these for their jobs.
            spark.sparkContext.cancelAllJobs()
            raise
        finally:
            questions.release()


def tables(
    questions: Questions,
    received: Received,
    sent: Sent,
    processed: pa.Table | None,
    replay: outstanding.Replay | None,
) -> dict[str, pa.Table | list[Row]]:
    """The tables that follow from the answers; `processed` is None where consumers do no processing."""
    knows, span, bronze = questions.knows, questions.span, questions.bronze
    polled = polls.read(bronze.columns("polls"), span.measure)
    spans = {each.metric: each for each in (polled.spans(), *batches.read(bronze.columns("batches"), span.measure))}
    tried = attempts.attempt_rows(bronze.columns("attempts"), span.measure)
    resent = attempts.resent(tried)
    staged = received.staged
    counted = None if staged is None else staged.histogram
    delivered = Counts.of(sent.histogram, received.histogram, counted, *(each.histogram() for each in spans.values()))
    histograms = Histograms(delivered, Counts.of(sent.ages, received.ages))
    shown = [
        *metrics.metrics_of(knows, sent.sums, received.sums, spans),
        *metrics.stage_metrics(knows, questions.stages, staged),
    ]
    rows, cdf = latency.latency_rows(shown, histograms)
    return {
        "throughput": throughput.throughput(sent.sums, received.sums, span, knows),
        "latency": rows,
        "latency_buckets": latency.bucket_table(histograms),
        "cdf": cdf,
        "percentiles": shapes.percentile_rows(shown, histograms),
        "heat": shapes.heat_rows(shown, histograms),
        "lateness": latency.lateness_rows(sent.sums, delivered),
        "delivery": accounts.delivery_rows(
            knows, sent.sums, received.sums, received.found, resent, received.dropped or {}, sent.unaccounted
        ),
        "problems": [*sent.problems, *received.problems],
        "polls": polls.by_consumer(polled),
        "transactions": transactions.transaction_rows(bronze.columns("transactions"), span),
        "attempts": tried,
        "processing": [] if processed is None else processing.rows_of(knows, bronze, processed, span.measure),
        **_disturbed(questions, sent, replay, histograms, rows),
        **_piped(questions, sent, received, delivered),
    }


def _piped(questions: Questions, sent: Sent, received: Received, counts: Counts) -> dict[str, pa.Table | list[Row]]:
    """The tables of a pipeline in the measured path; without one they are empty."""
    knows, span, bronze = questions.knows, questions.span, questions.bronze
    kinds = ("progress", "advances", "query", "executors", "lookups", "resources")
    events = {kind: bronze.columns(kind).to_pylist() if knows.piped else [] for kind in kinds}
    marks = judging.marks_of(bronze, knows) if knows.piped else []
    through_ = source.rows(
        knows.passage,
        knows.groups if knows.loads else (),
        received.found,
        {scope: accounts.wanted(sent.sums, scope) for scope in ("run", "measure")},
        received.dropped,
        stood=bronze.rows("appended") > 0,
    )
    return {
        "through": through_,
        "waterfall": waterfall.waterfall_rows(received.staged, counts),
        **query.tables(knows, span, events, through_, marks),
    }


def _disturbed(
    questions: Questions, sent: Sent, replay: outstanding.Replay | None, histograms: Histograms, latencies: list[Row]
) -> dict[str, pa.Table | list[Row]]:
    """The tables of lag, of what holds producers back, and of what was done to the run."""
    knows, span, bronze = questions.knows, questions.span, questions.bronze
    grid = replay.grid if replay else None
    groups = outstanding.replayed(replay, knows.groups) if replay else {}
    sampled = lag.samples(bronze.only("lag", "moment", frozenset({lag.SAMPLE})).columns("lag"))
    faults = recovery.fault_rows(bronze.columns("faults"), span)
    series = {
        recovery.OUTSTANDING: recovery.outstanding_series(grid, groups, span) if grid else {},
        recovery.COMMITTED_LAG: recovery.committed_series(lag.together(sampled), span),
    }
    timed = {knows.timed_group, *([knows.passage.query] if knows.passage else [])}
    felt = recovery.Latencies.of(histograms, latencies, frozenset(timed), span, scheduled=knows.scheduled)
    decisions = bronze.columns("decisions")
    return {
        "lag": lag.lag_table(sampled, span),
        "outstanding": outstanding.table(replay, groups, span, scheduled=knows.scheduled, policy=knows.policy)
        if replay
        else [],
        "backpressure": backpressure.backpressure_rows(questions.facts, decisions, sent.failed, grid, groups, span),
        "faults": faults,
        "recovery": list(recovery.recovery_rows(faults, series, felt, throughput.sent_rate(sent.sums, span))),
    }
