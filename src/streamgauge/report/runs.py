"""A folder of runs as a table: one row for each, made of what its run.json and result.json say."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.domain.errors import BadValue
from streamgauge.domain.folder.facts import RunFacts, parse_facts
from streamgauge.domain.text.numbers import UNKNOWN, listed, moment, per_second, whole
from streamgauge.report.pages.belief import IMPORTED, cell, judgement
from streamgauge.report.pages.page import Unbroken, page, plain, struck
from streamgauge.result import FORMAT, Result
from streamgauge.result.comparing import archives_differ
from streamgauge.result.model.delivery import DeliverySection
from streamgauge.result.model.latency import LatencyFigures
from streamgauge.result.model.trust import FigureTrust
from streamgauge.result.reading import NotAResultError, result_of

PERCENTILES: Final = ("p50", "p99")
"""The figures of a latency that a row has, unless others are asked for."""
NOT_ANALYSED: Final = "not analysed"
NOT_READABLE: Final = "not readable"

_STYLES: Final = {
    "VALID": "bold green",
    "NOT VALID": "bold red",
    "NOT JUDGED": "bold yellow",
    IMPORTED: "bold yellow",
    NOT_READABLE: "bold red",
}


@dataclass(frozen=True, slots=True)
class RowFigure:
    """One figure of a latency, and whether it may be believed."""

    ms: float | None = None
    trust: FigureTrust | None = None
    is_least: bool = False
    """Whether messages that never came may make it more."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run; None is what is not known or does not apply."""

    id: str
    """The name of its folder."""
    scenario: str | None = None
    created: str | None = None
    ending: str | None = None
    verdict: str = NOT_ANALYSED
    rate_of: str | None = None
    """`received`, or `sent` where nobody receives."""
    per_second: float | None = None
    rate_trust: FigureTrust | None = None
    """Whether the rate may be believed. Null in results of older versions."""
    response: str | None = None
    """Which response time: `end-to-end`, or `ack` where there is none."""
    figures: Mapping[str, RowFigure] = field(default_factory=dict)
    """Its figures by their names, those that were asked for."""
    missing: int | None = None
    """Messages that were lost or undelivered."""
    passed: int | None = None
    expectations: int | None = None
    class_archive: bool | None = None
    """Whether its broker started from an archive of its classes; runs that are compared should agree."""
    faults: tuple[str, ...] = ()
    """Why something of it cannot be read."""

    def document(self) -> dict[str, Any]:
        """The row in JSON, each figure with its name: `p50_ms`, `p50_trust`, `p50_is_least`."""
        flat: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "figures":
                for name, figure in value.items():
                    flat |= {f"{name}_{part.name}": _plain(getattr(figure, part.name)) for part in fields(figure)}
            else:
                flat[each.name] = _plain(value)
        return flat


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    return value.model_dump(mode="json") if isinstance(value, FigureTrust) else value


def run_row(name: str, facts: bytes | None, result: bytes | None, percentiles: Sequence[str] = PERCENTILES) -> RunRow:
    """The row of a run folder of this name, from the content of its run.json and result.json, None where missing."""
    return read_run(name, facts, result, percentiles)[0]


def read_run(
    name: str, facts: bytes | None, result: bytes | None, percentiles: Sequence[str] = PERCENTILES
) -> tuple[RunRow, Result | None]:
    """The row of a run folder, and its result where that can be read."""
    row, faults, found = RunRow(name, figures=dict.fromkeys(percentiles, RowFigure())), [], None
    try:
        row = row if facts is None else _with_facts(row, parse_facts(facts))
    except BadValue as error:
        faults.append(f"run.json: {error.what}")
    except ValueError as error:
        faults.append(str(error))
    if facts is None:
        faults.append("run.json is missing")
    try:
        if result is not None:
            found = _result(result)
            row = _with_result(row, found, percentiles)
    except ValueError as error:
        faults.append(f"result.json {error}")
    return (replace(row, verdict=NOT_READABLE, faults=tuple(faults)) if faults else row), found


def newest_last(rows: Sequence[RunRow]) -> list[RunRow]:
    """By when they were created, then by name; those of which that is not known come first."""
    return sorted(rows, key=lambda row: (row.created or "", row.id))


