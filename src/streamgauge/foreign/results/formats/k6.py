"""Summaries of k6: `--summary-export`, and what `handleSummary` is given."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import MS_PER, ForeignError, FoundDefect, Measured, MeasuredLatency
from streamgauge.foreign.results.values import (
    amount,
    an_object,
    checked_order,
    exact_point,
    known,
    known_counts,
    maybe_amount,
    maybe_count,
)

_PERCENTILE: Final = re.compile(r"^p\((\d+(?:\.\d+)?)\)$")
_WRITE: Final = "kafka_writer_write_seconds"
_PLACES: Final = {_WRITE: "batch"}
_MEANS: Final = "each value is the mean of a writer's statistics interval, so percentiles are of means"


def recognises(file: ForeignFile) -> bool:
    """Whether it is JSON with the metrics of k6."""
    head = file.head()
    return head.lstrip().startswith("{") and '"metrics"' in head and ('"root_group"' in head or '"iterations"' in head)


def read(files: Sequence[ForeignFile], asked: Asked) -> list[Measured]:
    """The run of one summary; raises ForeignError."""
    document = files[0].document()
    metrics = {name: _values(name, each) for name, each in an_object(document.get("metrics"), "metrics").items()}
    if not metrics:
        raise ForeignError("has no metrics")
    duration = maybe_amount(an_object(document.get("state"), "state"), "testRunDurationMs")
    trends = {name: each for name, each in metrics.items() if "avg" in each and "max" in each}
    sent, received = (metrics.get(f"kafka_{each}_message_count", {}) for each in ("writer", "reader"))
    errors = metrics.get("kafka_writer_error_count", {})
    size = metrics.get("kafka_writer_message_bytes", {})
    return [
        Measured(
            tool="k6",
            form="summary JSON",
            name=f"k6-{files[0].stem}",
            seconds=duration / 1e3 if duration else None,
            throughput=known(
                sent_per_second=maybe_amount(sent, "rate"),
                received_per_second=maybe_amount(received, "rate"),
                sent_mb_per_second=None if (rate := maybe_amount(size, "rate")) is None else rate / 1e6,
            ),
            delivery=known_counts(
                sent=maybe_count(sent, "count"),
                received=maybe_count(received, "count"),
                failed=maybe_count(errors, "count"),
            ),
            latencies=[_latency(name, each, asked) for name, each in trends.items()],
            figures={
                f"{name}.{key}": amount(value, name)
                for name, each in metrics.items()
                if name not in trends
                for key, value in each.items()
                if isinstance(value, int | float) and not isinstance(value, bool)
            },
            defects=[FoundDefect("latency.batch", _MEANS, "kept")] if _WRITE in trends else [],
            notes=["k6 has no end-to-end latency; times of its trends are in ms"],
        )
    ]


def _values(name: str, metric: object) -> Mapping[str, Any]:
    found = an_object(metric, name)
    return an_object(found["values"], name) if "values" in found else found


def _latency(name: str, values: Mapping[str, Any], asked: Asked) -> MeasuredLatency:
    factor = MS_PER[asked.unit or "ms"]
    points = [
        exact_point(float(found.group(1)), amount(value, key) * factor)
        for key, value in values.items()
        if (found := _PERCENTILE.match(key)) and float(found.group(1)) <= 100
    ]
    if (middle := maybe_amount(values, "med")) is not None:
        points.append(exact_point(50.0, middle * factor))
    smallest, mean, longest = (maybe_amount(values, key) for key in ("min", "avg", "max"))
    return MeasuredLatency(
        name=name, unit=asked.unit or "ms", resolution="as written", place=_PLACES.get(name),
        count=maybe_count(values, "count"), points=checked_order(points, name),
        min_ms=None if smallest is None else smallest * factor, mean_ms=None if mean is None else mean * factor,
        max_ms=None if longest is None else longest * factor,
    )  # fmt: skip
