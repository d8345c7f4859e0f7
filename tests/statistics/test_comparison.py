"""Two variants compared: which test decides, what it says, and when there is no verdict."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from streamgauge.statistics.comparison import (
    SENSITIVE,
    Comparison,
    RunFigure,
    RunOrder,
    Variant,
    compared,
)

BASE = (10.0, 10.4, 9.8, 10.1, 9.9, 10.2, 10.3)
"""Runs of one variant; noise of each round is that of its neighbour, too."""


def variant(name: str, values: Sequence[float], left_out: int = 0) -> Variant:
    return Variant(name, {place: RunFigure(value) for place, value in enumerate(values)}, left_out)


def scaled(by: float, count: int = 5, wiggle: float = 0.01) -> list[float]:
    return [value * by * (1 + wiggle * (-1) ** place) for place, value in enumerate(BASE[:count])]


def one(ones: Sequence[float], others: Sequence[float], order: RunOrder = "interleaved") -> Comparison:
    [found] = compared([(variant("lz4", ones), variant("zstd", others))], order)
    return found


def test_a_difference_is_shown_as_a_ratio_with_its_interval() -> None:
    found = one(BASE[:5], scaled(1.2))
    assert (found.verdict, found.method, found.pairs, found.runs) == ("higher", "paired t", 5, (5, 5))
    assert found.effect is not None
    assert found.effect.is_ratio
    assert found.effect.low is not None
    assert found.effect.high is not None
    assert 1.1 < found.effect.low < 1.2 < found.effect.high < 1.3
    assert found.p == found.adjusted_p
    assert found.flip_p is None
    assert found.because == ()
    assert one(scaled(1.2), BASE[:5]).verdict == "lower"


def test_without_a_difference_it_is_told_what_could_have_been_shown() -> None:
    found = one(BASE[:5], scaled(1.0, wiggle=0.1))
    assert found.verdict == "not_shown"
    assert found.could_show is not None
    logs = np.log(np.array(scaled(1.0, wiggle=0.1)) / np.array(BASE[:5]))
    # The t of four degrees of freedom needs 3.76 standard errors for a power of 0.8 (R: power.t.test).
    assert math.log(found.could_show) == pytest.approx(3.762 * logs.std(ddof=1) / math.sqrt(5), rel=2e-3)


@pytest.mark.parametrize(
    ("level", "size", "errors"),
    [
        # Standard errors of four degrees of freedom: the normal tail beyond the critical t, integrated over chi-square.
        pytest.param(0.05, 1, 3.761, id="one comparison"),
        pytest.param(0.025, 1, 4.584, id="who looks after every round"),
        pytest.param(0.05, 5, 5.879, id="five comparisons"),
    ],
)
def test_what_could_have_been_shown_is_that_of_the_level(level: float, size: int, errors: float) -> None:
    """A stricter level, or more comparisons, need a larger difference."""
    other = scaled(1.0, wiggle=0.1)
    found = compared([(variant("lz4", BASE[:5]), variant("zstd", other))] * size, "interleaved", level)
    logs = np.log(np.array(other) / np.array(BASE[:5]))
    for each in found:
        assert each.could_show is not None
        assert math.log(each.could_show) == pytest.approx(errors * logs.std(ddof=1) / math.sqrt(5), rel=2e-3)


@pytest.mark.parametrize(
    ("counts", "order", "missing", "said"),
    [
        ((4, 4), "interleaved", 1, "too few runs for a verdict: 1 more round"),
        ((2, 5), "interleaved", 3, "too few runs for a verdict: 3 more rounds"),
        ((4, 7), "unknown", 1, "too few runs for a verdict: 1 more of each"),
        ((0, 7), "unknown", None, "there are no runs to compare"),
    ],
)
def test_too_few_runs_have_figures_and_no_verdict(
    counts: tuple[int, int], order: RunOrder, missing: int | None, said: str
) -> None:
    found = one(BASE[: counts[0]], scaled(2.0, counts[1]), order)
    assert (found.verdict, found.rounds_missing, found.because) == ("no_verdict", missing, (said,))
    assert found.p is None
    assert (found.effect is not None) is bool(min(counts))


@pytest.mark.parametrize("order", ["interleaved", "unknown"])
@pytest.mark.parametrize("other", [1.0, 2.0])
def test_a_single_run_of_each_has_figures(order: RunOrder, other: float) -> None:
    found = one([1.0], [other], order)
    assert (found.verdict, found.rounds_missing) == ("no_verdict", 4)
    assert found.effect is not None
    assert found.effect.estimate == pytest.approx(other)


@pytest.mark.parametrize("order", ["blocks", "as-written"])
def test_what_was_not_interleaved_has_no_verdict(order: RunOrder) -> None:
    found = one(BASE, scaled(2.0, 7), order)
    assert found.verdict == "no_verdict"
    assert found.because[0].startswith("the variants were measured one after the other")
    assert found.effect is not None
    assert found.pairs is None


def test_of_a_variant_that_lost_more_than_a_fifth_of_its_runs_nothing_is_said() -> None:
    for left_out, verdict in ((1, "higher"), (2, "no_verdict")):
        pair = (variant("lz4", BASE[:5]), variant("zstd", scaled(1.2), left_out))
        [found] = compared([pair], "interleaved")
        assert found.verdict == verdict
    assert found.because == (
        "2 of 7 runs of zstd did not finish or are not believed: the rest may be a biased selection",
    )
    [found] = compared([(variant("lz4", BASE[:5]), variant("zstd", [], 2))], "unknown")
    assert found.because == ("2 of 2 runs of zstd did not finish or are not believed",)


def test_only_rounds_that_have_both_are_paired() -> None:
    both = (variant("lz4", BASE), variant("zstd", scaled(1.2, 7)))
    lost = replace(both[0], runs={place: each for place, each in both[0].runs.items() if place != 2}, left_out=1)
    [found] = compared([(lost, both[1])], "interleaved")
    assert (found.runs, found.pairs, found.verdict) == ((6, 7), 6, "higher")


def test_beside_t_the_signs_are_flipped_from_six_rounds() -> None:
    found = one(BASE[:6], scaled(1.2, 6))
    assert found.method == "paired t"
    assert found.flip_p == pytest.approx(2 / 64)
    others = [a * b for a, b in zip(BASE[:6], (1.31, 1.27, 1.09, 1.03, 1.22, 0.996), strict=True)]
    found = one(BASE[:6], others)
    assert found.p is not None
    assert found.p <= 0.05 < (found.flip_p or 0)
    assert found.because == ("the exact sign-flip test does not agree (p = 0.062)",)


def test_an_outlier_is_ranked_and_needs_a_round_more() -> None:
    others = scaled(1.2, 7)
    others[3] *= 5
    found = one(BASE, others)
    assert (found.method, found.verdict, found.p) == ("signed ranks", "higher", 2 / 2**7)
    found = one(BASE[:5], others[:5])
    assert (found.verdict, found.rounds_missing) == ("no_verdict", 1)


def test_runs_that_are_not_paired_are_ranked() -> None:
    found = one(BASE[:5], scaled(1.2), "unknown")
    assert (found.method, found.verdict) == ("rank sums", "higher")
    assert found.p == pytest.approx(2 / 252)


def test_values_of_zero_are_compared_by_their_difference() -> None:
    found = one([0.0, 1.0, 2.0, 3.0, 4.0, 6.0], [7.0, 9.0, 8.0, 9.0, 12.0, 13.0])
    assert found.verdict == "higher"
    assert found.effect is not None
    assert not found.effect.is_ratio
    assert found.effect.estimate == pytest.approx(7.0)
    assert found.could_show is not None
    assert found.could_show > 0


@pytest.mark.parametrize("neutral", [pytest.param(0.0, id="differences"), pytest.param(1.0, id="ratios")])
@pytest.mark.parametrize("order", ["unknown", "interleaved"])
def test_the_test_says_which_is_higher_where_most_runs_do_not_differ(neutral: float, order: RunOrder) -> None:
    """The typical difference is none then, and has no direction."""
    ones = [neutral] * 22
    others = [*ones[6:], *(neutral + more for more in (3.0, 5.0, 8.0, 2.0, 1e6, 7.0))]
    for found, verdict in ((one(ones, others, order), "higher"), (one(others, ones, order), "lower")):
        assert found.effect is not None
        assert found.effect.estimate == neutral
        assert found.p is not None
        assert found.p < 0.05
        assert found.verdict == verdict


def test_variants_that_never_differ_do_not_differ() -> None:
    """Also where they never vary, or always differ by the same: no t is divided by nothing."""
    found = one([3.0] * 6, [3.0] * 6)
    assert (found.verdict, found.method, found.p) == ("not_shown", "signed ranks", 1.0)
    found = one([3.0] * 6, [6.0] * 6)
    assert (found.verdict, found.p) == ("higher", 2 / 2**6)
    assert found.effect is not None
    assert (found.effect.low, found.effect.high) == pytest.approx((2.0, 2.0))
    assert found.could_show == pytest.approx(1.0)


def test_several_comparisons_are_adjusted_for_each_other() -> None:
    """The same runs, once alone and once as one of five."""
    other = scaled(1.0, wiggle=0.02)
    weak = [value * by for value, by in zip(BASE[:5], (1.02, 1.05, 1.03, 1.09, 1.01), strict=True)]
    assert one(BASE[:5], weak).verdict == "higher"
    family = [(variant("lz4", BASE[:5]), variant(str(each), each)) for each in (weak, other, other, other, other)]
    found = compared(family, "interleaved")[0]
    assert found.p is not None
    assert found.verdict == "not_shown"
    assert found.adjusted_p == pytest.approx(5 * found.p)
    assert found.because == ("it would be shown on its own, but not after the correction for several comparisons",)


def test_ranks_of_a_large_family_need_more_runs() -> None:
    """Of 5 and 5 runs 2 / 252 is the least, which stays below 0.05 in a family of six."""
    pair = (variant("lz4", BASE[:5]), variant("zstd", scaled(1.2)))
    assert {each.verdict for each in compared([pair] * 6, "unknown")} == {"higher"}
    [found, *_] = compared([pair] * 7, "unknown")
    assert (found.verdict, found.rounds_missing) == ("no_verdict", 1)


def test_a_verdict_that_hangs_on_intervals_of_runs_says_so() -> None:
    def bounded(by: float) -> Variant:
        return Variant("zstd", {place: RunFigure(each, each * by, each) for place, each in enumerate(scaled(1.2))})

    for by, because in ((0.99, ()), (0.8, (SENSITIVE,))):
        [found] = compared([(variant("lz4", BASE[:5]), bounded(by))], "interleaved")
        assert (found.verdict, found.because) == ("higher", because)


def test_the_effect_at_the_ends_of_intervals_is_told() -> None:
    """The low ends of one variant beside the high ends of the other, and the reverse."""
    wide = {place: RunFigure(each, each * 0.5, each * 2) for place, each in enumerate(scaled(1.2))}
    [found] = compared([(variant("lz4", BASE[:5]), Variant("zstd", wide))], "interleaved")
    assert [each.estimate for each in found.at_ends] == pytest.approx([2.4, 0.6], rel=0.02)
    [without] = compared([(variant("lz4", BASE[:5]), variant("zstd", scaled(1.2)))], "interleaved")
    assert without.at_ends == ()


def _exact(values: Sequence[float]) -> Variant:
    """Runs that the instrument cannot have moved."""
    return Variant("zstd", {place: RunFigure(each, each, each) for place, each in enumerate(values)})


def test_exact_figures_turn_no_verdict_of_a_family() -> None:
    """The ends are compared with the level as the values are: adjusted for the other comparisons."""
    weak = [value * by for value, by in zip(BASE[:5], (1.02, 1.05, 1.03, 1.09, 1.01), strict=True)]
    pairs = [(variant("lz4", BASE[:5]), _exact(each)) for each in (weak, *[scaled(1.0, wiggle=0.02)] * 3)]
    found = compared(pairs, "interleaved")
    assert [each.verdict for each in found] == ["not_shown"] * 4
    assert found[0].p is not None
    assert found[0].p <= 0.05 < (found[0].adjusted_p or 0)
    assert not any(SENSITIVE in each.because for each in found)


def test_ends_that_are_shown_only_by_themselves_turn_a_verdict_of_a_family() -> None:
    """At the other ends p is 0.02, which is shown alone and not among four."""
    strong = scaled(1.2)
    ends = [value * by for value, by in zip(BASE[:5], (1.02, 1.05, 1.03, 1.09, 1.01), strict=True)]
    bounded = {place: RunFigure(each, low, each) for place, (each, low) in enumerate(zip(strong, ends, strict=True))}
    other = _exact(scaled(1.0, wiggle=0.02))
    for count, because in ((0, ()), (3, (SENSITIVE,))):
        pairs = [(variant("lz4", BASE[:5]), each) for each in (Variant("zstd", bounded), *[other] * count)]
        found = compared(pairs, "interleaved")[0]
        assert (found.verdict, found.because) == ("higher", because)


def _experiments(count: int, rounds: int, deviation: float, ratio: float, seed: int) -> list[Comparison]:
    """Pairs of runs that share what their round does to both."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        drift = rng.normal(0, 0.1, rounds)
        ones, others = (10 * np.exp(drift + rng.normal(0, deviation, rounds)) for _ in range(2))
        found.append(one(list(ones), list(others * ratio)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [5, 8])
def test_of_equal_variants_a_difference_is_shown_in_one_of_twenty_cases(rounds: int) -> None:
    found = _experiments(2_000, rounds, 0.08, 1.0, rounds)
    shown = sum(each.verdict in {"higher", "lower"} for each in found)
    # 5 % of 2,000 are 100, with a standard deviation of 9.7.
    assert shown <= 100 + 3 * 9.7


@pytest.mark.slow
def test_a_fifth_more_is_found_in_five_rounds_where_runs_deviate_by_a_twentieth() -> None:
    found = _experiments(1_000, 5, 0.05, 1.2, 3)
    judged = [each for each in found if each.verdict != "no_verdict"]
    assert sum(each.verdict == "higher" for each in judged) >= 0.98 * len(judged)
    # An outlier among five rounds asks for a sixth.
    assert {each.rounds_missing for each in found if each.verdict == "no_verdict"} <= {1}
