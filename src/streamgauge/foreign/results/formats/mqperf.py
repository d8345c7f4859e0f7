"""Result tables of mqperf, as Markdown, CSV or tab-separated text; and ours in its form, from `compare --table`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import ForeignError, FoundDefect, Measured, MeasuredLatency, PercentPoint
from streamgauge.foreign.results.values import amount, exact_point, known

EDGES_MS: Final = (
    0.0, *(50.0 * n for n in range(1, 11)), *(100.0 * n for n in range(6, 11)), *(250.0 * n for n in range(5, 9)),
    *(500.0 * n for n in range(5, 11)), *(1e3 * n for n in range(6, 11)), *(1e4 * n for n in range(2, 7)),
)  # fmt: skip
"""Upper edges of the buckets that its percentiles are interpolated in."""
_LAST_MS: Final[Mapping[str, float]] = {"processing": EDGES_MS[-1], "send": 5e3}
"""The last edge of each of its two histograms; longer times are counted without one."""
_OURS: Final = "processing p95, ms"
_LATENCIES: Final = {"processing": ("end_to_end", "service"), "send": ("batch", None)}


def recognises(file: ForeignFile) -> bool:
    """Whether one of its first lines has the heads of the table."""
    return _head(file.head().splitlines()) is not None


def _head(lines: Sequence[str]) -> int | None:
    for place, line in enumerate(lines[:50]):
        low = line.lower()
        if "threads" in low and "send msgs" in low and "receive msgs" in low:
            return place
    return None


def _cells(line: str) -> list[str]:
    if "|" in line:
        return [each.strip().strip("*`") for each in line.strip().strip("|").split("|")]
    if "\t" in line:
        return [each.strip() for each in line.split("\t")]
    return [(a or b).strip() for a, b in re.findall(r'(?:^|,)(?:"([^"]*)"|([^,]*))', line)]


def read(files: Sequence[ForeignFile], _asked: Asked) -> list[Measured]:
    """A run for each row; raises ForeignError."""
    file, lines = files[0], files[0].lines()
    place = _head(lines)
    if place is None:
        raise ForeignError("has no table of mqperf")
    heads = [each.lower() for each in _cells(lines[place])]
    rows = []
    for number, line in enumerate(lines[place + 1 :], place + 2):
        cells = _cells(line)
        if not line.strip() or set(line) <= set("|-: +\t"):
            continue
        if len(cells) != len(heads):
            raise ForeignError(f"line {number} has {len(cells)} cells instead of {len(heads)}")
        rows.append(dict(zip(heads, cells, strict=True)))
    if not rows:
        raise ForeignError("has no row below its header")
    return [_run(file, row, number, is_ours=_OURS in heads) for number, row in enumerate(rows, 1)]


def _run(file: ForeignFile, row: Mapping[str, str], number: int, *, is_ours: bool) -> Measured:
    found = {key: _figure(row, key) for key in ("send msgs", "receive msgs")}
    latencies = list(_latencies(row, is_ours=is_ours))
    settings = {key: row[key] for key in ("threads", "sender nodes", "receiver nodes") if row.get(key)}
    return Measured(
        tool="Streamgauge" if is_ours else "mqperf",
        form="table in mqperf's form" if is_ours else "table",
        name=f"mqperf-{file.stem}-{number}",
        throughput=known(acked_per_second=found["send msgs"], received_per_second=found["receive msgs"]),
        latencies=latencies,
        scenario={"load": {"size": 100}, "consume": {}} if not is_ours else {},
        settings=settings,
        defects=[] if is_ours else list(_defects(row)),
        notes=[
            "Figures are medians over runs"
            if is_ours
            else "Rates and percentiles are the largest of one minute; latency counts from the send"
        ],
    )


def _figure(row: Mapping[str, str], begin: str, *more: str) -> float | None:
    text = next((value for key, value in row.items() if key.startswith(begin) and all(m in key for m in more)), "")
    text = re.sub(r"[\s ]|ms$", "", text)
    if text in {"", "-", "\u2013", "null", "None"}:
        return None
    thousands = re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", text)
    return amount(text.replace(",", "") if thousands else text, begin)


def _latencies(row: Mapping[str, str], *, is_ours: bool) -> Iterator[MeasuredLatency]:
    for begin, (place, kind) in _LATENCIES.items():
        value = _figure(row, begin, "p95" if is_ours else "latency")
        if value is None:
            continue
        yield MeasuredLatency(
            name=f"{begin} latency",
            unit="ms",
            resolution="as written" if is_ours else "buckets of 50 ms and more",
            place="ack" if is_ours and place == "batch" else place,
            kind="service" if is_ours or kind else None,
            points=[exact_point(95.0, value) if is_ours else _bucket(value, begin)],
        )


def _bucket(value: float, of: str) -> PercentPoint:
    """The bucket that a percentile of `processing` or `send` was interpolated in."""
    last = _LAST_MS[of]
    # Prometheus gives the last edge for all that is above it.
    if value >= last:
        return PercentPoint(95.0, last, last, None)
    low, high = next((low, high) for low, high in pairwise(EDGES_MS) if value <= high)
    return PercentPoint(95.0, high, low, high)


def _defects(row: Mapping[str, str]) -> Iterator[FoundDefect]:
    paths: Mapping[str, Any] = {
        "processing": "latency.end_to_end.service.p95_ms", "send": "latency.batch.p95_ms",
    }  # fmt: skip
    for begin, path in paths.items():
        if (value := _figure(row, begin, "latency")) is not None:
            bucket = _bucket(value, begin)
            what = f"it is interpolated in a bucket: known is only that it is between {bucket.low_ms:g} and "
            what += f"{bucket.high_ms:g} ms" if bucket.high_ms else "infinity"
            yield FoundDefect(path, what, "recomputed", value, bucket.high_ms)
