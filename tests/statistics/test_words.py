"""What a comparison says, in a sentence."""

from dataclasses import replace

import pytest

from streamgauge.statistics.comparison import SENSITIVE, Comparison, Effect, Shown
from streamgauge.statistics.words import sentence

RATIO = Effect(1.14, 1.08, 1.21, is_ratio=True)


def comparison(verdict: Shown, effect: Effect | None = RATIO, pairs: int | None = 5, *because: str) -> Comparison:
    return Comparison("lz4", "zstd", (5, 6), pairs, verdict, effect, could_show=1.15, because=because)


@pytest.mark.parametrize(
    ("found", "is_duration", "expected"),
    [
        (comparison("higher"), True, "zstd is 1.08 to 1.21 times slower than lz4 at p99"),
        (
            comparison("lower", Effect(0.5, 0.4, 0.8, is_ratio=True)),
            True,
            "zstd is 1.25 to 2.5 times faster than lz4 at p99",
        ),
        (comparison("higher"), False, "p99 of zstd is 1.08 to 1.21 times that of lz4"),
        (
            comparison("higher", Effect(1.14, None, None, is_ratio=True)),
            False,
            "p99 of zstd is 1.14 to 1.14 times that of lz4",
        ),
        (comparison("higher", Effect(5, 3, 9, is_ratio=False)), True, "p99 of zstd is 3 to 9 higher than that of lz4"),
        (
            comparison("lower", Effect(-5, -9, -3, is_ratio=False)),
            False,
            "p99 of zstd is 3 to 9 lower than that of lz4",
        ),
        (
            comparison("not_shown"),
            True,
            "no difference in p99 shown between lz4 and zstd; 5 rounds could show a difference of 15 %",
        ),
        (
            comparison("not_shown", RATIO, None),
            True,
            "no difference in p99 shown between lz4 and zstd; 5 and 6 runs could show a difference of 15 %",
        ),
        (
            comparison("not_shown", Effect(0, -1, 1, is_ratio=False)),
            True,
            "no difference in p99 shown between lz4 and zstd; 5 rounds could show a difference of 1.15",
        ),
        (
            comparison("no_verdict", RATIO, 2, "too few", "and bad"),
            True,
            "no verdict on p99 of zstd and lz4: too few; and bad",
        ),
        (
            comparison("higher", Effect(0, 0, 5, is_ratio=False)),
            False,
            "p99 of zstd is higher than that of lz4, with a typical difference of 0 (0 to 5)",
        ),
        (
            comparison("lower", Effect(1, 0.8, 1.01, is_ratio=True), 5, "but"),
            True,
            "p99 of zstd is lower than that of lz4, with a typical ratio of 1 (0.8 to 1.01); but",
        ),
        (comparison("higher", RATIO, 5, "but"), False, "p99 of zstd is 1.08 to 1.21 times that of lz4; but"),
    ],
)
def test_a_verdict_is_a_sentence(found: Comparison, is_duration: bool, expected: str) -> None:
    assert sentence(found, "p99", is_duration=is_duration) == expected


def test_what_intervals_could_turn_has_the_effects_at_their_ends() -> None:
    ends = (Effect(3.2, 3, 3.5, is_ratio=True), Effect(0.4, 0.38, None, is_ratio=True))
    found = replace(comparison("higher", RATIO, 5, SENSITIVE), at_ends=ends)
    assert sentence(found, "p99").endswith(
        f"; {SENSITIVE}: at the ends that lie farthest apart, with a typical ratio of 3.2 (3 to 3.5) "
        "or a typical ratio of 0.4 (0.38 to 0.4)"
    )
