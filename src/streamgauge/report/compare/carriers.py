"""Carriers of acknowledgements side by side: what a message costs with each, and what one gets for it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from streamgauge.domain.text.numbers import UNKNOWN, percent, significant
from streamgauge.report.compare.variants import Alike, setting_names
from streamgauge.report.figures.drawing.figure import Row, rounded
from streamgauge.result import Result
from streamgauge.result.model.resources import cpu_us_per_message
from streamgauge.scenario.comparing import settings_of
from streamgauge.statistics.summary import OfRuns, summary

OFFSETS: Final = "offsets"
_BESIDE: Final = ("consume.acknowledge", "consume.client")
"""Settings of a carrier; those of the client, like its session, are `acknowledge.share` where a group is shared."""


@dataclass(frozen=True, slots=True)
class CarrierMeasure:
    """One thing that carriers are compared by."""

    key: str
    """In JSON."""
    label: str
    about: Literal["cost", "gain"]
    of: Callable[[Result], float | None]
    unit: Literal["", "ms", "us", "share"] = ""
    path: str | None = None
    """In result.json, where its figure may be believed or not."""
    is_drawn: bool = True
    """Whether it has a panel; deliveries have a figure of their own."""

    @property
    def head(self) -> str:
        """The label with its unit, as tables have it."""
        return f"{self.label}, {self.unit}" if self.unit in {"ms", "us"} else self.label

    def text(self, value: float) -> str:
        """A value as tables have it."""
        return percent(value) if self.unit == "share" else significant(value)


@dataclass(frozen=True, slots=True)
class MeasuredCarrier:
    """The runs of one variant, and what they say of its carrier."""

    variant: str
    carrier: str
    """`offsets`, `retry`, `markers` or `share`; the variant where one of these is there twice."""
    setting: str
    """What else differs between variants."""
    measures: tuple[OfRuns | None, ...]
    """In the order of MEASURES; None where no run has it."""
    doubted: tuple[int, ...]
    """In how many runs each is not believed."""

    def document(self) -> dict[str, Any]:
        """The same as JSON has it."""
        known = zip(MEASURES, self.measures, self.doubted, strict=True)
        figures = {each.key: {**asdict(found), "not_believed": doubted} for each, found, doubted in known if found}
        return {"variant": self.variant, "carrier": self.carrier, "setting": self.setting, "measures": figures}

    def cell(self, measure: CarrierMeasure) -> str:
        """Median and range of the runs."""
        place = MEASURES.index(measure)
        found, doubted = self.measures[place], self.doubted[place]
        if found is None:
            return UNKNOWN
        said = measure.text(found.median)
        if found.least < found.most:
            said += f" ({measure.text(found.least)} to {measure.text(found.most)})"
        return f"{said}, {doubted} not believed" if doubted else said


def carriers(variants: Sequence[Alike]) -> list[MeasuredCarrier]:
    """The variants with runs that finished, if there are at least two carriers among them; else none."""
    finished = [
        (each, runs) for each in variants if (runs := [run for run in each.runs if run.run.ending == "finished"])
    ]
    if len({carrier_of(runs[0]) for _, runs in finished}) < 2:
        return []
    named = list(zip([carrier_of(runs[0]) for _, runs in finished], _settings(finished), strict=True))
    alone = max(Counter(named).values()) == 1
    return [
        MeasuredCarrier(
            alike.name,
            carrier if alone else alike.name,
            setting if alone else "",
            tuple(_of_runs(runs, each) for each in MEASURES),
            tuple(_doubted(runs, each) for each in MEASURES),
        )
        for (alike, runs), (carrier, setting) in zip(finished, named, strict=True)
    ]


def _settings(finished: Sequence[tuple[Alike, Sequence[Result]]]) -> list[str]:
    """What sets variants apart besides their carriers: what stands behind these in their names, or the settings."""
    names = [each.name.partition(f"{carrier_of(runs[0])}, ")[::2] for each, runs in finished]
    if all(not before and behind for before, behind in names):
        return [behind for _, behind in names]
    settings = [settings_of(runs[0].run.scenario) for _, runs in finished]
    return setting_names(
        [{path: value for path, value in each.items() if not path.startswith(_BESIDE)} for each in settings]
    )


def carrier_of(result: Result) -> str:
    """What carries the acknowledgements of a run."""
    consume = result.run.profile.consume
    return consume.acknowledge.carrier if consume and consume.acknowledge else OFFSETS


def carrier_table(found: Sequence[MeasuredCarrier], about: str) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of all that carriers cost, or give: a line for each variant, without what no variant has."""
    shown = [each for each in MEASURES if each.about == about and any(one.cell(each) != UNKNOWN for one in found)]
    return ["median (range)", *(each.head for each in shown)], [
        [one.variant, *(one.cell(each) for each in shown)] for one in found
    ]


