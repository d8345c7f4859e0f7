"""The table `resends`: sends that failed and were made again."""

import pyarrow as pa

from streamgauge.delivery.rows import MeasureSpan
from streamgauge.pipeline.columns import STAMP
from streamgauge.pipeline.read.rows import Row, measured


def attempt_rows(rows: pa.Table, measure: MeasureSpan) -> list[Row]:
    """Rows of `resends` from those of the event; in each scope first all together, then each error."""
    return [
        {"scope": scope} | row
        for scope, of_scope in (("run", rows), ("measure", measured(rows, "at_ns", measure)))
        if of_scope.num_rows
        for row in (_all(of_scope), *_by_error(of_scope))
    ]


def resent(rows: list[Row]) -> dict[str, int]:
    """How many messages were sent again in each scope, from the rows of `resends`."""
    return {row["scope"]: row["messages"] for row in rows if row["error"] is None}


def _all(rows: pa.Table) -> Row:
    return {"error": None, "count": rows.num_rows, "messages": rows.group_by([*STAMP]).aggregate([]).num_rows}


def _by_error(rows: pa.Table) -> list[Row]:
    messages = rows.group_by(["error", *STAMP]).aggregate([([], "count_all")])
    errors = messages.group_by("error").aggregate([("count_all", "sum"), ([], "count_all")])
    names = {"error": "error", "count_all_sum": "count", "count_all": "messages"}
    found = errors.select(list(names)).rename_columns(list(names.values())).to_pylist()
    return sorted(found, key=lambda row: str(row["error"]))
