"""How wide an interval may be before its figure is no longer believed: all limits in one place."""

from typing import Final

from streamgauge.result.model.trust import Trust

BELIEVED_SHARE: Final = 0.10
"""A latency is believed if its interval is narrower than this share of it ..."""
BELIEVED_MS: Final = 0.2
"""... or than this."""
DOUBTED_FACTOR: Final = 2.0
"""It is not believed if the high end is more than so many times the low end ..."""
DOUBTED_MS: Final = 1.0
"""... and lies further above it than this."""
RATE_SHARE: Final = 0.01
"""A rate is believed if its interval is narrower than this share of it."""
RATE_DOUBTED_SHARE: Final = 0.10
"""It is not believed if it is wider than this."""


def of_latency(value_ms: float, low_ms: float, high_ms: float) -> Trust:
    """The trust in a latency in ms."""
    width = high_ms - low_ms
    if width <= max(BELIEVED_SHARE * abs(value_ms), BELIEVED_MS):
        return "believed"
    return "not_believed" if high_ms > DOUBTED_FACTOR * low_ms and width > DOUBTED_MS else "bounded"


def of_rate(value: float, low: float, high: float) -> Trust:
    """The trust in a rate, or in a number of messages that was sampled."""
    width = high - low
    if width <= RATE_SHARE * abs(value):
        return "believed"
    return "bounded" if width <= RATE_DOUBTED_SHARE * abs(value) else "not_believed"


def of_count(low: int, high: int) -> Trust:
    """The trust in a count: exact, or both ends are known."""
    return "believed" if low == high else "bounded"