def _result(content: bytes) -> Result:
    """What result.json says; raises ValueError, also for a format that this version does not know."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError("cannot be read as JSON") from error
    if not isinstance(document, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004 - one kind of error for all
    known = range(1, FORMAT + 1)
    if document.get("format", FORMAT) not in known:
        readable = listed([str(each) for each in known])
        raise ValueError(f"has format {document['format']!r}; this version reads {readable}")
    try:
        return result_of(document)
    except NotAResultError as error:
        raise ValueError(f"has unexpected content: {error}") from error


def _with_facts(row: RunRow, facts: RunFacts) -> RunRow:
    return replace(
        row,
        scenario=facts.name,
        created=facts.created,
        ending=facts.ending,
        class_archive=facts.broker.class_archive,
    )


def _with_result(row: RunRow, result: Result, percentiles: Sequence[str]) -> RunRow:
    rates = {"received": result.throughput.received_per_second, "sent": result.throughput.sent_per_second}
    if result.run.imported:
        rates["acked"] = result.throughput.acked_per_second
    rate_of = next((stage for stage, rate in rates.items() if rate is not None), None)
    row = replace(
        row,
        verdict=judgement(result),
        rate_of=rate_of,
        per_second=rates[rate_of] if rate_of else None,
        rate_trust=result.trust.get(f"throughput.{rate_of}_per_second"),
        missing=_missing(result.delivery),
        passed=sum(each.passed for each in result.expectations),
        expectations=len(result.expectations),
    )
    responses = {"end-to-end": "end_to_end", "ack": "ack"}
    # Most tools have no response time: what they have is shown by its name.
    kinds = {"": "response", " service": "service"} if result.run.imported else {"": "response"}
    for (words, path), (of_kind, kind) in product(responses.items(), kinds.items()):
        figures = getattr(getattr(result.latency, path), kind)
        if figures and (figures.p50_ms is not None or (of_kind and has_any(figures, percentiles))):
            trust = {name: result.trust.get(f"latency.{path}.{kind}.{name}_ms") for name in percentiles}
            shown = {name: RowFigure(figures.ms(name), trust[name], figures.is_least(name)) for name in percentiles}
            return replace(row, response=f"{words}{of_kind}", figures=shown)
    return row


def has_any(figures: LatencyFigures, names: Sequence[str]) -> bool:
    """Whether one of these figures of a latency is known."""
    return any(figures.ms(name) is not None for name in names)


def _missing(delivery: DeliverySection) -> int | None:
    """What is known to be missing; that nothing is can be said only where both counts are known."""
    known = [count for count in (delivery.lost, delivery.undelivered) if count is not None]
    return sum(known) if len(known) == 2 or any(known) else None


def runs_table(rows: Sequence[RunRow], *, colour: bool | None = None, width: int | None = None) -> str:
    """The rows as text of at most 100 columns: two lines for each run, and one more for what cannot be read of it.

    Below them stands a warning where brokers were not started alike.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    names = list(dict.fromkeys(name for row in rows for name in row.figures))
    latency = f"{' / '.join(name.replace('_', '.') for name in names)}, ms"
    for head in ("Run", "Verdict", "Rate", latency, "Delivery"):
        table.add_column(head, overflow="fold", no_wrap=head not in {"Run", latency})
    for row in rows:
        table.add_row(*_cells(row))
    warning = archives_differ({row.id: row.class_archive for row in rows})
    shown = Group(table, Text(f"\n{plain(warning)}", style="yellow")) if warning else table
    return page(shown, colour=colour, width=width)


def _cells(row: RunRow) -> list[RenderableType]:
    about = [Text(plain(each), "dim") for each in (row.scenario, moment(row.created or "")) if each]
    faults = [Text(plain(fault), style="red") for fault in row.faults]
    run = Group(Text(plain(row.id), overflow="fold"), *([Unbroken(about, ", ")] if about else []), *faults)
    ending = row.ending or ("did not end" if row.created else "")
    passed = f"{row.passed} of {row.expectations} passed" if row.expectations else ""
    response = list(map(_figure, row.figures.values())) if row.response else [Text(UNKNOWN)]
    rate = cell(row.per_second, row.rate_trust, per_second)
    return [
        run,
        _two_lines(Text(row.verdict, style=_STYLES.get(row.verdict, "")), ending),
        _two_lines(struck(rate), row.rate_of or ""),
        Group(Unbroken(response, " / "), Text(row.response or "", style="dim")),
        _two_lines(_delivery(row.missing), passed, style="bold red" if row.passed != row.expectations else "dim"),
    ]


def _delivery(missing: int | None) -> Text:
    text = UNKNOWN if missing is None else f"{whole(missing)} missing" if missing else "none missing"
    return Text(text, style="bold red" if missing else "")


def _figure(figure: RowFigure) -> Text:
    return struck(cell(figure.ms, figure.trust, mark="> " if figure.is_least else ""))


def _two_lines(first: Text, second: str, style: str = "dim") -> Text:
    return Text("").append(first).append(f"\n{second}" if second else "", style=style)
