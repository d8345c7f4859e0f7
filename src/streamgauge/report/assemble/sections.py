"""The parts of result.json: what the tables say, selected and named. Counts are divided by durations, no more."""

from collections.abc import Mapping
from typing import Final

from streamgauge.delivery.log import BY_LOG, CONFLICTS, LEDGER_CLASSES, TRUNCATED, WENT_BACK
from streamgauge.delivery.reports import unreported
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.latency.percentiles import NOTHING
from streamgauge.domain.tables.delivery import DELIVERY_COUNTS
from streamgauge.report.assemble.latencies import KINDS
from streamgauge.report.assemble.nulls import OLDER, Values, made, missing, with_reasons
from streamgauge.result.model.clients import DeliveriesOfNumber, ProcessingSection, RedeliverySection
from streamgauge.result.model.delivery import (
    DeliverySection,
    MissingMessage,
    TransactionsSection,
)
from streamgauge.result.model.latency import ScheduleDelaySection
from streamgauge.result.model.resources import (
    CollectorPauses,
    ConsumerPolls,
    CpuPerMessage,
    HostUsage,
    ProcessUsage,
    ResourcesSection,
)
from streamgauge.result.model.throughput import ThroughputSection, TimelineSecond
from streamgauge.scenario.profile import CLOSED_LOOP, NOT_HELD_BACK, NOT_PIPED
from streamgauge.scenario.profile.model import CLOSED
from streamgauge.verdict.checks.lag import asked_for_replicas
from streamgauge.verdict.evidence import Evidence, Row, worst_group

BYTES_PER_MB: Final = 1e6

NO_LOAD: Final = "nothing is sent"

NO_CONSUMERS: Final = "no consumers"

NOT_EXPECTED: Final = "the scenario's shares alone do not determine how often messages are delivered"

NOT_READ_AGAIN: Final = "the log was not read again after the drain: see `verify.log`"

MISSING: Final = ("lost", "undelivered", "failed", "expired", "unknown")

NAMED: Final = 10
"""Messages of a class that are named; the table `problems` has more."""

_RATES: Final = ("sent", "acked", "received", "processed")

_SENDING: Final = ("sent", "acked")

_SENDERS: Final = frozenset(
    {"sent", "acked", "failed", "unsent", "aborted", "resent", "fate_unknown", "unaccounted", TRUNCATED, CONFLICTS}
)

_LATER_COUNTS: Final = frozenset(
    {"aborted_received", "resent", "unread", "fate_unknown", "fate_unknown_received", "unaccounted"}
)
"""Counts that the first version did not know."""

OF_LAG: Final = ("admitted_per_second", "committed_lag", "position_lag", "time_lag_ms")


def throughput(run: Evidence) -> ThroughputSection:
    """Rates of the measure phase, each by the clock of its own event; MB are 10^6 bytes of value."""
    row, seconds = run.measured, run.measured_seconds
    out: Values = {"measured_seconds": seconds, "target_per_second": run.target_per_second}
    out |= _rates(run, row, seconds)
    for name in ("sent", "received"):
        rate = _rate(run, row, f"{name}_bytes", seconds)
        out[f"{name}_mb_per_second"] = None if rate is None else rate / BYTES_PER_MB
    return made(ThroughputSection, out, lambda key: _why_no_rate(run, key))


def _rates(run: Evidence, row: Row | None, seconds: float | None) -> Values:
    return {f"{name}_per_second": _rate(run, row, name, seconds) for name in _RATES}


def _rate(run: Evidence, row: Row | None, name: str, seconds: float | None) -> float | None:
    """A count by its duration; None where the run has no such stage."""
    has_stage = run.sends if name.startswith(_SENDING) else run.consumes
    return float(row[name]) / seconds if row and seconds and has_stage else None


def _why_no_rate(run: Evidence, key: str) -> str | None:
    stage = key.partition("_")[0]
    if stage in {"target", *_SENDING} and not run.sends:
        return NO_LOAD
    if stage == "target" and not run.has_schedule:
        return (
            CLOSED_LOOP
            if run.profile.pace is not None and run.profile.pace.kind == CLOSED
            else "the load has no target rate"
        )
    if stage not in {"measured", "target", *_SENDING} and not run.consumes:
        return NO_CONSUMERS
    if stage != "target" and run.measured is None:
        return missing("throughput")
    return None


def schedule_delay(run: Evidence) -> ScheduleDelaySection | None:
    """How late producers sent, all together and each; null where the load has no schedule or nothing was measured."""
    together = run.one("schedule_delay", producer=None)
    if together is None:
        return None
    each = [row for row in run.rows("schedule_delay") if row["producer"] is not None]
    return ScheduleDelaySection.model_validate({**together, "producers": each})


