"""Sections of result.json with a reason for each of their nulls."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from streamgauge.domain.latency.percentiles import NOTHING
from streamgauge.result.model.base import Section

Values = dict[str, Any]

Made = TypeVar("Made", bound=Section)

OLDER: Final = "the run was analysed by an older version"


def missing(table: str) -> str:
    """Why there is a null where a table is not there."""
    return f"the table {table} is missing"


def made(kind: type[Made], out: Values, why: Callable[[str], str | None]) -> Made:
    """The section with these values, and a reason for each of its nulls."""
    return kind.model_validate(with_reasons(out, why))


def with_reasons(out: Values, why: Callable[[str], str | None]) -> Values:
    """The section with a reason for each of its nulls."""
    nulls = [key for key, value in out.items() if value is None]
    out["reasons"] = {key: why(key) or NOTHING for key in nulls}
    return out
