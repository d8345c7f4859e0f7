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
