"""What messages are made of, as plain values: what a worker is given instead of a part of a scenario."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from streamgauge.workload.payload.sizes import Law


class Described(NamedTuple):
    """Content or keys with options, both by the names that a scenario gives them."""

    name: str
    options: Mapping[str, Any]


PlainContent = str | Described
"""Values or keys of one kind; those without options by their name alone."""


class Portion(NamedTuple):
    """A share of the messages, and their content."""

    percent: float
    content: PlainContent
    size: Law | None
    """None for that of all messages."""
