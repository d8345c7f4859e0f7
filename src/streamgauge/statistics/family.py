"""Several comparisons of one metric: one of them differs by chance more often than any single one."""

from collections.abc import Sequence


def holm(values: Sequence[float]) -> list[float]:
    """The p-values of a family, adjusted so that all stay within one level (Holm, 1979), in the same order."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    adjusted, most = [1.0] * len(values), 0.0
    for rank, place in enumerate(order):
        most = max(most, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = most
    return adjusted


def holm_with(values: Sequence[float], place: int, value: float) -> float:
    """The adjusted p-value at a place of a family, if its own were `value`."""
    return holm([*values[:place], value, *values[place + 1 :]])[place]
