"""report.html: one file that needs no network; every figure drawn from data that is in it once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import vl_convert
import yaml
from jinja2 import BaseLoader, Environment, StrictUndefined
from markupsafe import Markup

from streamgauge.domain.text.numbers import (
    UNKNOWN,
    cores,
    facts,
    milliseconds,
    per_second,
    percent,
    significant,
    size,
    whole,
)
from streamgauge.report.figures.drawing.figure import Figure
from streamgauge.report.figures.drawing.theme import page_config, sized
from streamgauge.report.pages import belief, details, passage, pressure, words
from streamgauge.result import Result
from streamgauge.result.model.latency import LatencyPair
from streamgauge.result.model.resources import ProcessUsage
from streamgauge.result.model.verdict import ExpectationResult

_TEMPLATE: Final = "html.j2"
_TONES: Final = {True: "good", False: "bad", None: "doubt"}
_HEADLINES: Final = {"end_to_end": "End-to-end", "ack": "Acknowledgement"}


def to_html(result: Result, figures: Sequence[Figure]) -> str:
    """The report of one result. Everything that came from outside is escaped."""
    run, verdict, delivery, resources = result.run, result.verdict, result.delivery, result.resources
    drawn = [figure for figure in figures if figure.missing is None]
    latencies = words.latency_lines(result.latency, result.trust)
    text: str = _template().render(
        run=run,
        judgement=belief.judgement(verdict),
        parts=belief.parts(result),
        tone=_TONES[belief.is_good(verdict)],
        ending=words.ending(run),
        counted=words.checks_counted(verdict.checks),
        troubled=words.troubled_checks(verdict.checks),
        checks=verdict.checks,
        what=words.what_was_run(run),
        where=words.on_what(run, result.throughput.measured_seconds),
        cards=cards(result),
        latencies=latencies,
        why_censored=words.WHY_CENSORED.replace("`", "") if words.is_censored(latencies) else "",
        heads=words.heads(),
        well=words.went_well(result),
        troubles=words.troubles(result),
        clean=words.no_troubles(delivery),
        groups=delivery.groups,
        also=details.also(result),
        piped=passage.facts(result),
        passages=_passages(result),
        policy=pressure.policy(result),
        sampling=pressure.sampling(result),
        held_back=_held_back(result),
        more_faults=pressure.more_faults(result),
        expectations=[(each, words.found(each)) for each in result.expectations],
        processes=[_process(row) for row in resources.processes],
        spare=[line for line in (words.spare(resources), words.pauses(resources)) if line],
        figures=figures,
        scenario=yaml.safe_dump(run.scenario, sort_keys=False, allow_unicode=True),
        machine=facts(run.machine),
        specs=_script({figure.name: _drawing(figure) for figure in drawn}),
        data=_script(_columns(drawn)),
        # The code of a library; nothing in it comes from outside.
        bundle=Markup(bundle()),  # noqa: S704
    )
    return text


@dataclass(frozen=True, slots=True)
class Card:
    """One figure with what it is, and whether it is good, bad or in doubt."""

    name: str
    value: str
    small: str
    tone: str = ""


def cards(result: Result) -> list[Card]:
    """What a busy person needs: throughput, the tail, what became of the messages, whether it was expected."""
    latencies = [card for path in _HEADLINES if (card := _latency_card(path, result))]
    expected = [_expected_card(result.expectations)] if result.expectations else []
    return [_rate_card(result), *latencies, _delivery_card(result), *expected]


def _rate_card(result: Result) -> Card:
    """The last stage that the run has."""
    throughput, rates = result.throughput, words.rates(result)
    if not rates:
        return Card("Throughput", UNKNOWN, "no measurement")
    stage, asked = list(rates)[-1], throughput.target_per_second
    parts = [f"target {per_second(asked)}" if asked is not None else "", words.megabytes(throughput) or ""]
    return Card(f"Throughput, {stage}", rates[stage], ", ".join(filter(None, parts)))


def _latency_card(path: str, result: Result) -> Card | None:
    """Response time, or service time where there is no schedule."""
    pair: LatencyPair = getattr(result.latency, path)
    for kind, figures in pair.kinds.items():
        if figures and figures.p99_ms is not None:
            mark, trust = "> " if figures.is_least("p99") else "", result.trust.get(f"latency.{path}.{kind}.p99_ms")
            shown = belief.cell(figures.p99_ms, trust, milliseconds, mark)
            small = f"p50 {significant(figures.p50_ms)}, max {milliseconds(figures.max_ms)}; {kind} time"
            return Card(f"{_HEADLINES[path]} p99", shown, small)
    return None


def _delivery_card(result: Result) -> Card:
    delivery, troubles = result.delivery, words.troubles(result)
    grave = [each for each in troubles if each.grave]
    small = ", ".join(str(each) for each in words.went_well(result))
    if troubles:
        return Card("Delivery", str((grave or troubles)[0]), small, "bad" if grave else "doubt")
    if not small:
        return Card("Delivery", UNKNOWN, "not known", "doubt")
    return Card("Delivery", "none lost" if delivery.lost == 0 else "no problems found", small, "good")


def _expected_card(expectations: Sequence[ExpectationResult]) -> Card:
    broken = [each.path for each in expectations if not each.passed]
    small = f"failed: {', '.join(broken)}" if broken else "as the scenario states them"
    return Card("Expectations", words.passed(expectations), small, "bad" if broken else "good")


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of texts; from column `numbers` on they are figures."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: int


def _held_back(result: Result) -> list[TextTable]:
    """Lags, recoveries and faults, as far as there are any."""
    grids = [
        _grid(pressure.LAG_HEADS, pressure.lags(result), 2),
        _grid(pressure.RECOVERY_HEADS, pressure.recoveries(result), 3),
        _grid(pressure.FAULT_HEADS, pressure.faults(result), len(pressure.FAULT_HEADS)),
    ]
    return [grid for grid in grids if grid.rows]


def _passages(result: Result) -> list[TextTable]:
    """Where the time of messages went through a pipeline, and what happened to its query."""
    grids = [
        _grid(passage.STAGE_HEADS, passage.stages(result), 3),
        _grid(passage.LIFE_HEADS, passage.life(result), len(passage.LIFE_HEADS)),
    ]
    return [grid for grid in grids if grid.rows]


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: int) -> TextTable:
    """A table without the columns that are empty."""
    kept = [column for column in range(len(heads)) if any(row[column] for row in rows)]
    cells = [[row[column] for column in kept] for row in rows]
    return TextTable([heads[column] for column in kept], cells, sum(column < numbers for column in kept))


def _process(row: ProcessUsage) -> dict[str, str]:
    per_message, memory = row.cpu_us_per_message, row.rss_bytes
    return {
        "process": row.process,
        "cores": cores(row.cpu_cores),
        "us_per_message": UNKNOWN if per_message is None else significant(per_message),
        "memory": size(memory),
        "messages": whole(row.messages),
        "blocked": percent(row.blocked_share),
        "gap": milliseconds(row.poll_gap_ms),
    }


def _drawing(figure: Figure) -> dict[str, Any]:
    """A chart as wide as the page, and the names of the data that the page gives it, each with its columns."""
    names = {name: list(rows[0]) if rows else [] for name, rows in figure.data.items()}
    return {"spec": sized(figure.spec(), width="container", config=page_config()), "names": names}


def _columns(figures: Sequence[Figure]) -> dict[str, dict[str, list[Any]]]:
    """All data of all figures, each once, column by column: the names of columns are not repeated in every row."""
    together: dict[str, dict[str, list[Any]]] = {}
    for figure in figures:
        for name, rows in figure.data.items():
            known = together.setdefault(name, {})
            new = [column for column in (rows[0] if rows else ()) if column not in known]
            known |= {column: [row[column] for row in rows] for column in new}
    return together


def _script(value: object) -> Markup:
    """JSON that may stand in a script element, whatever the strings in it contain."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # No character is left that could end the element.
    return Markup(text)  # noqa: S704


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script; it takes seconds to make, once in a process."""
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")).replace("</script", "<\\/script")


@cache
def _template() -> Any:
    environment = Environment(
        loader=BaseLoader(), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(files("streamgauge.report").joinpath(_TEMPLATE).read_text(encoding="utf-8"))
