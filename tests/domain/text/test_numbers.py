"""Figures as people read them."""

import pytest

from streamgauge.domain.text.numbers import (
    closely,
    cores,
    facts,
    figure,
    listed,
    long_time,
    milliseconds,
    moment,
    per_second,
    percent,
    seconds,
    significant,
    size,
    whole,
)


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
        (1 - 0.9, "10 %"),
        (0.0994, "9.9 %"),
        (0.00999, "1.0 %"),
        (0.0099, "0.99 %"),
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


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (None, "-"),
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_000, "1.00 kB"),
        (999_600, "1.00 MB"),
        (64_000_000, "64.0 MB"),
        (25_276_502_016, "25.3 GB"),
        (2e15, "2,000 TB"),
    ],
)
def test_sizes_are_decimal(size_bytes: float | None, text: str) -> None:
    """As rates of MB/s are."""
    assert size(size_bytes) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.25, "0.25 s"), (10.0, "10 s"), (9.9987, "10 s"), (61.27, "61.3 s"), (1_800.0, "1,800 s")],
)
def test_seconds_are_never_powers_of_ten(value: float | None, text: str) -> None:
    """And have no zeros that say nothing."""
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01T12:00:00Z", "2026-01-01 12:00:00 UTC"),
        ("2026-01-01T12:00:00+02:00", "2026-01-01 10:00:00 UTC"),
        ("2026-01-01T12:00:00", "2026-01-01T12:00:00"),
        ("6.1.0", "6.1.0"),
    ],
)
def test_moments_are_those_of_one_clock(text: str, expected: str) -> None:
    """Only a time that names its zone is one."""
    assert moment(text) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (True, "true"),
        (120_000, "120,000"),
        (11.9208984375, "11.9"),
        (1.0908, "1.09"),
        (20.0, "20"),
        (float("inf"), "inf"),
        ("finished", "finished"),
    ],
)
def test_a_figure_of_any_kind(value: object, text: str) -> None:
    assert figure(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (9.0, "9"), (15.400959, "15.401"), (-0.01234567, "-0.0123457"), (1e7, "10,000,000")]
)
def test_closely_tells_apart_what_three_digits_do_not(value: float, text: str) -> None:
    assert closely(value) == text


def test_facts_of_a_machine_are_lines() -> None:
    """Nested ones under the names of both; sizes in units, times of one clock."""
    machine = {
        "memory_bytes": 25_276_502_016,
        "load_average_1m": 1.0908203125,
        "booted": "2026-11-23T02:35:27Z",
        "disk": {"kind": None, "free_bytes": 512},
    }

    assert facts(machine) == [
        ("memory", "25.3 GB"),
        ("load average 1m", "1.09"),
        ("booted", "2026-11-23 02:35:27 UTC"),
        ("disk kind", "-"),
        ("disk free", "512 bytes"),
    ]


def test_cores_to_the_hundredth() -> None:
    assert [cores(0.2149), cores(None)] == ["0.21", "-"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (45.4, "45 s"),
        (89, "89 s"),
        (90, "2 min"),
        (3569, "59 min"),
        (3570, "1 h 0 min"),
        (7500, "2 h 5 min"),
    ],
)
def test_long_times_are_told_as_people_plan(value: float, text: str) -> None:
    assert long_time(value) == text
