"""The command `compare`: what several runs say together."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from streamgauge.domain.errors import BadInput
from streamgauge.report.compare import Together
from streamgauge.report.compare.latex import comparison_latex
from streamgauge.report.compare.pages import comparison_markdown, comparison_text
from streamgauge.report.pages.page import plain
from streamgauge.runs.results.compared import compared

_TABLES: Final = ("mqperf",)
"""Result tables of other tools."""


def compare(
    folders: Sequence[Path],
    *,
    metric: str | None,
    as_json: bool,
    as_markdown: bool,
    as_csv: bool = False,
    table: str | None = None,
    html: Path | None = None,
    latex: Path | None = None,
    compression: Path | None = None,
    out: Callable[[str], None],
) -> None:
    """Compare the runs of these folders, also as a page; raises BadInput where there are no two variants to compare.

    With `table`, the result table of another tool is printed instead. That, and `latex`, may be of a single variant.
    """
    forms = {"--json": as_json, "--markdown": as_markdown, "--table": table is not None}
    if len(given := [name for name, is_given in forms.items() if is_given]) > 1:
        raise BadInput.single(given[0], f"cannot be combined with {given[1]}", "Use one of them")
    if table not in (None, *_TABLES):
        raise BadInput.single(f"--table {plain(table or '')}", "no such table", f"Known: {', '.join(_TABLES)}")
    if compression and html is None:
        raise BadInput.single("--compression", "is drawn in the page only", "Add --html FILE")
    if as_csv and table is None:
        raise BadInput.single("--csv", "is a form of --table", f"Add --table {_TABLES[0]}")
    found = compared(folders, metric)
    if len(found.variants) < 2 and table is None and latex is None:
        what = "these runs were measured alike, so there is nothing to compare"
        raise BadInput.single("RUN", what, "Name runs of another scenario or setting, or a second folder of runs")
    if html:
        _write_page(html, found, compression)
    if latex:
        _write(latex, comparison_latex(found, latex.stem), "--latex")
    if as_json:
        out(json.dumps(found.document(), indent=2))
    elif table is not None:
        out(_mqperf(found, as_csv=as_csv))
    else:
        out(comparison_markdown(found) if as_markdown else comparison_text(found))


def _mqperf(found: Together, *, as_csv: bool) -> str:
    # Arrow takes long to load, and nothing else here needs it.
    from streamgauge.cli.results.sql import csv_text, table_text
    from streamgauge.report.compare.mqperf import GRID, mqperf_table
    from streamgauge.report.exports.csv_files import harmless_table

    table = mqperf_table(found)
    if as_csv:
        return csv_text(harmless_table(table))
    grid = {tuple(row.values()) for row in table.select(GRID).to_pylist()}
    return table_text(table.drop_columns("variant") if len(grid) == table.num_rows else table)


def _write_page(file: Path, found: Together, compression: Path | None) -> None:
    # Figures need a library of their own, which takes long to load.
    from streamgauge.report.compare.html import comparison_html
    from streamgauge.report.figures.compare import ratios

    offline: Sequence[Mapping[str, Any]] = ()
    if compression:
        try:
            offline = ratios(json.loads(compression.read_bytes()))
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            where, mend = (
                f"--compression {plain(str(compression))}",
                "Write it with: streamgauge compression --all --json",
            )
            raise BadInput.single(where, "has no compression ratios", mend) from error
    _write(file, comparison_html(found, file.stem, offline=offline), "--html")


def _write(file: Path, text: str, option: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise BadInput.single(f"{option} {plain(str(file))}", what, "Name another file") from error
