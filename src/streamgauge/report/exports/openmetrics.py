"""The figures of a result as OpenMetrics text. What is not known is left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.result import Result
from streamgauge.result.model.latency import LatencyFigures
from streamgauge.result.model.trust import FigureTrust

_QUANTILES: Final = {
    "p50": "0.5", "p75": "0.75", "p90": "0.9", "p95": "0.95", "p99": "0.99", "p99_5": "0.995", "p99_9": "0.999",
    "p99_99": "0.9999", "max": "1.0",
}  # fmt: skip
_STAGES: Final = ("target", "sent", "acked", "received", "processed")
_COUNTS: Final = (
    "sent", "acked", "failed", "unsent", "received", "delivered_once", "undelivered", "lost", "expired", "unknown",
    "duplicate_consumer", "duplicate_producer", "reordered", "corrupt",
)  # fmt: skip
_MS_PER_S: Final = 1e3


def openmetrics_text(result: Result, verdict: str) -> str:
    """All figures, each family once, and the end mark.

    A figure that is not believed is left out of its family, and named in one of its own; one that is bounded has its
    ends beside it.
    """
    lines = [*_info(result, verdict), *_rates(result), *_delivery(result), *_latencies(result), *_doubted(result)]
    return "\n".join([*lines, "# EOF", ""])


def _family(name: str, kind: str, about: str, unit: str = "") -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {about}"


def _labels(values: Mapping[str, str]) -> str:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return "{" + ",".join(f'{name}="{escaped(value)}"' for name, value in values.items()) + "}"


def _info(result: Result, verdict: str) -> Iterator[str]:
    yield from _family("streamgauge_run", "info", "The run, and whether it is valid.")
    labels = {"id": result.run.id, "name": result.run.name, "verdict": verdict, "imported": result.run.imported or ""}
    yield f"streamgauge_run_info{_labels(labels)} 1"


@dataclass(frozen=True, slots=True)
class _Figure:
    """One value of a family."""

    labels: Mapping[str, str]
    value: float
    """In the unit of the family."""
    trust: FigureTrust | None
    per_unit: float = 1.0
    """Of the unit of the result."""

    @property
    def is_believed(self) -> bool:
        return _is_believed(self.trust)

    def end(self, name: str) -> float | None:
        """The low or the high end of one that is bounded; None of others, and where it is not known."""
        found: float | None = getattr(self.trust, name) if self.trust and self.trust.trust == "bounded" else None
        return None if found is None else found / self.per_unit


def _rates(result: Result) -> Iterator[str]:
    known = {each: getattr(result.throughput, f"{each}_per_second") for each in _STAGES}
    figures = [
        _Figure({"stage": stage}, value, result.trust.get(f"throughput.{stage}_per_second"))
        for stage, value in known.items()
        if value is not None
    ]
    yield from _gauges("streamgauge_rate", "Messages per second in the measure phase.", figures)


def _delivery(result: Result) -> Iterator[str]:
    known = {each: getattr(result.delivery, each) for each in _COUNTS}
    figures = [
        _Figure({"class": name}, value, result.trust.get(f"delivery.{name}"))
        for name, value in known.items()
        if value is not None
    ]
    yield from _gauges("streamgauge_messages", "Messages of the whole run by what became of them.", figures)


def _gauges(name: str, about: str, figures: Sequence[_Figure]) -> Iterator[str]:
    believed = [each for each in figures if each.is_believed]
    if believed:
        yield from _family(name, "gauge", about)
    for each in believed:
        yield f"{name}{_labels(each.labels)} {each.value}"
    yield from _ends(name, about, figures)


def _ends(name: str, about: str, figures: Sequence[_Figure], unit: str = "") -> Iterator[str]:
    """The low and the high ends of what is bounded, a family for each."""
    for end, words in (("low", "least"), ("high", "most")):
        known = [(each.labels, found) for each in figures if (found := each.end(end)) is not None]
        family = f"{name}_{end}{f'_{unit}' if unit else ''}"
        if known:
            told = f"{about.removesuffix('.')}: the {words} that a bounded figure can have been."
            yield from _family(family, "gauge", told, unit)
        for labels, found in known:
            yield f"{family}{_labels(labels)} {found}"


def _is_believed(trust: FigureTrust | None) -> bool:
    """Whether a figure is shown; so is one of whose trust nothing is known."""
    return trust is None or trust.trust != "not_believed"


def _doubted(result: Result) -> Iterator[str]:
    """What is not believed, by its path in result.json, with the reasons."""
    doubted = {path: each for path, each in result.trust.items() if not _is_believed(each)}
    if doubted:
        yield from _family("streamgauge_not_believed", "gauge", "Figures that are not believed, and left out here.")
    for path, each in doubted.items():
        labels = {"figure": path, "because": "; ".join(each.because)}
        yield f"streamgauge_not_believed{_labels(labels)} 1"


def _latencies(result: Result) -> Iterator[str]:
    name, about = "streamgauge_latency", "Latency in the measure phase; messages that never came count."
    figures: list[_Figure] = []
    lines: list[str] = []
    for path in ("ack", "end_to_end", "processing"):
        for kind, shown in getattr(result.latency, path).kinds.items():
            if shown:
                labels = {"path": path, "kind": kind}
                mine = list(_quantiles(result.trust, labels, shown))
                figures += mine
                lines += _summary(f"{name}_seconds", labels, shown, mine, result.trust)
    if lines:
        yield from _family(f"{name}_seconds", "summary", about, "seconds")
    yield from lines
    yield from _ends(name, about, figures, "seconds")


def _quantiles(
    trust: Mapping[str, FigureTrust], labels: Mapping[str, str], figures: LatencyFigures
) -> Iterator[_Figure]:
    for key, quantile in _QUANTILES.items():
        if (ms := figures.ms(key)) is not None:
            of_figure = trust.get(f"latency.{labels['path']}.{labels['kind']}.{key}_ms")
            yield _Figure({**labels, "quantile": quantile}, ms / _MS_PER_S, of_figure, _MS_PER_S)


def _summary(
    name: str,
    labels: Mapping[str, str],
    figures: LatencyFigures,
    quantiles: Sequence[_Figure],
    trust: Mapping[str, FigureTrust],
) -> Iterator[str]:
    for each in quantiles:
        if each.is_believed:
            yield f"{name}{_labels(each.labels)} {each.value}"
    if figures.count is not None:
        yield f"{name}_count{_labels(labels)} {figures.count}"
        mean = trust.get(f"latency.{labels['path']}.{labels['kind']}.mean_ms")
        if figures.mean_ms is not None and _is_believed(mean):
            yield f"{name}_sum{_labels(labels)} {figures.mean_ms * figures.count / _MS_PER_S}"
