"""What is known of figures that another tool measured: their origin, units and bounds, and known defects."""

from typing import Any, Literal

from pydantic import Field

from streamgauge.result.model.base import Amount, Count, Number, Section, Text


class ImportedPoint(Section):
    """One percentile as the other tool states it."""

    percent: Number
    """Percentile, 0 to 100."""
    low_ms: Number
    """The least that it can have been, with the tool's resolution."""
    high_ms: Number | None
    """The most that it can have been; null where the tool clips, or has no upper edge."""


class ImportedLatency(Section):
    """One latency of the other tool, also if it has no place in `latency`."""

    name: Text
    """What the tool calls it."""
    place: Text | None
    """Where it stands in this document, like `latency.ack.service`; null if no latency of Streamgauge is the same."""
    kind: Literal["response", "service"] | None
    """Whether it starts when a message was due, or when it was sent; null if the file does not say."""
    unit: Text
    """Unit of the values in the file."""
    resolution: Text
    """How finely the tool recorded them."""
    count: Count | None
    """Values; null if the file does not say."""
    mean_ms: Number | None
    """Mean."""
    max_ms: Number | None
    """Maximum."""
    exact: bool
    """Whether percentiles come from all values or a merged histogram; otherwise they are the tool's, as points."""
    points: list[ImportedPoint]
    """Percentiles with their bounds."""


class KnownDefect(Section):
    """A known defect of the other tool that touches a figure."""

    figure: Text
    """The figure: its path in this document, or its name in the file."""
    defect: Text
    """What is wrong with it."""
    action: Literal["recomputed", "left_out", "kept"]
    """`recomputed` from other data of the file, `left_out` of the result, or `kept` as it was."""
    written: str | int | float | None
    """The value in the file."""
    value: str | int | float | None
    """The value in this document; null if it was left out."""


class ImportedSection(Section):
    """Where imported figures come from. Nothing was judged: `verdict.valid` is null."""

    tool: Text
    """The tool that measured."""
    format: Text
    """Format of its result."""
    source: Text
    """Name of the file."""
    sha256: Text
    """SHA-256 of the file; it is kept in `imported/` of the run folder."""
    started: str | None
    """Start of the measurement, UTC; null if the file does not say."""
    interval_s: Amount | None
    """Length of the intervals of the file: each second of the timeline has the values of its interval. Null without
    intervals."""
    latencies: list[ImportedLatency]
    """All latencies of the file, with their percentiles as points."""
    defects: list[KnownDefect]
    """Known defects of the tool that touch these figures."""
    notes: list[Text]
    """What else to know: assumptions, and what was left out."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of the tool, in its own names."""
    figures: dict[str, Number | str] = Field(default_factory=dict)
    """Figures of the tool that have no place in this document, in its own names; units are the tool's."""
