"""report.html: one file that needs no network; every figure drawn from data that is in it once."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

import yaml
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from streamgauge.domain.text.numbers import facts, moment
from streamgauge.report.figures.drawing.figure import Figure
from streamgauge.report.pages import belief, details, pipeline, pressure, words
from streamgauge.report.pages.html.cards import Card, cards
from streamgauge.report.pages.html.charts import columns, doubt_of, placed, specs
from streamgauge.report.pages.html.library import bundle
from streamgauge.report.pages.html.tables import (
    delivery_tables,
    held_back,
    lacking,
    pipeline_tables,
    process,
    step_tables,
)
from streamgauge.report.pages.pressure import redeliveries
from streamgauge.result import Result
from streamgauge.result.model.verdict import CheckResult

__all__ = ["Card", "bundle", "cards", "page_of", "scripted", "to_html"]

_TEMPLATES: Final = files("streamgauge.report").joinpath("pages", "html", "template")
_SCRIPTS: Final = ("elements", "data", "charts", "plots", "time", "switches", "exports", "page")
"""In the order in which they stand in the page: each knows those before it."""
_JOINTS: Final = re.compile(r"(?<=[a-z])([._])(?=[a-z])")
_TONES: Final = {True: "good", False: "bad", None: "doubt"}
_DIAGNOSED: Final = frozenset(
    {
        "clock", "start", "schedule", "rate", "full_queue", "linger", "connections", "connection_rate", "worker_cpu",
        "machine_cpu", "cpu_quota", "ack_polls", "receive_polls", "lag_sampler", "garbage_collection",
        "processing_delay", "start_transient",
    }
)  # fmt: skip
"""Checks whose evidence the diagnostics show."""


def to_html(result: Result, figures: Sequence[Figure]) -> str:
    """The report of one result. Everything that came from outside is escaped."""
    verdict = result.verdict
    drawn = [figure for figure in figures if figure.missing is None]
    return page_of(
        "report.j2",
        drawn,
        {figure.name: doubt_of(result, figure) for figure in drawn},
        run=result.run,
        judgement=belief.judgement(result),
        parts=belief.parts(result),
        tone=_TONES[belief.is_good(verdict)],
        checks=verdict.checks,
        diagnosed=is_diagnosed(verdict.checks),
        machine=facts(result.run.machine),
        scenario=yaml.safe_dump(result.run.scenario, sort_keys=False, allow_unicode=True),
        command=shlex.join(result.run.command),
        **_told(result),
        **_sections(result, figures),
    )


def page_of(
    template: str, drawn: Sequence[Figure], doubts: Mapping[str, str] = MappingProxyType({}), **told: Any
) -> str:
    """A page with these figures, whose data and scripts are in it. The template escapes what is told.

    `doubts` says by the name of a figure what of it is not believed.
    """
    # Our own code, and that of a library; nothing in it comes from outside.
    library = Markup(bundle())  # noqa: S704
    return scripted(template, _SCRIPTS, specs=specs(drawn, doubts), data=columns(drawn), bundle=library, **told)


def scripted(template: str, scripts: Sequence[str], **told: Any) -> str:
    """A page with these scripts of ours in it. The template escapes what is told."""
    text: str = _environment().get_template(template).render(
        script=Markup("\n".join(_read(f"script/{name}.js") for name in scripts)),  # noqa: S704 - our own code
        css=Markup(_read("report.css")),  # noqa: S704
        **told,
    )  # fmt: skip
    return text


def is_diagnosed(checks: Iterable[CheckResult]) -> bool:
    """Whether a check did not pass whose evidence is among the diagnostics."""
    return any(check.name in _DIAGNOSED and check.status != "pass" for check in checks)


def _told(result: Result) -> dict[str, Any]:
    """What the page says in words and tables before its figures."""
    run, verdict = result.run, result.verdict
    latencies = words.latency_lines(result.latency, result.trust)
    return {
        "created": moment(run.created),
        "ending": words.ending(run),
        "counted": words.checks_counted(verdict.checks),
        "troubled": words.troubled_checks(verdict.checks),
        "what": words.what_was_run(run),
        "where": words.on_what(run, result.throughput.measured_seconds),
        "cards": cards(result),
        "latencies": latencies,
        "lacking": lacking(latencies),
        "why_censored": words.WHY_CENSORED.replace("`", "") if words.is_censored(latencies) else "",
        "heads": words.heads(),
        "expectations": [(each, words.found(each)) for each in result.expectations],
        "also": details.also(result),
    }


def _sections(result: Result, figures: Sequence[Figure]) -> dict[str, Any]:
    """Each section: its figures, and its tables."""
    resources = result.resources
    return {
        "overview": placed(result, figures, "overview"),
        "latency": placed(result, figures, "latency"),
        "step_tables": step_tables(result),
        "steps_held": details.steps_held(result),
        "lag": placed(result, figures, "lag"),
        "policy": pressure.policy(result),
        "sampling": pressure.sampling(result),
        "held_back": held_back(result),
        "more_faults": pressure.more_faults(result),
        "delivery": placed(result, figures, "delivery"),
        "well": words.went_well(result),
        "troubles": words.troubles(result),
        "clean": words.no_troubles(result.delivery),
        "groups": result.delivery.groups,
        "redelivered": redeliveries.in_short(result),
        "delivery_tables": delivery_tables(result),
        "pipeline": placed(result, figures, "pipeline"),
        "piped": pipeline.facts(result),
        "pipeline_tables": pipeline_tables(result),
        "diagnostics": placed(result, figures, "diagnostics"),
        "processes": [process(row) for row in resources.processes],
        "spare": [line for line in (words.spare(resources), words.pauses(resources)) if line],
    }


def _read(name: str) -> str:
    return _TEMPLATES.joinpath(name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_read), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["breakable"] = breakable
    return made


def breakable(text: str) -> Markup:
    """A text, escaped, whose long names may go on in the next line after a dot or an underscore."""
    return Markup(_JOINTS.sub(r"\1<wbr>", str(escape(text))))  # noqa: S704 - escaped
