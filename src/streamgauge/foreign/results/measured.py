"""What a file of another tool says, as plain values: figures with units, bounds and known defects.

What the file does not say is None, and never 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from streamgauge.foreign.results.spread import ValueCells

LatencyKind = Literal["response", "service"]
"""Whether a latency starts when a message was due, or when it was sent."""
DefectAction = Literal["recomputed", "left_out", "kept"]

MS_PER: Final[Mapping[str, float]] = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
"""Milliseconds in each unit that values may have."""


@dataclass(frozen=True, slots=True)
class PercentPoint:
    """A percentile of which the tool gives a value, in ms: the least and the most that it can have been.

    `high_ms` is None where the tool clips, or has no upper edge; `ms` is what stands for it.
    """

    percent: float
    ms: float
    low_ms: float
    high_ms: float | None


@dataclass(frozen=True, slots=True)
class MeasuredLatency:
    """One latency of a tool. Either `spread` has all values, or `points` has the percentiles that the tool gives."""

    name: str
    """What the tool calls it."""
    unit: str
    resolution: str
    place: str | None = None
    """Its place in the result: `ack`, `end_to_end`, `processing`, `poll` or `batch`; None where nothing is the same."""
    kind: LatencyKind | None = None
    count: int | None = None
    min_ms: float | None = None
    mean_ms: float | None = None
    stddev_ms: float | None = None
    mad_ms: float | None = None
    max_ms: float | None = None
    points: Sequence[PercentPoint] = ()
    cdf: Sequence[tuple[float, float]] = ()
    """Shares of messages within upper edges in ms."""
    spread: ValueCells | None = None
    log: "IntervalLog | None" = None

    @property
    def path(self) -> str | None:
        """Where it stands in the result, like `latency.ack.service`; None where it has no place."""
        if self.place in {"poll", "batch"}:
            return f"latency.{self.place}"
        return f"latency.{self.place}.{self.kind}" if self.place and self.kind else None

    @property
    def metric(self) -> str | None:
        """Its name among the latencies of tables and logs, like `ack_service`."""
        return self.path.removeprefix("latency.").replace(".", "_") if self.path else None


@dataclass(frozen=True, slots=True)
class LoggedInterval:
    """One line of an interval log: times in seconds since 1970 or since the start, and the histogram as it was."""

    tag: str | None
    start_s: float
    length_s: float
    spread: ValueCells
    encoded: str


@dataclass(frozen=True, slots=True)
class IntervalLog:
    """An interval log of histograms; `unit` is that of its values."""

    unit: str
    base_s: float
    """What the starts of intervals count from, seconds since 1970; 0 where they say it themselves, or nothing does."""
    intervals: tuple[LoggedInterval, ...]

    def begin_s(self, interval: LoggedInterval) -> float:
        """When an interval began, as far as the log says it."""
        return self.base_s + interval.start_s


@dataclass(frozen=True, slots=True)
class MeasuredSpan:
    """Figures of an interval, in seconds from the start of the measurement.

    `values` are by paths in a second of the timeline, like `sent_per_second` or `ack.service.p99_ms`.
    """

    from_s: float
    to_s: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class MeasuredLag:
    """Samples of the committed lag: seconds from the start, and messages."""

    samples: Sequence[tuple[float, int]]


@dataclass(frozen=True, slots=True)
class FoundDefect:
    """A known defect that touches a figure: what the file says, and what became of it."""

    figure: str
    defect: str
    action: DefectAction
    written: str | float | None = None
    value: str | float | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of another tool."""

    tool: str
    form: str
    """Format of the file, in words."""
    name: str
    """What the run is called."""
    started_s: float | None = None
    """Seconds since 1970."""
    seconds: float | None = None
    """How long was measured."""
    throughput: Mapping[str, float] = field(default_factory=dict)
    """Rates by their keys in the result."""
    delivery: Mapping[str, int] = field(default_factory=dict)
    """Counts by their keys in the result."""
    latencies: Sequence[MeasuredLatency] = ()
    spans: Sequence[MeasuredSpan] = ()
    interval_s: float | None = None
    lag: MeasuredLag | None = None
    scenario: Mapping[str, Any] = field(default_factory=dict)
    """What is known of the load, in the language of scenarios."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the tool was told, in its own names."""
    figures: Mapping[str, str | float] = field(default_factory=dict)
    """What has no place in the result, in the tool's names and units."""
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    broker: str | None = None
    """Address of the cluster."""
    defects: Sequence[FoundDefect] = ()
    notes: Sequence[str] = ()


class ForeignError(ValueError):
    """A file that cannot be imported; the text says why, and follows its name."""

    def __init__(self, what: str, mend: str = "Name a complete result of a tool that `import` knows") -> None:
        self.what, self.mend = what, mend
        super().__init__(what)
