"""Logs of Kafka's own tools: kafka-producer-perf-test, kafka-consumer-perf-test and kafka-e2e-latency, 3.x and 4.x."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import ForeignError, FoundDefect, Measured, MeasuredLatency, MeasuredSpan
from streamgauge.foreign.results.values import amount, checked_order, count, known, known_counts, truncated_point

_MIB: Final = 1_048_576
_NUMBER: Final = r"([0-9][0-9.,]*(?:[eE][+-]?\d+)?)"
_SENT: Final = re.compile(
    rf"^(\d+)( warmup| steady state)? records sent, {_NUMBER} records/sec \({_NUMBER} MB/sec\), {_NUMBER} ms avg "
    rf"latency, {_NUMBER} ms max latency(.*)$"
)
_PERCENTILE: Final = re.compile(r"(\d+) ms (\d+(?:\.\d+)?)th")
_AVERAGE: Final = re.compile(rf"^Avg latency: {_NUMBER} ms")
_OF_E2E: Final = re.compile(r"(\d+(?:\.\d+)?)th = (\d+)")
_CONSUMED: Final = "data.consumed.in.nMsg"
_ZERO: Final = datetime(1970, 1, 1, tzinfo=UTC)


def recognises(file: ForeignFile) -> bool:
    """Whether one of the tools wrote it."""
    head = file.head()
    return " records sent, " in head or _CONSUMED in head or "Avg latency: " in head


def read(files: Sequence[ForeignFile], _asked: Asked) -> list[Measured]:
    """The run of one log; raises ForeignError."""
    lines = [line.strip() for line in files[0].lines()]
    if any(_CONSUMED in line for line in lines):
        return [_consumer(lines)]
    if any(" records sent, " in line for line in lines):
        return [_producer(lines)]
    return [_end_to_end(lines)]


def _decimal(text: str, name: str) -> float:
    # The tools write numbers as the machine's language has them.
    return amount(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text.replace(",", ""), name)


def _producer(lines: Sequence[str]) -> Measured:
    reports = [found for line in lines if (found := _SENT.match(line))]
    last = next((each for each in reversed(reports) if _PERCENTILE.search(each.group(7))), None)
    if last is None:
        raise ForeignError("has no last line with percentiles: the run was cut off", "Name the whole output of the run")
    messages, rate = count(last.group(1), "records sent"), _decimal(last.group(3), "records/sec")
    megabytes, mean, longest = (_decimal(last.group(at), name) for at, name in ((4, "MB/sec"), (5, "avg"), (6, "max")))
    points = [truncated_point(float(percent), float(ms)) for ms, percent in _PERCENTILE.findall(last.group(7))]
    spans = _reports([each for each in reports if not _PERCENTILE.search(each.group(7))])
    return Measured(
        tool="kafka-producer-perf-test",
        form="log",
        name="producer-perf-test",
        seconds=messages / rate if rate else None,
        throughput=known(acked_per_second=rate, sent_mb_per_second=megabytes * _MIB / 1e6),
        delivery=known_counts(acked=messages),
        latencies=[
            MeasuredLatency(
                name="latency", unit="ms", resolution="whole ms, the fraction cut off", place="ack", kind="service",
                count=messages, mean_ms=mean, max_ms=longest, points=checked_order(points, "latency"),
            )
        ],
        spans=spans,
        interval_s=spans[0].to_s - spans[0].from_s if spans else None,
        scenario={"load": {"size": round(megabytes * _MIB / rate)}} if rate and megabytes else {},
        defects=[
            FoundDefect("throughput.sent_mb_per_second", "MB are MiB", "recomputed", megabytes, megabytes * _MIB / 1e6)
        ],
        notes=["Percentiles are of a sample of at most 500,000 messages; latency counts from the send"],
    )  # fmt: skip


def _reports(reports: Sequence["re.Match[str]"]) -> list[MeasuredSpan]:
    """The lines on the way, each of about five seconds: its length follows from messages and rate."""
    spans, at = [], 0.0
    for each in reports:
        rate = _decimal(each.group(3), "records/sec")
        length = count(each.group(1), "records sent") / rate if rate else 0.0
        if not length:
            continue
        values = {"acked_per_second": rate, "ack.service.max_ms": _decimal(each.group(6), "max latency")}
        spans.append(MeasuredSpan(at, at + length, values))
        at += length
    return spans


def _consumer(lines: Sequence[str]) -> Measured:
    head = next(place for place, line in enumerate(lines) if _CONSUMED in line)
    names = [each.strip() for each in lines[head].split(",")]
    rows = [dict(zip(names, cells, strict=True)) for line in lines[head + 1 :] if (cells := _cells(line, len(names)))]
    if not rows:
        raise ForeignError("has no line below its header: the run was cut off", "Name the whole output of the run")
    last = rows[-1]
    if "start.time" in last:
        start, end = _moment(_cell(last, "start.time")), _moment(_cell(last, "end.time"))
        messages, size = (
            count(_cell(last, _CONSUMED), _CONSUMED),
            amount(_cell(last, "data.consumed.in.MB"), "data.consumed.in.MB"),
        )
        return _consumed(last, start, end, messages, size, ())
    ends = [_moment(_cell(row, "time")) for row in rows]
    rates = [amount(_cell(row, "nMsg.sec"), "nMsg.sec") for row in rows]
    # A row is written at the end of its interval, and has what was read since the start.
    started = ends[0] - (count(_cell(rows[0], _CONSUMED), _CONSUMED) / rates[0] if rates[0] else 0.0)
    spans = [
        MeasuredSpan(begin - started, end - started, {"received_per_second": rate})
        for begin, end, rate in zip([started, *ends], ends, rates, strict=False)
        if end > begin
    ]
    messages, size = (
        count(_cell(last, _CONSUMED), _CONSUMED),
        amount(_cell(last, "data.consumed.in.MB"), "data.consumed.in.MB"),
    )
    return _consumed(last, started, ends[-1], messages, size, spans)


def _consumed(
    row: Mapping[str, str], start: float, end: float, messages: int, mib: float, spans: Sequence[MeasuredSpan]
) -> Measured:
    seconds = end - start
    if seconds < 0:
        raise ForeignError("ends before it starts")
    figures: dict[str, float] = {}
    for key in ("fetch.MB.sec", "fetch.nMsg.sec", "fetch.time.ms"):
        # Where no time is left for fetching, they are infinite or below 0: that touches no other figure.
        with suppress(ForeignError):
            figures |= {key: amount(row[key], key)} if key in row else {}
    rebalance = row.get("rebalance.time.ms")
    return Measured(
        tool="kafka-consumer-perf-test",
        form="log",
        name="consumer-perf-test",
        started_s=start,
        seconds=seconds or None,
        throughput=known(
            received_per_second=messages / seconds if seconds else None,
            received_mb_per_second=mib * _MIB / 1e6 / seconds if seconds else None,
        ),
        delivery=known_counts(received=messages),
        spans=spans,
        interval_s=spans[0].to_s - spans[0].from_s if spans else None,
        figures=figures | ({"rebalance.time.ms": float(rebalance)} if rebalance and rebalance.isdecimal() else {}),
        defects=[FoundDefect("throughput.received_mb_per_second", "MB are MiB", "recomputed", mib, mib * _MIB / 1e6)],
        notes=["The time includes joining the group", "Times of the log have no zone, and are taken as UTC"],
    )


def _cell(row: Mapping[str, str], name: str) -> str:
    if name not in row:
        raise ForeignError(f"has no column {name}")
    return row[name]


def _cells(line: str, wanted: int) -> list[str] | None:
    """The cells of a row; None for any other line of the log."""
    cells = [each.strip() for each in line.split(",")]
    if len(cells) != wanted or not re.match(r"\d{4}-\d\d-\d\d", cells[0]):
        return None
    return cells


def _moment(text: str) -> float:
    try:
        return (datetime.strptime(text, "%Y-%m-%d %H:%M:%S:%f").replace(tzinfo=UTC) - _ZERO).total_seconds()
    except ValueError as error:
        raise ForeignError("has an invalid time") from error


def _end_to_end(lines: Sequence[str]) -> Measured:
    average = next((found for line in lines if (found := _AVERAGE.match(line))), None)
    told = next((line for line in lines if line.startswith("Percentiles:")), None)
    if average is None or told is None:
        raise ForeignError("has no average and percentiles: the run was cut off", "Name the whole output of the run")
    mean = _decimal(average.group(1), "Avg latency")
    points = [truncated_point(float(percent), float(ms)) for percent, ms in _OF_E2E.findall(told)]
    return Measured(
        tool="kafka-e2e-latency",
        form="log",
        name="e2e-latency",
        latencies=[
            MeasuredLatency(
                name="latency", unit="ms", resolution="whole ms, the fraction cut off", place="end_to_end",
                kind="service", mean_ms=mean, points=checked_order(points, "Percentiles"),
            )
        ],
        notes=["One message at a time: the next one is sent when the last one was received"],
    )  # fmt: skip
