"""Interval logs of HdrHistogram: ours, tussle's, jHiccup's and any other, with and without legend, tags and times."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import median
from typing import Final

from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.hdr import decode
from streamgauge.foreign.results.measured import (
    MS_PER,
    ForeignError,
    FoundDefect,
    IntervalLog,
    LatencyKind,
    LoggedInterval,
    Measured,
    MeasuredLatency,
    MeasuredSpan,
)
from streamgauge.foreign.results.spread import ValueCells
from streamgauge.foreign.results.values import amount

OURS: Final = "Streamgauge"
UNMEASURED: Final = "unmeasured"
"""Tag of our intervals outside of the measure phase."""
LEGEND: Final = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'

_LINE: Final = re.compile(r"^(?:Tag=([^,]*),)?([^,]+),([^,]+),([^,]+),(HIST\S+)\s*$")
_TIME: Final = re.compile(r"^#\s*\[(StartTime|BaseTime): ([0-9.]+)")
_UNIT: Final = re.compile(r"^#\[Values in (nanoseconds|microseconds|milliseconds)")
_UNITS: Final = {"nanoseconds": "ns", "microseconds": "us", "milliseconds": "ms"}
_DECIMAL: Final = r"([0-9]+(?:\.[0-9]+)?)"
_TUSSLE: Final = re.compile(rf"^(.+?)_(response|service)_time(?:_{_DECIMAL})?(?:_{_DECIMAL})?(?:_([0-9]+))?$")
_OURS: Final = re.compile(r"^(ack|end_to_end|processing)_(response|service)$")
_PLACES: Final = {"send": "ack", "end-to-end": "end_to_end", "end_to_end": "end_to_end", "poll": "poll"}
_YEAR_S: Final = 365 * 86_400
_MOST_LINES: Final = 1_000_000
_SHORT: Final = 0.9
"""An interval that is shorter than this share of the others is a partial one."""


def recognises(file: ForeignFile) -> bool:
    """Whether there is a line of an interval log among the first ones that are no comments."""
    lines = [each for each in file.head().splitlines() if each and not each.startswith(("#", '"'))]
    return bool(lines) and any(",HIST" in each for each in lines[:3])


@dataclass(frozen=True, slots=True)
class LogName:
    """What the name of a log says: the operation, response or service, and the step of tussle that it is of."""

    operation: str
    kind: LatencyKind | None
    step: tuple[str, ...]
    by: str
    """`Streamgauge`, `tussle`, or nothing."""


def named(file: ForeignFile) -> LogName:
    """What the name of a log says."""
    if (ours := _OURS.match(file.stem)) or file.stem in {"poll", "batch"}:
        return LogName(ours.group(1) if ours else file.stem, _kind(ours.group(2)) if ours else None, (), OURS)
    if found := _TUSSLE.match(file.stem):
        return LogName(found.group(1), _kind(found.group(2)), tuple(filter(None, found.groups()[2:])), "tussle")
    return LogName(file.stem, None, (), "")


def _kind(text: str) -> LatencyKind:
    return "response" if text == "response" else "service"


def grouped(files: Sequence[ForeignFile]) -> list[list[ForeignFile]]:
    """Logs of one folder that belong to one run together; any other log is alone."""
    found: defaultdict[tuple[str, ...], list[ForeignFile]] = defaultdict(list)
    for place, file in enumerate(files):
        name = named(file)
        found[(file.folder, name.by, *name.step) if name.by else (str(place),)].append(file)
    return list(found.values())


def read(files: Sequence[ForeignFile], asked: Asked) -> list[Measured]:
    """One run of the logs of one step; raises ForeignError."""
    logs = [(file, _log(file, asked)) for file in files]
    first, is_hiccup = named(files[0]), "jHiccup" in files[0].head()
    latencies = [each for file, log in logs for each in _latencies(file, log, asked, is_hiccup=is_hiccup)]
    if not latencies:
        raise ForeignError("has no values", "Name a log with intervals that are not empty")
    begin = min(log.begin_s(each) for _, log in logs for each in _counted(log))
    end = max(log.begin_s(each) + each.length_s for _, log in logs for each in _counted(log))
    seconds = end - begin or None
    tool = first.by or ("jHiccup" if is_hiccup else "HdrHistogram")
    return [
        Measured(
            tool=tool,
            form="HdrHistogram interval log",
            name="-".join([tool.lower(), *(first.step or (files[0].stem,))]),
            started_s=begin if begin > _YEAR_S else None,
            seconds=seconds,
            throughput=_rates(first, latencies, seconds),
            latencies=latencies,
            spans=[span for _, log in logs for span in _spans(log, latencies, begin)],
            interval_s=median(one.length_s for _, log in logs for one in log.intervals),
            settings=_settings(first),
            defects=[each for file, log in logs for each in _partial(file, log)] if tool == "tussle" else [],
            notes=_notes(logs, asked),
        )
    ]


def _counted(log: IntervalLog) -> list[LoggedInterval]:
    """The intervals whose values count."""
    return [each for each in log.intervals if each.tag != UNMEASURED and each.spread.total]


def _settings(name: LogName) -> Mapping[str, str]:
    keys = ("percentOfHighBound", "targetRate", "step")
    return dict(zip(keys[-len(name.step) :], name.step, strict=True)) if name.step else {}


def _rates(name: LogName, latencies: Sequence[MeasuredLatency], seconds: float | None) -> Mapping[str, float]:
    """What was acknowledged and received, by the values of the logs; the target of a step of tussle."""
    found: dict[str, float] = {}
    for key, place in (("acked_per_second", "ack"), ("received_per_second", "end_to_end")):
        counts = [each.count for each in latencies if each.place == place and each.count is not None]
        if counts and seconds:
            found[key] = max(counts) / seconds
    if len(name.step) > 1 and float(name.step[-2]) > 0:
        found["target_per_second"] = float(name.step[-2])
    return found


def _notes(logs: Sequence[tuple[ForeignFile, IntervalLog]], asked: Asked) -> list[str]:
    found = ["Rates are values / time of the logs: messages whose latency was recorded"] if logs else []
    if any(each.tag == UNMEASURED for _, log in logs for each in log.intervals):
        found.append(f"Intervals with the tag {UNMEASURED} are kept in the log, and count in no figure")
    if asked.unit is None and any(named(file).by != OURS for file, _ in logs):
        found.append(f"The unit of values, {logs[0][1].unit}, follows from name, comments or maxima of the log")
    return found


def _log(file: ForeignFile, asked: Asked) -> IntervalLog:
    times: dict[str, float] = {}
    intervals: list[LoggedInterval] = []
    unit, ratios = asked.unit, list[float]()
    lines = file.lines()
    if len(lines) > _MOST_LINES:
        raise ForeignError(f"has more than {_MOST_LINES:,} lines")
    for place, line in enumerate(lines, 1):
        if found := _TIME.match(line):
            times[found.group(1)] = amount(found.group(2), found.group(1))
        elif said := _UNIT.match(line):
            unit = unit or _UNITS[said.group(1)]
        elif line.strip() and not line.startswith(("#", '"')):
            interval, ratio = _interval(place, line)
            intervals.append(interval)
            ratios += ratio
    if not intervals:
        raise ForeignError("has no interval")
    started = times.get("StartTime")
    first = intervals[0].start_s
    base = times.get("BaseTime")
    if base is None:
        # HdrHistogram's own reader decides so, too: starts long before that of the log count from it.
        base = started if started is not None and first < started - _YEAR_S else 0.0
    return IntervalLog(unit or _unit(file, ratios), base, tuple(intervals))


def _interval(place: int, line: str) -> tuple[LoggedInterval, list[float]]:
    """An interval, and its largest value / the maximum beside it, where it has values."""
    read_line = _LINE.match(line)
    if not read_line:
        raise ForeignError(f"line {place} is no interval of a log")
    tag, begin, length, longest, encoded = read_line.groups()
    spread = decode(encoded)
    start_s, length_s, most = amount(begin, "StartTimestamp"), amount(length, "Interval_Length"), amount(longest, "Max")
    ratio = [int(spread.high[-1]) / most] if spread.total and most else []
    return LoggedInterval(tag, start_s, length_s, spread, encoded), ratio


def _unit(file: ForeignFile, ratios: Sequence[float]) -> str:
    """The unit of values whose log does not name it: tussle's, or from maxima, which are in ms."""
    if named(file).by == "tussle":
        # Its maxima are scaled as if its microseconds were nanoseconds.
        return "us"
    middle = median(ratios) if ratios else 0
    for unit, ratio in (("ns", 1e6), ("us", 1e3)):
        if ratio / 1.5 < middle < ratio * 1.5:
            return unit
    raise ForeignError("does not say in which unit its values are", "Say it: --unit ns, us, ms or s")


