"""The order of runs: which variant is run when, so that a drift of the machine touches all of them alike."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streamgauge.experiments.model import PlanOrder


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of the plan."""

    round: int
    """From 1 on."""
    variant: int
    """Its place among the variants."""


def planned_runs(variants: int, rounds: int, order: PlanOrder, seed: int) -> Iterator[PlannedRun]:
    """Each variant once in each round, in the order that was asked for."""
    if order == "blocks":
        yield from (PlannedRun(number, place) for place in range(variants) for number in _numbers(rounds))
        return
    for number in _numbers(rounds):
        places = interleaved(variants, number, seed) if order == "interleaved" else range(variants)
        yield from (PlannedRun(number, place) for place in places)


def interleaved(variants: int, number: int, seed: int) -> Sequence[int]:
    """The order of the variants in a round: drawn for each odd one; an even one is the reverse of that before it.

    A steady drift then cancels over two rounds: of two variants, the runs are A B B A.
    """
    places = list(range(variants))
    # Of Python, whose draws stay the same from version to version: an experiment may go on with a later one.
    random.Random(f"{seed} {(number - 1) // 2}").shuffle(places)  # noqa: S311 - no secret
    return places if number % 2 else places[::-1]


def _numbers(rounds: int) -> range:
    return range(1, rounds + 1)
