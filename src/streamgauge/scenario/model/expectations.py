"""Bounds that a scenario may state of its result, and whether a value keeps to them."""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamgauge.domain.errors import BadValue

Plain = str | int | float | bool | None

_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_BOUND: Final = re.compile(r"\s*(<=|>=|!=|==|<|>)\s*(-?\d+(?:_\d+)*(?:\.\d+)?(?:e[+-]?\d+)?)\s*", re.IGNORECASE)
_LOOKS_LIKE_BOUND: Final = re.compile(r"\s*[<>=!]")


@dataclass(frozen=True, slots=True)
class Bound:
    """A comparison with a value; numbers are compared with numbers only, texts and truths by equality."""

    sign: str
    value: str | int | float | bool

    def holds(self, found: Plain) -> bool:
        """Whether a value keeps to the bound; a value of another kind never does."""
        return kind_of(found) == kind_of(self.value) and _COMPARE[self.sign](found, self.value)

    def decides(self, low: float | None, high: float | None) -> bool | None:
        """Whether every value from `low` to `high` keeps to the bound, or none does; None where only some do.

        An end that is None is infinite.
        """
        least, most = -math.inf if low is None else low, math.inf if high is None else high
        ends = {self.holds(least), self.holds(most)}
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if self.sign in {"==", "!="} and is_number and least < most:
            # Ends that differ from the value may have it between them.
            return None if least <= float(self.value) <= most else self.sign == "!="
        return ends.pop() if len(ends) == 1 else None

    @property
    def is_above(self) -> bool:
        """Whether it says that a value must not be too large: then the high end of an interval is what counts."""
        return self.sign in {"<", "<=", "=="}


def parse_bound(wanted: object) -> Bound:
    """The bound that `0`, `true`, `finished`, `<= 5` or `> 0.99` says; BadValue for anything else.

    A text that begins like a comparison must be one; any other text is to be met literally.
    """
    if not isinstance(wanted, str):
        if isinstance(wanted, int | float):
            return Bound("==", wanted)
        raise BadValue("not a value or bound", "Write a number, a text, true, false, or a bound like '<= 5'")
    if found := _BOUND.fullmatch(wanted):
        number = found.group(2).replace("_", "")
        return Bound(found.group(1), float(number) if re.search(r"[.eE]", number) else int(number))
    if _LOOKS_LIKE_BOUND.match(wanted):
        raise BadValue("not a bound", "Write one of < <= > >= == != and a number, like '<= 5'")
    return Bound("==", wanted)


def kind_of(value: Plain) -> str:
    """What values are compared with: `number`, `truth`, or the name of another type."""
    if isinstance(value, bool):
        return "truth"
    return "number" if isinstance(value, int | float) else type(value).__name__