def delivery(run: Evidence) -> DeliverySection:
    """What became of the messages: of the whole run, of the measure phase, and of every group."""
    rows = run.matching("delivery", scope="run")
    groups = [row for row in rows if row.get("group") is not None]
    names = {group.id: group.name for group in run.facts.groups}
    worst = worst_group(rows)
    out = _account(run, worst)
    out["measure"] = _account(run, worst and run.one("delivery", scope="measure", group=worst["group"]))
    out["groups"] = [{"group": names.get(row["group"], str(row["group"])), **_account(run, row)} for row in groups]
    return DeliverySection.model_validate(out)


def _account(run: Evidence, row: Row | None) -> Values:
    known = row or {}
    out: Values = {name: known.get(name) for name in (*DELIVERY_COUNTS, "checked", "negative_latencies")}
    checked, received = known.get("checked"), known.get("received")
    out["checked_share"] = checked / received if checked is not None and received else None
    out["delivered_share"] = _delivered_share(run, known) if run.sends and run.consumes else None
    return with_reasons(out, lambda key: _why_no_count(run, row, key))


def _delivered_share(run: Evidence, row: Row) -> float | None:
    """Of the acknowledged messages that were to be received, how many were; None where a count is not known."""
    acked, *missing_counts = (row.get(name) for name in ("acked", "undelivered", "lost", "expired", "unknown"))
    if acked is None or None in missing_counts:
        return None
    piped = run.one("pipeline_delivery", scope=row.get("scope"), group=row.get("group")) or {}
    expected = acked - sum(row.get(name) or 0 for name in ("aborted", "unread")) - (piped.get("dropped") or 0)
    missing = sum(each or 0 for each in missing_counts)
    missing -= unreported(row.get("fate_unknown"), row.get("fate_unknown_received"))
    return max(0.0, 1 - missing / expected) if expected > 0 else None


def _why_no_count(run: Evidence, row: Row | None, key: str) -> str:
    if row is None:
        return missing("delivery")
    if not run.sends and key not in {"received", "corrupt", "checked", "checked_share"}:
        return NO_LOAD
    if not run.consumes and key not in _SENDERS:
        return NO_CONSUMERS
    if key in _LATER_COUNTS and row.get("fate_unknown") is None:
        # The newest of them: where it is known, the others are null for another reason.
        return OLDER
    return _why_not_counted(run, row, key)


def _why_not_counted(run: Evidence, row: Row, key: str) -> str:
    """Why a count is null that this version knows, of a run that could have it."""
    if key == "delivered_share":
        return "no acknowledged message was to be received" if row.get("acked") is not None else "cannot be decided"
    if key in LEDGER_CLASSES:
        return _why_not_in_ledger(run, row, key)
    if key == "unaccounted":
        measured = row["scope"] == "measure"
        return "a message without a row has no phase" if measured else "the number of claimed messages is not known"
    return "no checksum was verified" if key in {"corrupt", "checked", "checked_share"} else "cannot be decided"


def _why_not_in_ledger(run: Evidence, row: Row, key: str) -> str:
    if run.piped is not None and key != TRUNCATED:
        return "consumers read another topic than the producers write"
    if run.consumes and run.piped is None and row.get(WENT_BACK) is None:
        return OLDER
    return NOT_READ_AGAIN if key in BY_LOG else "transactions do not say when their end was asked for"


def transactions(run: Evidence) -> TransactionsSection | None:
    """How the transactions that ended in the measure phase did, by outcome; null where there are none."""
    rows = run.matching("transactions", scope="measure")
    return TransactionsSection.model_validate({row["outcome"]: row for row in rows}) if rows else None


def processing(run: Evidence) -> ProcessingSection | None:
    """How long consumers took to process: all together, each, and while each of the delays was asked for."""
    rows = run.rows("processing")
    together = next((row for row in rows if row["consumer"] is None and row["phase"] is None), None)
    if together is None:
        return None
    each = [row for row in rows if row["consumer"] is not None]
    phases = [row for row in rows if row["phase"] is not None]
    return ProcessingSection.model_validate({**together, "consumers": each, "phases": phases})


