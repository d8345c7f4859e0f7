"""Markers as bytes: those of kmq's format, written by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.delivery.markers.wire import Marker, count_value, key_of, read_count, read_marker, start_value
from streamgauge.domain.errors import BadValue

KEY = bytes.fromhex("00000003 00000000000004d2".replace(" ", ""))
START = bytes.fromhex("01 0000000000015f90".replace(" ", ""))


def test_a_marker_is_what_the_format_says() -> None:
    """Partition 3, offset 1,234, due again after 90 s."""
    assert key_of(3, 1_234) == KEY
    assert start_value(90_000) == START


@pytest.mark.parametrize(
    ("value", "after_ms"),
    [
        pytest.param(START, 90_000, id="start"),
        pytest.param(b"\x00", None, id="end"),
        pytest.param(None, None, id="compacted"),
        pytest.param(b"", None, id="empty"),
    ],
)
def test_a_marker_is_read(value: bytes | None, after_ms: int | None) -> None:
    assert read_marker(KEY, value) == Marker(3, 1_234, after_ms)


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        (None, START, "a key of 0 bytes"),
        (KEY[:-1], START, "a key of 11 bytes"),
        (KEY, START[:-1], "a value of 8 bytes that begins with 1"),
        (KEY, b"\x02" + START[1:], "a value of 9 bytes that begins with 2"),
        (KEY, b"\x01", "a value of 1 bytes that begins with 1"),
    ],
)
def test_what_is_no_marker_is_refused(key: bytes | None, value: bytes, what: str) -> None:
    with pytest.raises(BadValue) as caught:
        read_marker(key, value)
    assert caught.value.what.startswith(what)


@pytest.mark.parametrize(
    ("count", "value"),
    [(0, "00"), (1, "01"), (127, "7f"), (128, "00000080"), (70_000, "00011170")],
)
def test_a_count_takes_a_byte_where_it_fits(count: int, value: str) -> None:
    assert count_value(count).hex() == value
    assert read_count(bytes.fromhex(value)) == count


@pytest.mark.parametrize(("value", "what"), [(b"", "0 bytes"), (b"\x00\x01", "2 bytes"), (b"\xff", "is -1")])
def test_what_is_no_count_is_refused(value: bytes, what: str) -> None:
    with pytest.raises(BadValue) as caught:
        read_count(value)
    assert what in caught.value.what


def test_a_message_without_a_count_was_not_redelivered() -> None:
    assert read_count(None) == 0


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_what_is_written_is_read(partition: int, offset: int, after_ms: int) -> None:
    assert read_marker(key_of(partition, offset), start_value(after_ms)) == Marker(partition, offset, after_ms)
