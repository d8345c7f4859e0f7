"""Short names in legends: what several names share at their begin tells nobody anything."""

from collections.abc import Mapping
from itertools import takewhile
from typing import Final

from streamgauge.result import Result

_BREAKS: Final = "-_./ "
_OF_PIPELINE: Final = ("consumers", "query")


def group_names(result: Result) -> dict[int, str]:
    """What groups are called; behind a pipeline there are those of the query and of the consumers."""
    names = {group.id: group.name for group in result.run.groups}
    if result.pipeline and len(names) == len(_OF_PIPELINE):
        return dict(zip(sorted(names), _OF_PIPELINE, strict=True))
    return apart(names)


def apart(names: Mapping[int, str]) -> dict[int, str]:
    """The names without what all of them begin with, up to a break between words; a single name stays whole."""
    if len(set(names.values())) < 2:
        return dict(names)
    letters = zip(*names.values(), strict=False)
    shared = "".join(each[0] for each in takewhile(lambda each: len(set(each)) == 1, letters))
    cut = max((shared.rfind(mark) for mark in _BREAKS), default=-1) + 1
    # Where one would have no name left, or a mere number, the word before is kept.
    while cut and any(len(name) <= cut or name[cut:].isdigit() for name in names.values()):
        cut = max((shared.rfind(mark, 0, cut - 1) for mark in _BREAKS), default=-1) + 1
    return {number: name[cut:] for number, name in names.items()}
