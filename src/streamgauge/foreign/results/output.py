"""Output of any program: figures are the named groups of patterns, by the last match of each."""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.results.asked import PLACES, Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import MS_PER, ForeignError, LatencyKind, Measured, MeasuredLatency
from streamgauge.foreign.results.values import amount, checked_order, count, exact_point

_RATES: Final = frozenset(
    f"{name}_per_second" for name in ("target", "sent", "acked", "received", "processed", "sent_mb", "received_mb")
)
_COUNTS: Final = frozenset({"sent", "acked", "failed", "unsent", "received"})
_LATENCY: Final = re.compile(
    rf"(?:({'|'.join(PLACES)})_({'|'.join(get_args(LatencyKind))})_)?"
    rf"(?:(count)|(min|mean|stddev|max|p\d+(?:_\d+)?)_({'|'.join(MS_PER)}))"
)
_JAVAS_GROUP: Final = re.compile(r"\(\?<(?=[A-Za-z])")
_THOUSANDS: Final = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
_TOLD: Final = "Name groups like (?P<p99_ms>...), (?P<ack_service_p99_us>...), (?P<sent_per_second>...)"


def parse_pattern(text: str) -> "re.Pattern[str]":
    """A regular expression with named groups, also in Java's spelling; raises BadValue."""
    try:
        found = re.compile(_JAVAS_GROUP.sub("(?P<", text), re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadValue(f"not a regular expression: {error}", _TOLD) from error
    if not found.groupindex:
        raise BadValue("has no named groups", _TOLD)
    return found


def recognises(_file: ForeignFile) -> bool:
    """Never: a pattern has to be stated."""
    return False


def read(files: Sequence[ForeignFile], asked: Asked) -> list[Measured]:
    """The run that the text of one file tells; raises ForeignError where a pattern has no match."""
    if not asked.patterns:
        raise ForeignError("is read by a pattern, and none is stated", "State one with --pattern")
    return [measured_by(asked, files[0].text(), files[0].stem, "a program")]


def measured_by(asked: Asked, text: str, name: str, tool: str) -> Measured:
    """The figures that patterns find in a text; raises ForeignError where one has no match."""
    groups: dict[str, str] = {}
    for pattern in asked.patterns:
        last = next(iter(deque(pattern.finditer(text), maxlen=1)), None)
        if last is None:
            raise ForeignError(f"has no match of {one_line(pattern.pattern)}", "Correct the pattern")
        groups |= {key: value for key, value in last.groupdict().items() if value is not None}
    latencies, rest = _latencies(groups, asked)
    rates = {key: amount(_plain(groups[key]), key) for key in rest if key in _RATES}
    counts = {key: count(_plain(groups[key]), key) for key in rest if key in _COUNTS}
    seconds = amount(_plain(groups["seconds"]), "seconds") if "seconds" in rest else None
    others = [key for key in rest if key not in {*rates, *counts, "seconds"}]
    return Measured(
        tool=tool, form="output, by a pattern", name=name, seconds=seconds or None, throughput=rates, delivery=counts,
        latencies=latencies, figures={key: figure_of(groups[key]) for key in others},
    )  # fmt: skip


def numbers_of(value: Any, above: str = "") -> dict[str, str | float]:
    """The numbers and texts of nested objects, by their dotted names: figures of a document that nobody knows."""
    found: dict[str, str | float] = {}
    for key, below in value.items() if isinstance(value, Mapping) else ():
        name = f"{above}{key}"
        if isinstance(below, Mapping):
            found |= numbers_of(below, f"{name}.")
        elif isinstance(below, str | int | float) and not isinstance(below, bool):
            found[name] = below
    return found


def figure_of(text: str) -> str | float:
    """A text as a number, where it is one."""
    try:
        return amount(_plain(text), "figure")
    except ForeignError:
        return text


def _plain(text: str) -> str:
    """A number without separators of thousands."""
    return text.replace(",", "") if _THOUSANDS.fullmatch(text.strip()) else text


def _latencies(groups: Mapping[str, str], asked: Asked) -> tuple[list[MeasuredLatency], list[str]]:
    """The latencies that groups name, and the names of all other groups."""
    found: dict[tuple[str | None, str | None], dict[str, tuple[str, str]]] = {}
    rest: list[str] = []
    for key, text in groups.items():
        matched = _LATENCY.fullmatch(key)
        if matched is None:
            rest.append(key)
            continue
        place, kind, counted, figure, unit = matched.groups()
        where = (place, kind) if place else (asked.latency or (None, None))
        found.setdefault(where, {})[counted or figure] = (_plain(text), unit or "ms")
    return [_latency(place, kind, figures) for (place, kind), figures in found.items()], rest


def _latency(place: str | None, kind: Any, figures: Mapping[str, tuple[str, str]]) -> MeasuredLatency:
    values = dict(_in_ms(figures))
    points = [
        exact_point(float(key[1:].replace("_", ".")), ms) for key, ms in values.items() if key.startswith("p")
    ]  # fmt: skip
    if any(point.percent > 100 for point in points):
        raise ForeignError("has a percentile above 100", "Correct the name of the group")
    unit = next((unit for key, (_, unit) in figures.items() if key != "count"), "ms")
    return MeasuredLatency(
        name="latency", unit=unit, resolution="as it is written", place=place, kind=kind,
        count=count(figures["count"][0], "count") if "count" in figures else None,
        points=checked_order(points, "latency"),
        min_ms=values.get("min"), mean_ms=values.get("mean"), stddev_ms=values.get("stddev"), max_ms=values.get("max"),
    )  # fmt: skip


def _in_ms(figures: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, float]]:
    for key, (text, unit) in figures.items():
        if key != "count":
            yield key, amount(text, key) * MS_PER[unit]
