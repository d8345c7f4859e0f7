"""What a scenario expects of its result: a path and a value or bound, and whether it held."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
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
_KINDS: Final = ("number", "truth", "str", "NoneType")
_UNIT: Final = "_ms"
_HIGH_END: Final = "_hi_ms"


@dataclass(frozen=True, slots=True)
class Bound:
    """A comparison with a value; numbers are compared with numbers only, texts and truths by equality."""

    sign: str
    value: str | int | float | bool

    def holds(self, found: Plain) -> bool:
        """Whether a value keeps to the bound; a value of another kind never does."""
        return _kind(found) == _kind(self.value) and _COMPARE[self.sign](found, self.value)

    @property
    def is_above(self) -> bool:
        """Whether it says that a value must not be too large: then the high end of an interval is what counts."""
        return self.sign in {"<", "<=", "=="}


@dataclass(frozen=True, slots=True)
class Expectation:
    """One expectation: where, what was wanted, what was found, whether it held, and why it did not."""

    path: str
    wanted: str | int | float | bool
    found: Plain
    held: bool
    reason: str | None = None

    def as_result(self) -> dict[str, Any]:
        """The expectation as result.json says it."""
        return asdict(self)


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


def expectations(result: Mapping[str, Any], expect: Mapping[str, Any]) -> list[Expectation]:
    """Every expectation, judged against a result; a path that leads nowhere or to null has not held."""
    return [_judge(result, path, wanted) for path, wanted in expect.items()]


def _judge(result: Mapping[str, Any], path: str, wanted: Any) -> Expectation:
    try:
        bound = parse_bound(wanted)
        parent, found = _at(result, path)
    except (ValueError, LookupError) as error:
        return Expectation(path, wanted, None, held=False, reason=str(error.args[0]))
    if found is None:
        return Expectation(path, wanted, None, held=False, reason=_why_null(parent, path))
    if not bound.holds(found):
        return Expectation(path, wanted, found, held=False)
    return _at_high_end(parent, Expectation(path, wanted, found, held=True), bound)


def _at_high_end(parent: object, met: Expectation, bound: Bound) -> Expectation:
    """A percentile that is an interval keeps below a bound only if its high end does; null there is infinite."""
    key = met.path.rsplit(".", 1)[-1].removesuffix(_UNIT) + _HIGH_END
    if not (bound.is_above and met.path.endswith(_UNIT) and isinstance(parent, Mapping) and key in parent):
        return met
    high = parent[key]
    if high is not None and bound.holds(high):
        return met
    reason = f"with the messages that never came it may be as high as {'infinite' if high is None else high}"
    return Expectation(met.path, met.wanted, met.found, held=False, reason=reason)


def _at(result: Mapping[str, Any], path: str) -> tuple[object, Plain]:
    """What a dotted path leads to, and what holds it; LookupError with the reason where it leads to no single value."""
    place: Any = result
    parent: Any = None
    walked: list[str] = []
    for key in path.split("."):
        if place is None:
            raise LookupError(_why_null(parent, ".".join(walked)))
        parent, place = place, _step(place, key, ".".join(walked) or "the result")
        walked.append(key)
    if _kind(place) not in _KINDS:
        raise LookupError("is not a single value; name one below it")
    return parent, place


def _step(place: object, key: str, where: str) -> Any:
    if isinstance(place, Mapping) and key in place:
        return place[key]
    if isinstance(place, Sequence) and not isinstance(place, str) and key.isdecimal() and int(key) < len(place):
        return place[int(key)]
    raise LookupError(f"{where} has no `{key}`")


def _why_null(parent: object, path: str) -> str:
    reasons = parent.get("reasons") if isinstance(parent, Mapping) else None
    key = path.rsplit(".", 1)[-1]
    return str(reasons[key]) if isinstance(reasons, Mapping) and key in reasons else f"{path} is not known"


def _kind(value: Plain) -> str:
    if isinstance(value, bool):
        return "truth"
    return "number" if isinstance(value, int | float) else type(value).__name__
