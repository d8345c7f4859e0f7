"""The table `fault_scores`: the faults that were over, with their spans, and what the cluster told around them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from streamgauge.delivery.outages import AFTER_NS, NEVER_NS, FaultSpan
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.pipeline.pressure.scorecard import Cause, carried_out, causes
from streamgauge.pipeline.read.rows import Row
from streamgauge.pipeline.read.silver import Span
from streamgauge.workload.changes import CHANGES

_LACKING: Final = ("under_replicated", "leaderless")


def faults_of(rows: Iterable[Row]) -> list[Cause]:
    """The faults that were begun, carried out and over, by their begins; from rows of the table `faults`."""
    events = carried_out(row for row in rows if (row["kind"], row["target"]) not in CHANGES)
    return sorted((cause for cause in causes(events) if cause.began is not None), key=lambda cause: cause.began or 0.0)


def spans_of(faults: Iterable[Cause], span: Span) -> list[FaultSpan]:
    """When what each did may show: until some time after its end, and not beyond the next fault or the run."""

    def ns(second: float) -> int:
        return span.measure.from_ns + round(second * NS_PER_SECOND)

    found = []
    for fault in faults:
        begin_ns, until_ns = ns(fault.ended if fault.began is None else fault.began), ns(fault.ended) + AFTER_NS
        next_ns = NEVER_NS if fault.until is None else ns(fault.until)
        found.append(FaultSpan(begin_ns, max(begin_ns, min(until_ns, span.to_ns, next_ns)), next_ns))
    return found


def score_rows(
    faults: Sequence[Cause],
    spans: Sequence[FaultSpan],
    looks: Sequence[Row],
    failed: Mapping[int, int] | None,
    span: Span,
) -> list[Row]:
    """Rows of `fault_scores`; `looks` are those of the table `replication`, and `failed` is null where nobody told."""
    return [
        {
            "fault": number,
            "kind": fault.kind,
            "target": fault.target,
            "detail": fault.detail,
            "error": fault.error,
            "began_second": span.second(around.begin_ns),
            "ended_second": fault.ended,
            "until_second": span.second(around.until_ns),
            **told(looks, span.second(around.begin_ns), fault.ended, span.second(around.until_ns)),
            "failed": None if failed is None else failed.get(number, 0),
        }
        for number, (fault, around) in enumerate(zip(faults, spans, strict=True))
    ]


def told(looks: Sequence[Row], began: float, ended: float, until: float) -> Row:
    """What the cluster told of replicas and leaders within the span of a fault; null for what it did not.

    A look tells what holds until the next one. From a look that failed to the next one nothing is known.
    """
    answered = [row for row in looks if row["answered"]]
    before = next((row for row in reversed(answered) if row["second"] <= began), None)
    inside = [row for row in answered if began < row["second"] <= until]
    noticed = next((row["second"] for row in inside if _is_worse(row, before)), None)
    moves = [place for place, row in enumerate(inside) if row["leaderless"] or row["leaders_moved"]]
    last = inside[moves[-1]] if moves else None
    # Where there was none, the look that saw the leader again saw no other move.
    led = None if last is None else (last if not last["leaderless"] else next(iter(inside[moves[-1] + 1 :]), None))
    return {
        "noticed_s": None if noticed is None else noticed - began,
        "leaders_s": None if led is None else led["second"] - began,
        "in_sync_s": _in_sync(looks, ended, until),
    }


def _is_worse(row: Row, before: Row | None) -> bool:
    lacked = dict.fromkeys(_LACKING, 0) if before is None else before
    return row["leaders_moved"] > 0 or any(row[name] > lacked[name] for name in _LACKING)


def _in_sync(looks: Sequence[Row], ended: float, until: float) -> float | None:
    """From the end of a fault until looks saw all replicas in sync for the rest of its span; None if they did not."""
    since: float | None = None
    for row in looks:
        if row["second"] > until:
            break
        if row["under_replicated"] or not row["answered"]:
            since = None
        elif since is None:
            since = row["second"]
    return None if since is None else max(0.0, since - ended)
