"""Bars and lines drawn in characters: in blocks where the encoding has them, in ASCII elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final


@dataclass(frozen=True, slots=True)
class Signs:
    """What is drawn with: `bar` from a sliver to a full cell, `levels` from the lowest to the highest."""

    bar: str
    levels: str


BLOCKS: Final = Signs(bar="▏▎▍▌▋▊▉█", levels="▁▂▃▄▅▆▇█")
ASCII: Final = Signs(bar="#", levels="_.-=+*#")
GAP: Final = " "
_NO_DRAWING: Final = frozenset({"", "dumb", "unknown"})


def signs_of(*, terminal: bool, term: str, encoding: str) -> Signs | None:
    """What a place can be drawn on with; None for a pipe or file, and for a terminal that can do nothing."""
    if not terminal or term in _NO_DRAWING:
        return None
    return BLOCKS if encoding.lower().replace("-", "").startswith("utf") else ASCII


def bar(share: float, cells: int, signs: Signs) -> str:
    """A bar over a share of `cells`; whatever is more than nothing is seen."""
    parts = len(signs.bar)
    drawn = round(share * cells * parts)
    if share > 0:
        drawn = max(1, drawn)
    full, rest = divmod(drawn, parts)
    return signs.bar[-1] * full + (signs.bar[rest - 1] if rest else "")


def line(values: Sequence[float | None], cells: int, signs: Signs) -> str:
    """Values over time as one line from 0 to their maximum, several of them averaged where they are more than `cells`.

    What is not known is a gap.
    """
    count = min(cells, len(values))
    places = [values[each * len(values) // count : (each + 1) * len(values) // count] for each in range(count)]
    means = [fmean(known) if (known := [each for each in place if each is not None]) else None for place in places]
    most = max((mean for mean in means if mean is not None), default=0.0)
    return "".join(GAP if mean is None else _level(mean / most if most else 0.0, signs) for mean in means)


def _level(share: float, signs: Signs) -> str:
    return signs.levels[min(len(signs.levels) - 1, int(max(0.0, share) * len(signs.levels)))]