def _latencies(file: ForeignFile, log: IntervalLog, asked: Asked, *, is_hiccup: bool) -> Iterator[MeasuredLatency]:
    name, factor = named(file), MS_PER[log.unit]
    tags: dict[str | None, list[ValueCells]] = defaultdict(list)
    for each in _counted(log):
        tags[each.tag].append(each.spread)
    placed, kind = (None, None) if is_hiccup else (_PLACES.get(name.operation, name.operation), name.kind)
    place = placed if name.by and placed in {"ack", "end_to_end", "processing", "poll", "batch"} else None
    if asked.latency and not name.by and not is_hiccup:
        place, kind = asked.latency
    main = None if None in tags else next(iter(tags), None)
    for tag, spreads in tags.items():
        whole = ValueCells.merged(spreads)
        yield MeasuredLatency(
            name=file.stem if tag is None else f"{file.stem} {tag}",
            unit=log.unit,
            resolution="HdrHistogram: a value is known within its cell",
            place=place if tag == main else None,
            kind=kind,
            count=whole.total,
            min_ms=int(whole.low[0]) * factor,
            mean_ms=whole.mean * factor,
            stddev_ms=whole.stddev * factor,
            mad_ms=whole.mad * factor,
            max_ms=int(whole.high[-1]) * factor,
            spread=whole,
            log=log if tag == main else None,
        )


