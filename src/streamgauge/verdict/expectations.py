"""Whether a result is what its scenario expects: at each path a value, or one within a bound."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from streamgauge.domain.text.numbers import closely
from streamgauge.result.formats import current_path
from streamgauge.result.model.trust import FigureTrust
from streamgauge.result.model.verdict import ExpectationResult
from streamgauge.scenario.model.expectations import Bound, Plain, kind_of, parse_bound

_KINDS: Final = ("number", "truth", "str", "NoneType")
_UNIT: Final = "_ms"
_HIGH_END: Final = "_hi_ms"


def expectations(
    document: Mapping[str, Any], expect: Mapping[str, Any], figures: Mapping[str, FigureTrust] = MappingProxyType({})
) -> list[ExpectationResult]:
    """Every expectation, judged against a result; a path that leads nowhere or to null has failed.

    A figure with an interval passes if all of the interval does, and fails if nothing of it does; otherwise it cannot
    be decided. A missing end is infinite. A scenario of an older version may name a path of format 1.
    """
    judged = [_judge(document, current_path(path), wanted) for path, wanted in expect.items()]
    return [_by_interval(each, figures[each.path]) if each.path in figures else each for each in judged]


def _by_interval(judged: ExpectationResult, figure: FigureTrust) -> ExpectationResult:
    """An expectation of a figure that the instrument may have moved."""
    if judged.reason is not None:
        # It failed for messages that never came, whatever the instrument did.
        return judged
    passed = decided(parse_bound(judged.wanted), figure)
    if passed is None:
        return _undecided(judged, undecided_by(figure))
    return judged.model_copy(update={"passed": passed})


def decided(bound: Bound, figure: FigureTrust) -> bool | None:
    """Whether a figure keeps to a bound, whatever the instrument did to it; None where that cannot be told.

    A missing end of its interval is infinite.
    """
    if figure.low is None and figure.high is None:
        # Believed although nothing bounds it: recorded before there were bounds.
        return bound.holds(figure.value) if figure.trust == "believed" else None
    return bound.decides(figure.low, figure.high)


def undecided_by(figure: FigureTrust) -> str:
    """Why it cannot be told whether a figure keeps to a bound."""
    if figure.low is None and figure.high is None:
        return "the figure is not believed"
    return f"without the effect of the instrument it lies {_between(figure)}: only some of these values pass"


def _between(figure: FigureTrust) -> str:
    if figure.high is None:
        return f"at {closely(figure.low or 0.0)} or above"
    if figure.low is None:
        return f"at {closely(figure.high)} or below"
    return f"between {closely(figure.low)} and {closely(figure.high)}"


def _undecided(judged: ExpectationResult, reason: str) -> ExpectationResult:
    return judged.model_copy(update={"passed": False, "decided": False, "reason": reason})


def _judge(document: Mapping[str, Any], path: str, wanted: Any) -> ExpectationResult:
    try:
        bound = parse_bound(wanted)
        parent, found = _at(document, path)
    except (ValueError, LookupError) as error:
        return _failed(path, wanted, reason=str(error.args[0]))
    if found is None:
        return _failed(path, wanted, reason=_why_null(parent, path))
    if not bound.holds(found):
        return _failed(path, wanted, found)
    met = ExpectationResult(path=path, wanted=wanted, found=found, passed=True, reason=None)
    return _at_high_end(parent, met, bound)


def _at_high_end(parent: object, met: ExpectationResult, bound: Bound) -> ExpectationResult:
    """A percentile that is an interval keeps below a bound only if its high end does; null there is infinite."""
    key = met.path.rsplit(".", 1)[-1].removesuffix(_UNIT) + _HIGH_END
    if not (bound.is_above and met.path.endswith(_UNIT) and isinstance(parent, Mapping) and key in parent):
        return met
    high = parent[key]
    if high is not None and bound.holds(high):
        return met
    end = "infinite" if high is None else closely(high)
    reason = f"counting messages that never arrived it may be as high as {end}"
    return _failed(met.path, met.wanted, met.found, reason)


def _at(document: Mapping[str, Any], path: str) -> tuple[object, Plain]:
    """What a dotted path leads to, and what holds it; LookupError with the reason where it leads to no single value."""
    place: Any = document
    parent: Any = None
    walked: list[str] = []
    for key in path.split("."):
        if place is None:
            raise LookupError(_why_null(parent, ".".join(walked)))
        parent, place = place, _step(place, key, ".".join(walked) or "the result")
        walked.append(key)
    if kind_of(place) not in _KINDS:
        raise LookupError("is not a scalar value; name one below it")
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


def _failed(path: str, wanted: Any, found: Plain = None, reason: str | None = None) -> ExpectationResult:
    shown = wanted if isinstance(wanted, str | int | float) else str(wanted)
    return ExpectationResult(path=path, wanted=shown, found=found, passed=False, reason=reason)
