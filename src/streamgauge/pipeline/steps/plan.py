"""The steps of an analysis, in the order in which they are preferred; and those of them that need no Spark."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa

from streamgauge.domain.tables import delivery, machine, pressure, query, schemas
from streamgauge.domain.tables import latency as latencies
from streamgauge.domain.tables import throughput as flow
from streamgauge.pipeline.audit import accounts, attempts, judging, source, transactions
from streamgauge.pipeline.machine.client import client_rows, wire
from streamgauge.pipeline.machine.connections import connection_rows
from streamgauge.pipeline.machine.gc import pauses
from streamgauge.pipeline.machine.resources import resources
from streamgauge.pipeline.metrics import latency, polls, shapes, throughput, which
from streamgauge.pipeline.metrics import steps as of_steps
from streamgauge.pipeline.metrics.aggregates import tables as counted
from streamgauge.pipeline.metrics.aggregates.bounds import Widths
from streamgauge.pipeline.metrics.aggregates.histogram import Counts, Histograms, widths_of
from streamgauge.pipeline.metrics.expressions import OF_SENDING
from streamgauge.pipeline.metrics.latency import Metric
from streamgauge.pipeline.metrics.spans import of_batches
from streamgauge.pipeline.pressure import backpressure, lag, outstanding, rebalances, recovery, redelivery, replication
from streamgauge.pipeline.pressure.outstanding import Outstanding, OutstandingReplay
from streamgauge.pipeline.read.bronze import UNREADABLE
from streamgauge.pipeline.read.rows import Row, Rows
from streamgauge.pipeline.steps import questions
from streamgauge.pipeline.steps.around import around_faults
from streamgauge.pipeline.steps.questions import ReceivedLatency, ReceivedSide, SentSide
from streamgauge.pipeline.steps.step import Inputs, Step, Tables
from streamgauge.pipeline.stream import query as queries
from streamgauge.pipeline.stream import waterfall
from streamgauge.scenario.profile import recorded_profile
from streamgauge.scenario.profile.steps import LoadStep, load_steps

_Groups = Mapping[int, Outstanding]


class _Measured(NamedTuple):
    """Every latency of the run, its histograms, and how wide its messages are."""

    metrics: list[Metric]
    histograms: Histograms
    widths: Mapping[str, Widths]


def _polled(run: Inputs) -> polls.Polls:
    return polls.read(run.bronze.columns("polls"), run.span.measure)


def _measured(
    run: Inputs,
    sent: SentSide,
    received: ReceivedSide,
    acked: pa.Table | None,
    delivered: ReceivedLatency,
    polled: polls.Polls,
) -> _Measured:
    """What Spark counted of latencies, put together with what is few enough to be counted here."""
    staged, waited = delivered.staged, of_batches(run.bronze.columns("batches"), run.span.measure)
    spans = {each.metric: each for each in (*polled.spans(), *waited)}
    stages = None if staged is None else staged.histogram
    counted = (acked, delivered.histogram, stages, *(each.histogram() for each in spans.values()))
    metrics = [
        *which.metrics_of(run.traits, sent.sums, received.sums, spans),
        *which.stage_metrics(run.traits, which.known_stages(run.traits, run.bronze), staged),
    ]
    histograms = Histograms(Counts.of(*counted), Counts.of(sent.ages, received.ages))
    return _Measured(metrics, histograms, widths_of(histograms.delivered, OF_SENDING))


def _load_steps(run: Inputs) -> list[LoadStep]:
    return load_steps(recorded_profile(run.facts.profile, run.facts.scenario).pace, run.span.measure_ns)


def _latency(run: Inputs, sent: SentSide, measured: _Measured) -> Tables:
    metrics, histograms = measured.metrics, measured.histograms
    rows, cdf = latency.latency_rows(metrics, histograms, _load_steps(run))
    return {
        "latency": rows,
        "cdf": cdf,
        "latency_buckets": counted.bucket_table(histograms),
        "percentiles": shapes.percentile_rows(metrics, histograms),
        "heat": shapes.heat_rows(metrics, histograms),
        "schedule_delay": latency.schedule_delay_rows(sent.sums, histograms.delivered),
    }


def _steps(run: Inputs, received: ReceivedSide, rates: Rows, shown: Mapping[str, Any]) -> Rows:
    path, arrived = "end_to_end" if run.traits.consumes else "ack", throughput.arrivals(received.sums, run.traits)
    return of_steps.step_rows(_load_steps(run), rates, shown["latency"], path, arrived)


def _bounds(run: Inputs, measured: _Measured) -> Tables:
    """Nothing of a run that was recorded before there were bounds."""
    told = run.traits.tells_bounds
    rows = latency.bound_rows(*measured, _load_steps(run)) if told else []
    return {"bounds": rows, "latency_widths": counted.width_table(measured.widths) if told else []}


def _sampling(run: Inputs, measured: _Measured) -> Rows:
    return latency.sampling_rows(measured.metrics, measured.histograms, run.traits.cycle_ns)


def _throughput(run: Inputs, sent: SentSide, received: ReceivedSide, replay: OutstandingReplay | None) -> Rows:
    return throughput.throughput(sent.sums, received.sums, run.span, run.traits, replay.changes if replay else None)


def _topics(run: Inputs, sent: SentSide, received: ReceivedSide) -> Rows:
    return throughput.by_topic(sent.sums, received.sums, run.span) if run.traits.tells_topics else []


def _workers(run: Inputs, sent: SentSide, received: ReceivedSide) -> Rows:
    return throughput.by_worker(sent.sums, received.sums, run.span) if run.traits.tells_workers else []


def _rebalances(run: Inputs) -> Rows:
    """Nothing where a single consumer reads: it has nobody to hand a partition to."""
    readers = run.bronze.extent("received", "consumer")
    if readers.low == readers.high:
        return []
    try:
        return rebalances.rebalance_rows(run.bronze.each("received", rebalances.COLUMNS), run.span)
    except UNREADABLE:
        # Spark reads the same pages and fails too: all steps begin again without the damaged part.
        return []


def _replication(run: Inputs) -> Tables:
    replicas, followers = (run.bronze.columns(kind).to_pylist() for kind in ("replicas", "followers"))
    return {**replication.tables_of(replicas, followers, run.span)}


def _attempts(run: Inputs) -> Rows:
    return attempts.attempt_rows(run.bronze.columns("resends"), run.span.measure)


def _delivery(run: Inputs, sent: SentSide, received: ReceivedSide, tried: list[Row]) -> Tables:
    resent, dropped = attempts.resent(tried), received.dropped or {}
    counts = accounts.delivery_rows(
        run.traits, sent.sums, received.sums, received.found, resent, dropped, sent.unaccounted,
        log_read=received.log_read,
    )  # fmt: skip
    problems = [*sent.problems, *received.problems]
    return {"delivery": counts, "problems": problems, "problem_counts": [*sent.by_second, *received.by_second]}


def _redelivery(run: Inputs) -> Tables:
    """Nothing where messages are not acknowledged one by one."""
    if (carrier := run.traits.acknowledge) is None:
        return {"redelivery": [], "deliveries_by_number": []}
    frames = run.frame("received"), run.frame("attempts")
    rows = redelivery.delivered(*frames, run.traits.ahead_ns, run.traits.sent_topics, carrier, run.traits.dead)
    return {**redelivery.tables_of(run.keep(rows), carrier, run.traits.groups)}


def _transactions(run: Inputs) -> Rows:
    return transactions.transaction_rows(run.bronze.columns("transactions"), run.span)


def _groups(run: Inputs, replay: OutstandingReplay | None) -> _Groups:
    return outstanding.replayed(replay, run.traits.groups) if replay else {}


def _outstanding(run: Inputs, replay: OutstandingReplay | None, groups: _Groups) -> pa.Table | Rows:
    scheduled, policy = run.traits.scheduled, run.traits.policy
    return outstanding.table(replay, groups, run.span, scheduled=scheduled, policy=policy) if replay else []


def _backpressure(run: Inputs, sent: SentSide, replay: OutstandingReplay | None, groups: _Groups) -> Rows:
    decisions, grid = run.bronze.columns("decisions"), replay.grid if replay else None
    return backpressure.backpressure_rows(run.facts, decisions, sent.failed, grid, groups, run.span)


def _sampled(run: Inputs) -> pa.Table:
    return lag.samples(run.bronze.only("lag", "moment", frozenset({lag.SAMPLE})).columns("lag"))


def _recovery(
    run: Inputs,
    sent: SentSide,
    measured: _Measured,
    shown: Mapping[str, Any],
    sampled: pa.Table,
    replay: OutstandingReplay | None,
    groups: _Groups,
) -> Tables:
    traits, span = run.traits, run.span
    faults = recovery.fault_rows(run.bronze.columns("faults"), span)
    series = {
        recovery.OUTSTANDING: recovery.outstanding_series(replay.grid, groups, span) if replay else {},
        recovery.COMMITTED_LAG: recovery.committed_series(lag.together(sampled), span),
    }
    timed = frozenset({traits.timed_group, *([traits.pipeline.query] if traits.pipeline else [])})
    widths = measured.widths if traits.tells_bounds else {}
    felt = recovery.WindowLatencies.of(
        measured.histograms, widths, shown["latency"], timed, span, scheduled=traits.scheduled
    )
    rate = throughput.sent_rate(sent.sums, span)
    return {"faults": faults, "recovery": list(recovery.recovery_rows(faults, series, felt, rate))}


def _pipeline_delivery(run: Inputs, sent: SentSide, received: ReceivedSide) -> Rows:
    acked = {scope: accounts.wanted(sent.sums, scope) for scope in ("run", "measure")}
    groups, stood = run.traits.groups if run.traits.loads else (), run.bronze.rows("appended") > 0
    return source.rows(run.traits.pipeline, groups, received.found, acked, received.dropped, stood=stood)


def _query(run: Inputs, delivery: Rows) -> Mapping[str, Rows]:
    traits, bronze = run.traits, run.bronze
    kinds = ("progress", "advances", "query", "executors", "lookups", "resources")
    events = {kind: bronze.columns(kind).to_pylist() if traits.piped else [] for kind in kinds}
    ends = judging.ends_of(bronze, traits) if traits.piped else []
    return queries.tables(traits, run.span, events, delivery, ends)


def _machine(run: Inputs) -> Tables:
    bronze, span, facts = run.bronze, run.span, run.facts
    profile = recorded_profile(facts.profile, facts.scenario)
    clients = bronze.columns("client").to_pylist()
    return {
        "resources": resources(bronze.columns("resources").to_pylist(), span),
        "wire": wire(clients, span),
        "client": client_rows(clients, span),
        "connections": connection_rows(bronze.columns("connections"), profile.connections, span),
        "gc": [
            pause
            for process, lines in run.gc_logs.items()
            for pause in pauses(process, lines, span.measure.from_ns)
            # A broker that many runs share has collected garbage before.
            if pause["at_ns"] >= facts.monotonic_ns
        ],
    }


_OF_LATENCY: Final = (
    latencies.LATENCY, latencies.CDF, latencies.LATENCY_BUCKETS, latencies.PERCENTILE_CURVE, latencies.HEAT,
    latencies.SCHEDULE_DELAY,
)  # fmt: skip
_OF_DELIVERY: Final = (delivery.DELIVERY, delivery.PROBLEMS, delivery.PROBLEM_COUNTS)
_OF_MACHINE: Final = (
    machine.RESOURCES_BY_INTERVAL, machine.WIRE, machine.CLIENT_BY_INTERVAL, machine.CONNECTIONS_BY_KIND, machine.GC,
)  # fmt: skip
_OF_REPLICAS: Final = (pressure.REPLICATION, pressure.PARTITION_REPLICAS, pressure.FOLLOWERS_BY_NODE)
_OF_FAULTS: Final = (pressure.FAULT_SCORES, pressure.FAULT_PARTITIONS)
_OF_QUERY: Final = tuple(each for each in query.QUERY_TABLES if each not in {query.PIPELINE_DELIVERY, query.WATERFALL})

STEPS: Final = (
    Step("deliveries", (), questions.deliveries),
    Step("messages", ("deliveries",), questions.messages),
    # What most others wait for goes first: they fill the gaps that it leaves on the cores.
    Step("received", ("messages", "deliveries"), questions.received),
    Step("sent_cells", (), questions.sent_cells),
    Step("doubted", ("sent_cells", "deliveries"), questions.doubted),
    Step("sent", ("messages",), questions.sent),
    Step("received_latency", ("received", "doubted"), questions.received_latency),
    Step("sent_latency", ("messages", "doubted"), questions.sent_latency),
    Step("replay", ("messages", "deliveries", "received"), questions.replay),
    Step("processing", ("deliveries",), questions.processed, (flow.PROCESSING,)),
    Step("polled", (), _polled),
    Step("polls", ("polled",), lambda _, polled: polls.by_consumer(polled), (flow.POLLS_BY_CONSUMER,)),
    Step("rebalances", (), _rebalances, (pressure.REBALANCES,)),
    Step("replication", (), _replication, _OF_REPLICAS),
    Step("resends", (), _attempts, (delivery.RESENDS_BY_ERROR,)),
    Step("redelivery", (), _redelivery, (delivery.REDELIVERY, delivery.DELIVERIES_BY_NUMBER)),
    Step("transactions", (), _transactions, (delivery.TRANSACTIONS_BY_OUTCOME,)),
    Step("machine", (), _machine, _OF_MACHINE),
    Step("set_aside", (), lambda run: list(run.bronze.set_aside), (schemas.SET_ASIDE,)),
    Step("sampled", (), _sampled),
    Step("lag", ("sampled",), lambda run, sampled: lag.lag_table(sampled, run.span), (pressure.LAG_SAMPLES,)),
    Step("lag_heat", ("sampled",), lambda run, sampled: lag.heat(sampled, run.span), (pressure.LAG_HEAT,)),
    Step("topics", ("sent", "received"), _topics, (flow.TOPIC_THROUGHPUT,)),
    Step("workers", ("sent", "received"), _workers, (flow.WORKER_THROUGHPUT,)),
    Step("delivery", ("sent", "received", "resends"), _delivery, _OF_DELIVERY),
    Step("measured", ("sent", "received", "sent_latency", "received_latency", "polled"), _measured),
    Step("latency", ("sent", "measured"), _latency, _OF_LATENCY),
    Step("bounds", ("measured",), _bounds, (latencies.BOUNDS, latencies.LATENCY_WIDTHS)),
    Step("sampling", ("measured",), _sampling, (latencies.SAMPLING,)),
    Step("pipeline_delivery", ("sent", "received"), _pipeline_delivery, (query.PIPELINE_DELIVERY,)),
    Step(
        "waterfall",
        ("received_latency", "measured"),
        lambda _, received, measured: waterfall.waterfall_rows(received.staged, measured.histograms.delivered),
        (query.WATERFALL,),
    ),
    Step("query", ("pipeline_delivery",), _query, _OF_QUERY),
    Step("throughput", ("sent", "received", "replay"), _throughput, (flow.THROUGHPUT,)),
    Step("steps", ("received", "throughput", "latency"), _steps, (flow.STEPS,)),
    Step("groups", ("replay",), _groups),
    Step("outstanding", ("replay", "groups"), _outstanding, (pressure.OUTSTANDING,)),
    Step("backpressure", ("sent", "replay", "groups"), _backpressure, (pressure.BACKPRESSURE,)),
    Step(
        "recovery",
        ("sent", "measured", "latency", "sampled", "replay", "groups"),
        _recovery,
        (pressure.FAULTS, pressure.RECOVERY),
    ),
    Step("fault_scores", ("messages", "received", "replication"), around_faults, _OF_FAULTS),
)
