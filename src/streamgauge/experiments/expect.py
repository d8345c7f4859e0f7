"""Expectations of an experiment: what a figure of a variant has to be, by itself or beside that of another. Pure.

`variants.zstd.throughput.acked_per_second >= 0.9 * variants.none.throughput.acked_per_second`
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.errors import BadInput, BadValue, Fault
from streamgauge.domain.text.shown import one_line
from streamgauge.experiments.variants import PlannedVariant
from streamgauge.scenario.comparing import setting_text
from streamgauge.scenario.model.expectations import Bound

_FORM: Final = (
    "Write `variants.NAME.PATH <= NUMBER`, or `variants.NAME.PATH >= 0.9 * variants.OTHER.PATH`, with PATH of "
    "result.json"
)
_MARK: Final = "variants."
_NUMBER: Final = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_REST: Final = re.compile(
    rf"\s*(?P<sign><=|>=|<|>)\s*(?:(?P<alone>{_NUMBER})|(?:(?P<factor>{_NUMBER})\s*\*\s*)?{_MARK}(?P<other>.+))\s*",
    re.IGNORECASE,
)
_PATH: Final = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+")


@dataclass(frozen=True, slots=True)
class ExpectedOfVariant:
    """A figure of a variant, and what it has to be."""

    text: str
    """As it was written."""
    path: str
    """Of result.json."""
    variant: int
    """Its place among the variants."""
    bound: Bound
    """Of the figure or, with another variant, of its ratio to the same figure of that."""
    other: int | None = None


def expected(texts: Sequence[str], variants: Sequence[PlannedVariant]) -> list[ExpectedOfVariant]:
    """What the texts expect of these variants; raises BadInput with every fault."""
    found: list[ExpectedOfVariant] = []
    faults: list[Fault] = []
    for place, text in enumerate(texts):
        try:
            found.append(_parsed(text, variants))
        except BadValue as error:
            faults.append(error.at(f"expect.{place}", one_line(text)))
    if faults:
        raise BadInput(faults)
    return found


def _parsed(text: str, variants: Sequence[PlannedVariant]) -> ExpectedOfVariant:
    if not text.startswith(_MARK):
        raise BadValue("not an expectation of a variant", _FORM)
    variant, rest = _variant(text.removeprefix(_MARK), variants)
    path = _PATH.match(rest)
    found = _REST.fullmatch(rest, path.end()) if path else None
    if path is None or found is None:
        raise BadValue("not an expectation of a variant", _FORM)
    if found["alone"]:
        return ExpectedOfVariant(text, path[0], variant, Bound(found["sign"], float(found["alone"])))
    other, other_path = _variant(found["other"], variants)
    if other_path.strip() != path[0]:
        raise BadValue("compares different figures", "Name the same figure of both variants")
    return ExpectedOfVariant(text, path[0], variant, Bound(found["sign"], float(found["factor"] or 1)), other)


def _variant(text: str, variants: Sequence[PlannedVariant]) -> tuple[int, str]:
    """The variant whose name a text begins with, the longest that does, and what follows its dot."""
    names = {name: place for place, each in enumerate(variants) for name in _names(each)}
    if name := max((name for name in names if text.startswith(f"{name}.")), key=len, default=None):
        return names[name], text[len(name) + 1 :]
    known = ", ".join(each.name for each in variants[:5])
    raise BadValue("there is no such variant", f"Known: {known}{', and others' if len(variants) > 5 else ''}")


def _names(variant: PlannedVariant) -> Iterator[str]:
    """Its name and, where only one setting is varied, its value alone."""
    yield variant.name
    if len(variant.settings) == 1:
        yield setting_text(next(iter(variant.settings.values())))
