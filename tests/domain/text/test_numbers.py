"""Figures as people read them."""

import pytest

from streamgauge.domain.text.numbers import listed, milliseconds, per_second, percent, significant, whole


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0"),
        (0.01234, "0.0123"),
        (0.5, "0.500"),
        (6.4, "6.40"),
        (9.999, "10.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (123.4, "123"),
        (12_345.6, "12,346"),
        (-1.5, "-1.50"),
    ],
)
def test_three_significant_digits(value: float | None, text: str) -> None:
    """Three, and never fewer before the point than there are."""
    assert significant(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, "-"),
        (0.0, "0 %"),
        (0.0012, "0.12 %"),
        (0.043, "4.3 %"),
        (0.38, "38 %"),
        (1.0, "100 %"),
        (1e-6, "< 0.01 %"),
    ],
)
def test_percent(share: float | None, text: str) -> None:
    """As exact as is of use."""
    assert percent(share) == text


def test_units_and_unknown() -> None:
    """What is not known is a dash, without a unit."""
    assert [milliseconds(2.5), per_second(9_999.7), whole(1_234_567)] == ["2.50 ms", "10,000/s", "1,234,567"]
    assert [milliseconds(None), per_second(None), whole(None)] == ["-", "-", "-"]


@pytest.mark.parametrize(
    ("items", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (list("abc"), "a, b and c")]
)
def test_listed(items: list[str], text: str) -> None:
    """As a sentence lists things."""
    assert listed(items) == text