def _spans(log: IntervalLog, latencies: Sequence[MeasuredLatency], begin: float) -> Iterator[MeasuredSpan]:
    """Each interval of the latency that a log is of, where that has a place in the timeline."""
    mine = next((each for each in latencies if each.log is log), None)
    if mine is None or mine.place not in {"ack", "end_to_end"}:
        return
    factor, key = MS_PER[log.unit], f"{mine.place}.{mine.kind}"
    rate = "acked_per_second" if mine.place == "ack" else "received_per_second"
    for each in _counted(log):
        at = log.begin_s(each) - begin
        values = {f"{key}.{name}_ms": each.spread.at(p)[1] * factor for name, p in (("p50", 50), ("p99", 99))}
        values[f"{key}.max_ms"] = int(each.spread.high[-1]) * factor
        if each.length_s > 0:
            values[rate] = each.spread.total / each.length_s
        yield MeasuredSpan(at, at + each.length_s, values)


def _partial(file: ForeignFile, log: IntervalLog) -> Iterator[FoundDefect]:
    """Intervals that are shorter than the others: tussle counts them as whole ones."""
    usual = median(each.length_s for each in log.intervals)
    for each in log.intervals:
        if each.length_s < _SHORT * usual and each.spread.total:
            yield FoundDefect(
                f"{PurePosixPath(file.name).name} at {each.start_s:.3f} s",
                f"a partial interval of {each.length_s:.3f} s stands for one of {usual:.3f} s; its rate would be low",
                "recomputed",
                each.spread.total / usual,
                each.spread.total / each.length_s if each.length_s else None,
            )