def why_absent(run: Evidence, section: str) -> str:
    """Why a whole section is null."""
    reasons = (
        (section == "compression", "load.codecs does not ask for it"),
        (section == "connections" and not run.profile.connections, "the scenario has none"),
        (section == "pipeline" and run.piped is None, NOT_PIPED),
        (section == "backpressure" and run.policy is None, NOT_HELD_BACK),
        (section == "processing" and not run.consumes, NO_CONSUMERS),
        (section == "replication" and not asked_for_replicas(run), "each partition has one replica"),
        (section == "warmup", "there is no warm-up"),
        (section == "rates", missing("throughput")),
        (section in {"schedule_delay", "transactions", "steps"} and not run.sends, NO_LOAD),
        (section == "redelivery", "offsets are committed: messages are not acknowledged one by one"),
        (section == "scorecards" and "fault_scores" in run.tables, "no fault was over"),
        (section == "scorecards", missing("fault_scores")),
        (section not in run.tables, missing(section)),
        (section == "processing" and run.profile.processing is None, "consumers do no processing"),
        (section == "schedule_delay" and run.profile.pace is not None and run.profile.pace.kind == CLOSED, CLOSED_LOOP),
        (section == "schedule_delay" and not run.has_schedule, "the load has no schedule"),
        (section == "steps", "the load has one rate, or repeats itself"),
        (section == "transactions" and not run.rows(section), "the load has no transactions"),
        (section == "lag", "lag was not sampled, and only a run that produces and consumes has outstanding messages"),
        (section == "faults", "no faults were injected"),
        (section == "recovery", "no fault ended before the load did"),
    )
    return next((reason for holds, reason in reasons if holds), NOTHING)


def redelivery(run: Evidence) -> RedeliverySection | None:
    """Deliveries of messages that are acknowledged one by one, of the first group; null where there are none."""
    rows = run.rows("redelivery")
    if not rows:
        return None
    row = min(rows, key=lambda each: int(each["group"]))
    numbered = run.matching("deliveries_by_number", group=row["group"])
    by_number = [{name: each[name] for name in DeliveriesOfNumber.model_fields} for each in numbered]
    expected = [each["expected"] for each in numbered]
    messages = row["messages"]
    out: Values = {
        **{name: value for name, value in row.items() if name != "group"},
        "deliveries_per_message": row["deliveries"] / messages if messages else None,
        "expected_per_message": sum(expected) / messages if messages and None not in expected else None,
        "dead_share": row["dead"] / messages if messages else None,
        "by_number": by_number,
    }

    def why(key: str) -> str:
        if key.startswith("expected"):
            return NOT_EXPECTED
        return OLDER if key == "overtaken" else NOTHING

    return made(RedeliverySection, out, why)


def missing_messages(run: Evidence) -> list[MissingMessage]:
    """The first messages of each class that did not come back, by name; `delivery` counts them all."""
    topics = {topic.id: topic.name for topic in run.facts.topics}
    return [
        MissingMessage.model_validate({**row, "topic": topics.get(row["topic"])})
        for name in MISSING
        for row in run.matching("problems", **{"class": name})[:NAMED]
    ]


def resources(run: Evidence) -> ResourcesSection:
    """What processes and host used in the measure phase, pauses of the collector, and how consumers polled."""
    used = run.matching("resources", scope="measure")
    host = next((row for row in used if row["role"] == "host"), None)
    processes = [ProcessUsage.model_validate(row) for row in used if row["role"] != "host"]
    rate = _rate(run, run.measured, "sent" if run.sends else "received", run.measured_seconds)
    return ResourcesSection(
        processes=processes,
        host=None if host is None else HostUsage.model_validate(host),
        garbage_collection=_pauses(run),
        polls=[ConsumerPolls.model_validate(row) for row in run.rows("polls")],
        cpu_us_per_message=CpuPerMessage.of(processes, rate),
    )


def _pauses(run: Evidence) -> CollectorPauses | None:
    """Pauses of embedded brokers; null where there are no such brokers to look at."""
    if "gc" not in run.tables or not run.facts.broker.processes:
        return None
    pauses = run.pauses_ms()
    return CollectorPauses(pauses=len(pauses), total_ms=sum(pauses), longest_ms=max(pauses, default=None))


def timeline(run: Evidence, lag: Mapping[int, Values]) -> list[TimelineSecond]:
    """One object for each second of the run, warm-up (negative) and drain included; `lag` is what is known of it."""
    by_window: dict[int, dict[str, Row]] = {}
    for row in run.matching("latency", scope="window"):
        by_window.setdefault(row["second"], {})[row["metric"]] = row
    windows = sorted(run.matching("throughput", scope="window"), key=lambda row: int(row["second"]))
    return [_window(run, row, by_window.get(row["second"], {}), lag.get(row["second"], {})) for row in windows]


def _window(run: Evidence, row: Row, metrics: Mapping[str, Row], lag: Values) -> TimelineSecond:
    seconds = (row["duration_ns"] or 0) / NS_PER_SECOND
    out: Values = {"second": row["second"], **_rates(run, row, seconds), **{name: lag.get(name) for name in OF_LAG}}
    for path in ("ack", "end_to_end"):
        out[path] = {kind: metrics.get(f"{path}_{kind}") for kind in KINDS}
    out["outstanding"] = row["outstanding"]
    out["errors"] = row["failed"] + row["unsent"] if run.sends else None
    out["due_per_second"] = row["due"] / seconds if run.has_schedule and seconds else None
    return TimelineSecond.model_validate(out)
