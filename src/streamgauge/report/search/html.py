"""A search as a page: one file that needs no network, with figures."""

import shlex

import yaml

from streamgauge.experiments.search.record import SearchRecord
from streamgauge.experiments.search.words import answer_lines
from streamgauge.report.pages.html import page_of
from streamgauge.report.pages.html.charts import as_placed
from streamgauge.report.pages.html.tables import TextTable
from streamgauge.report.search.figures import search_figures
from streamgauge.report.search.markdown import counted
from streamgauge.report.search.runs import TEXTS, run_table


def search_html(record: SearchRecord) -> str:
    """The page of a search. Everything that came from outside is escaped."""
    figures = search_figures(record)
    heads, rows = run_table(record)
    return page_of(
        "search.j2",
        [each for each in figures if each.missing is None],
        name=record.name,
        answer=list(answer_lines(record)),
        counted=counted(record),
        figures=as_placed(figures),
        runs=TextTable(heads, rows, TEXTS),
        scenario=yaml.safe_dump(record.scenario, sort_keys=False, allow_unicode=True),
        command=shlex.join(record.command),
    )
