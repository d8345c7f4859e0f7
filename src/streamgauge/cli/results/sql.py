"""The command `sql`: a question of one's own about runs and experiments."""

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.numbers import UNKNOWN, whole
from streamgauge.report.pages.page import page, plain
from streamgauge.runs.results.sql import answer_sql, questioned

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS: Final = 100
"""That a terminal shows; the other forms have all of them."""


def sql(folders: Sequence[Path], query: str, *, as_csv: bool, as_json: bool, out: Callable[[str], None]) -> None:
    """Answer a query about these folders; raises BadInput."""
    if as_csv and as_json:
        raise BadInput.single("--csv", "cannot be combined with --json", "Use one of them")
    found = answer_sql(questioned(folders), query)
    if as_json:
        out(json.dumps([_plain_values(row) for row in found.to_pylist()], indent=2, default=str))
    else:
        out(csv_text(found) if as_csv else table_text(found))


def csv_text(found: "pa.Table") -> str:
    """All rows as CSV with a header; nulls are empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(found.column_names)
    for row in found.to_pylist():
        writer.writerow(["" if each is None else each for each in row.values()])
    return text.getvalue().rstrip("\n")


def table_text(found: "pa.Table") -> str:
    """The first rows as a terminal shows them, and how many there are."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in found.column_names:
        table.add_column(plain(name), overflow="fold")
    for row in found.slice(0, _MOST_ROWS).to_pylist():
        table.add_row(*(plain(UNKNOWN if each is None else str(each)) for each in row.values()))
    rows = found.num_rows
    more = f"{whole(rows)} rows; the first {_MOST_ROWS} are shown. Use --csv or --json for all of them."
    return page(table) if rows <= _MOST_ROWS else page(table, more)


def _plain_values(row: dict[str, Any]) -> dict[str, Any]:
    """Values that JSON has: what is no number is null."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }
