"""Results of SSP_kafka: `results-*.json`."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Final

from streamgauge.domain.errors import BadValue
from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import (
    ForeignError,
    FoundDefect,
    Measured,
    MeasuredLag,
    MeasuredLatency,
    MeasuredSpan,
)
from streamgauge.foreign.results.values import (
    amount,
    an_object,
    checked_order,
    count,
    exact_point,
    go_duration_ns,
    known,
    known_counts,
    maybe_amount,
    maybe_count,
    objects,
)

_PERCENTILES: Final = {
    "P50": 50.0, "P75": 75.0, "P90": 90.0, "P95": 95.0, "P99": 99.0, "P995": 99.5, "P999": 99.9, "P9999": 99.99,
}  # fmt: skip
_EDGES_MS: Final = (
    0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5,
    5e5,
)  # fmt: skip
_MIB: Final = 1_048_576
_TOLERANCE: Final = 1.05
"""A lag of at most so many times the floor has recovered."""
_FEWEST: Final = 3


def recognises(file: ForeignFile) -> bool:
    """Whether it is JSON with the sections of SSP_kafka."""
    head = file.head()
    return head.lstrip().startswith("{") and '"payload_mode"' in head and '"target_rate"' in head


def read(files: Sequence[ForeignFile], _asked: Asked) -> list[Measured]:
    """The run of one file; raises ForeignError."""
    document = files[0].document()
    if missing := next((key for key in ("config", "final", "timeline") if key not in document), None):
        raise ForeignError(f"has no `{missing}`")
    config, final = an_object(document["config"], "config"), an_object(document["final"], "final")
    timeline = objects(document["timeline"], "timeline")
    lag = [
        (amount(row.get("elapsed_s"), "lag_timeline.elapsed_s"), count(row.get("total_lag"), "total_lag"))
        for row in objects(document.get("lag_timeline"), "lag_timeline")
    ]
    warmup = maybe_amount(config, "warmup_s") or 0.0
    sent, received = maybe_count(final, "messages_sent"), maybe_count(final, "messages_received")
    mib = maybe_amount(final, "throughput_mb_per_sec")
    rates = known(
        target_per_second=maybe_amount(config, "target_rate"),
        acked_per_second=maybe_amount(final, "avg_rate_msg_per_sec"),
        received_per_second=maybe_amount(final, "avg_recv_rate_msg_per_sec"),
        sent_mb_per_second=None if mib is None else mib * _MIB / 1e6,
    )
    drain, drained = _drain(document, config, lag, warmup)
    share, of_share = _delivery(document, sent, received)
    return [
        Measured(
            tool="SSP_kafka",
            form="results JSON",
            name=files[0].stem.removeprefix("results-") or "ssp",
            seconds=maybe_amount(final, "elapsed_s"),
            throughput=rates,
            delivery=known_counts(acked=sent, received=received, failed=maybe_count(final, "errors")),
            latencies=[
                found for key, place in (("ack_latency_ms", "ack"), ("e2e_latency_ms", "end_to_end"))
                if (found := _latency(final, key, place))
            ],
            spans=list(_spans(timeline)),
            interval_s=amount(timeline[0].get("elapsed_s"), "elapsed_s") or None if timeline else None,
            # Its lag is sampled from before the warm-up; here seconds count from the start of the measurement.
            lag=MeasuredLag([(at - warmup, total) for at, total in lag]) if lag else None,
            scenario=_scenario(config),
            settings=config,
            figures=drain | share | _collections(document),
            broker=", ".join(map(str, brokers)) if isinstance(brokers := config.get("brokers"), list) else None,
            defects=[*_cpu(document), *drained, *of_share, *_transient(config)],
            notes=["Latency counts from the send, and messages that were held back are not in it"],
        )
    ]  # fmt: skip


def _latency(final: Mapping[str, Any], key: str, place: str) -> MeasuredLatency | None:
    found = an_object(final.get(key), key)
    total = maybe_count(found, "Count")
    if not found or total == 0:
        return None
    points = [
        exact_point(percent, amount(found[name], name)) for name, percent in _PERCENTILES.items() if name in found
    ]
    buckets = found.get("CDFBuckets")
    return MeasuredLatency(
        name=key, unit="ms", resolution="us, of all messages", place=place, kind="service", count=total,
        min_ms=maybe_amount(found, "Min"), mean_ms=maybe_amount(found, "Mean"), max_ms=maybe_amount(found, "Max"),
        stddev_ms=maybe_amount(found, "StdDev"), mad_ms=maybe_amount(found, "MAD"),
        points=checked_order(points, key), cdf=_cdf(buckets) if isinstance(buckets, list) else (),
    )  # fmt: skip


def _cdf(buckets: Sequence[Any]) -> list[tuple[float, float]]:
    counts = [count(each, "CDFBuckets") for each in buckets]
    if len(counts) != len(_EDGES_MS) + 1 or not sum(counts):
        return []
    reached, found = 0, []
    for edge, each in zip(_EDGES_MS, counts, strict=False):
        reached += each
        found.append((edge, reached / sum(counts)))
    return found


def _spans(timeline: Sequence[Mapping[str, Any]]) -> Iterator[MeasuredSpan]:
    before, errors = 0.0, 0
    names = {
        "acked_per_second": "inst_rate", "received_per_second": "recv_rate",
        "ack.service.p50_ms": "ack_p50_ms", "ack.service.p99_ms": "ack_p99_ms",
        "end_to_end.service.p50_ms": "e2e_p50_ms", "end_to_end.service.p99_ms": "e2e_p99_ms",
    }  # fmt: skip
    for row in timeline:
        now = amount(row.get("elapsed_s"), "elapsed_s")
        if now < before:
            raise ForeignError("has a timeline that goes back")
        found = {key: maybe_amount(row, name) for key, name in names.items()}
        total = maybe_count(row, "errors")
        values = known(**found) | ({} if total is None else {"errors": total - errors})
        errors = total or errors
        yield MeasuredSpan(before, now, values)
        before = now


def _scenario(config: Mapping[str, Any]) -> dict[str, Any]:
    """What means the same here."""
    load = {"rate": config.get("target_rate"), "producers": config.get("producers"), "size": config.get("message_size"),
            "client": {"acks": config.get("acks"), "compression.type": config.get("compression")}}  # fmt: skip
    return {"load": load, "consume": {"consumers": config.get("consumers")},
            "topic": {"partitions": config.get("partitions")}}  # fmt: skip


def _collections(document: Mapping[str, Any]) -> dict[str, float]:
    summary = an_object(document.get("sysperf_summary"), "sysperf_summary")
    return known(
        **{key: maybe_amount(summary, key) for key in ("num_gc", "gc_pause_total_ms", "max_heap_alloc_mb")}
    ) | (known(bp_events=maybe_amount(document, "bp_events"), bp_paused_s=maybe_amount(document, "bp_paused_s")))


def _cpu(document: Mapping[str, Any]) -> Iterator[FoundDefect]:
    summary = an_object(document.get("sysperf_summary"), "sysperf_summary")
    for key in ("avg_cpu_fraction_pct", "max_cpu_fraction_pct"):
        if (written := maybe_amount(summary, key)) is not None:
            what = "it includes idle time of Go's scheduler, so that it is about 100 % in every run"
            yield FoundDefect(key, what, "left_out", written)


def _transient(config: Mapping[str, Any]) -> Iterator[FoundDefect]:
    if maybe_amount(config, "warmup_s"):
        what = "the group is built anew after the warm-up: p99.9 and above are of that start"
        yield FoundDefect("latency.end_to_end.service.p99_9_ms", what, "kept")


def _drain(
    document: Mapping[str, Any], config: Mapping[str, Any], lag: Sequence[tuple[float, int]], warmup: float
) -> tuple[dict[str, float], list[FoundDefect]]:
    """The drain from the samples of the lag: from where its cause ends to the first one near the floor.

    The floor is what is left because offsets are committed now and then: the median of the settled tail.
    """
    summary = an_object(document.get("lag_summary"), "lag_summary")
    written = maybe_amount(summary, "recovery_drain_rate_msg_per_sec")
    what = "lag / time until 0, which committed lag does not reach: the time is mostly that of the settled tail"
    figure = "recovery_drain_rate_msg_per_sec"
    if not written:
        return {}, []
    peak_at, peak = max(lag, key=lambda each: each[1], default=(0.0, 0))
    cause_ends = warmup + found if (found := _seconds(config.get("phase_duration"))) else peak_at
    after = [(at, total) for at, total in lag if at >= cause_ends]
    tail = [total for _, total in after[len(after) // 2 :]]
    if len(tail) < _FEWEST or peak < 2 * (floor := median(tail)):
        return {}, [FoundDefect(figure, what, "left_out", written)]
    began, most = max(after, key=lambda each: each[1])
    ended = next((at for at, total in after if at > began and total <= floor * _TOLERANCE), None)
    if ended is None:
        return {}, [FoundDefect(figure, what, "left_out", written)]
    rate = (most - floor) / (ended - began)
    took = FoundDefect("time_to_drain_s", what, "recomputed", maybe_amount(summary, "time_to_drain_s"), ended - began)
    figures = {"drain_per_second": rate, "drain_s": ended - began, "drain_floor": float(floor)}
    return figures, [FoundDefect(figure, what, "recomputed", written, rate), took]


def _seconds(text: object) -> float:
    """A duration of Go in seconds; 0 for none, and for one that is written in another way."""
    try:
        return go_duration_ns(text) / 1e9 if isinstance(text, str) else 0.0
    except BadValue:
        return 0.0


def _delivery(
    document: Mapping[str, Any], sent: int | None, received: int | None
) -> tuple[dict[str, float], list[FoundDefect]]:
    """The share that was delivered, where it is above 100 %: from offsets, which count the warm-up on both sides."""
    if not sent or received is None or received <= sent:
        return {}, []
    written = 100 * received / sent
    what = "received messages of the warm-up are counted, and the sent ones are not"
    rows = objects(document.get("lag_timeline"), "lag_timeline")
    ends = [(maybe_count(row, "committed_offset_sum"), maybe_count(row, "end_offset_sum")) for row in rows]
    committed, end = ends[-1] if ends else (None, None)
    if not end or committed is None:
        return {}, [FoundDefect("delivery share, %", what, "left_out", written)]
    share = 100 * committed / end
    return {"committed_share_pct": share}, [FoundDefect("delivery share, %", what, "recomputed", written, share)]