def carrier_bars(found: Sequence[MeasuredCarrier], about: str) -> list[Row]:
    """The same as rows for `by_measure`."""
    return [
        {
            "measure": f"{each.label}, %" if each.unit == "share" else each.head,
            "is_time": each.unit == "ms",
            "variant": one.variant,
            "series": one.carrier,
            **{name: rounded(getattr(runs, name) * scale) for name in ("median", "least", "most")},
            "shown": one.cell(each),
        }
        for place, each in enumerate(MEASURES)
        if each.about == about and each.is_drawn
        for one in found
        if (runs := one.measures[place]) is not None
        for scale in (100 if each.unit == "share" else 1,)
    ]


def _of_runs(runs: Sequence[Result], measure: CarrierMeasure) -> OfRuns | None:
    values = [value for run in runs if (value := measure.of(run)) is not None]
    return summary(values) if values else None


def _doubted(runs: Sequence[Result], measure: CarrierMeasure) -> int:
    if measure.path is None:
        return 0
    figures = [run.trust.get(measure.path) for run in runs if run.trust]
    return sum(figure is not None and figure.trust == "not_believed" for figure in figures)


def _records(result: Result) -> float | None:
    """Records that all clients wrote, by the messages that producers sent."""
    wire = result.wire
    if wire is None or wire.producers is None or not wire.producers.messages:
        return None
    writers = (wire.producers, wire.acknowledgements, wire.tracker_producers)
    return sum(each.messages for each in writers if each) / wire.producers.messages


def _section(section: str, name: str) -> Callable[[Result], float | None]:
    """A figure of a section that not every result has."""

    def of(result: Result) -> float | None:
        return getattr(getattr(result, section), name, None)

    return of


def _cpu(*roles: str) -> Callable[[Result], float | None]:
    def of(result: Result) -> float | None:
        return cpu_us_per_message(result.resources.processes, roles, result.throughput.sent_per_second)

    return of


def _processing(name: str) -> Callable[[Result], float | None]:
    def of(result: Result) -> float | None:
        response = result.latency.processing.response
        return response.ms(name) if response and not response.is_least(name) else None

    return of


def _first_delivery(result: Result) -> float | None:
    response = result.latency.end_to_end.response
    return response.ms("p99") if response else None


def _duplicates(result: Result) -> float | None:
    """Messages that were read again from their offset, or delivered again after success: whichever are more."""
    again = max(result.delivery.duplicate_consumer or 0, result.redelivery.duplicates if result.redelivery else 0)
    return again / result.delivery.checked if result.delivery.checked else None


def _unprocessed(result: Result) -> float | None:
    """Messages that were delivered and never processed with success."""
    if (found := result.redelivery) is not None:
        return (found.messages - found.succeeded) / found.messages if found.messages else None
    processing = result.processing
    if processing is None:
        return None
    count = processing.processed + processing.unprocessed
    return processing.unprocessed / count if count else None


def _overtaken(result: Result) -> float | None:
    """Messages that succeeded after a later one of their producer and partition."""
    if (found := result.redelivery) is not None:
        known = found.overtaken is not None and found.succeeded
        return (found.overtaken or 0) / found.succeeded if known else None
    checked = result.delivery.checked
    return (result.delivery.reordered or 0) / checked if checked else None


MEASURES: Final = (
    CarrierMeasure("records_per_message", "records written", "cost", _records),
    CarrierMeasure("bytes_per_message", "bytes on the wire", "cost", _section("wire", "bytes_per_message")),
    CarrierMeasure("requests_per_message", "requests", "cost", _section("wire", "requests_per_message")),
    CarrierMeasure("broker_us_per_message", "CPU of brokers", "cost", _cpu("broker"), "us"),
    CarrierMeasure("clients_us_per_message", "CPU of consumers, trackers", "cost", _cpu("consumer", "tracker"), "us"),
    CarrierMeasure(
        "first_p99_ms", "first delivery p99", "gain", _first_delivery, "ms", "latency.end_to_end.response.p99_ms"
    ),
    CarrierMeasure(
        "processed_p50_ms", "processed p50", "gain", _processing("p50"), "ms", "latency.processing.response.p50_ms"
    ),
    CarrierMeasure(
        "processed_p99_ms", "processed p99", "gain", _processing("p99"), "ms", "latency.processing.response.p99_ms"
    ),
    CarrierMeasure(
        "processed_max_ms", "processed max", "gain", _processing("max"), "ms", "latency.processing.response.max_ms"
    ),
    CarrierMeasure(
        "delay_p99_ms", "redelivery after the deadline p99", "gain", _section("redelivery", "delay_p99_ms"), "ms"
    ),
    CarrierMeasure(
        "deliveries_per_message", "deliveries", "gain", _section("redelivery", "deliveries_per_message"), is_drawn=False
    ),
    CarrierMeasure(
        "expected_per_message",
        "deliveries in theory",
        "gain",
        _section("redelivery", "expected_per_message"),
        is_drawn=False,
    ),
    CarrierMeasure("dead_share", "dead letters", "gain", _section("redelivery", "dead_share"), "share"),
    CarrierMeasure("unprocessed_share", "never processed", "gain", _unprocessed, "share"),
    CarrierMeasure("duplicate_share", "duplicates", "gain", _duplicates, "share"),
    CarrierMeasure("overtaken_share", "out of order", "gain", _overtaken, "share"),
)
"""All for each message, or of all messages: costs of all clients and brokers together, of the measure phase."""
