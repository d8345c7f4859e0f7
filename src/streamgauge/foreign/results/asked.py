"""What a user says about files that do not say it themselves."""

import re
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.errors import BadValue
from streamgauge.foreign.results.measured import MS_PER, LatencyKind

PLACES: Final = ("ack", "end_to_end", "processing")


@dataclass(frozen=True, slots=True)
class Asked:
    """Unit and place of latencies whose file does not name them; None where nothing was said."""

    unit: str | None = None
    latency: tuple[str, LatencyKind] | None = None
    patterns: tuple["re.Pattern[str]", ...] = ()
    """By which the text of a program is read; their named groups are figures."""


def parse_unit(text: str) -> str:
    """A unit of time; raises BadValue."""
    unit = {"µs": "us", "μs": "us"}.get(text, text)
    if unit not in MS_PER:
        raise BadValue("no unit of latencies", f"Use one of {', '.join(MS_PER)}")
    return unit


def parse_latency(text: str) -> tuple[str, LatencyKind]:
    """A latency like `ack.service`; raises BadValue."""
    place, _, kind = text.replace("-", "_").partition(".")
    if place not in PLACES or kind not in {"response", "service"}:
        raise BadValue("no latency", "Use ack, end-to-end or processing, then .response or .service: ack.service")
    return place, "response" if kind == "response" else "service"
