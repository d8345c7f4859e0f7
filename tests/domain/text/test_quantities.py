"""Durations, sizes and rates: what people write, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.text import quantities as q


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [("30s", 30 * 10**9), ("4ms", 4 * 10**6), ("800us", 800_000), ("1.5s", 1_500_000_000), ("2m", 120 * 10**9),
     ("1h", 3600 * 10**9), ("0", 0), (0, 0), ("0s", 0), (" 5 ns ", 5), ("1_000us", 10**6), ("10min", 600 * 10**9),
     ("30", 30 * 10**9), (30, 30 * 10**9), (1.5, 1_500_000_000), ("0.25", 250_000_000), (1e-06, 1000)],
)  # fmt: skip
def test_durations(text: object, nanoseconds: int) -> None:
    """A number and a unit; a number alone is seconds."""
    assert nanoseconds == q.parse_duration_ns(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s",
        "-1s",
        -1,
        -0.5,
        "-1",
        "1 week",
        "1e3s",
        None,
        True,
        "8d",
        "200h",
        604_801,
        float("nan"),
        float("inf"),
        [1],
    ],
)
def test_what_is_no_duration_is_refused(text: object) -> None:
    """With a message that says what to write instead."""
    with pytest.raises(ValueError, match="write a"):
        q.parse_duration_ns(text)


@pytest.mark.parametrize(
    ("text", "size"), [(512, 512), ("512", 512), ("1KiB", 1024), ("2 MiB", 2 << 20), ("1.5kB", 1500), ("0", 0)]
)
def test_sizes(text: object, size: int) -> None:
    """Bytes, with or without a unit."""
    assert size == q.parse_size_bytes(text)


@pytest.mark.parametrize("text", ["1.5", "-1", "1 KB/s", "", None, True, 1.5, "abc", "0.3KiB"])
def test_what_is_no_size_is_refused(text: object) -> None:
    """Half a byte included."""
    with pytest.raises(ValueError, match="write"):
        q.parse_size_bytes(text)


@pytest.mark.parametrize(
    ("text", "rate"),
    [("10k/s", 10_000), ("200/s", 200), ("90/m", 1.5), (1000, 1000), (0.5, 0.5), ("1.5M/s", 1_500_000), ("3600/h", 1)],
)
def test_rates(text: object, rate: float) -> None:
    """Messages a second."""
    assert rate == q.parse_rate_per_second(text)


@pytest.mark.parametrize("text", ["10k/day", "fast", "", None, True, "-5/s", "10 q"])
def test_what_is_no_rate_is_refused(text: object) -> None:
    """With a message that names `max` too."""
    with pytest.raises(ValueError, match="max"):
        q.parse_rate_per_second(text)


@given(st.integers(0, q.MAX_DURATION_NS))
def test_a_formatted_duration_parses_back(nanoseconds: int) -> None:
    """Exactly."""
    assert nanoseconds == q.parse_duration_ns(q.format_duration(nanoseconds))


@given(st.one_of(st.integers(1, 10**8).map(float), st.floats(0.001, 10**8)))
def test_a_formatted_rate_parses_back(rate: float) -> None:
    """Exactly."""
    assert rate == q.parse_rate_per_second(q.format_rate(rate))
