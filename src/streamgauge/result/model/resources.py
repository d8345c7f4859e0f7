"""Resources of processes and of the machine."""

from streamgauge.result.model.base import Amount, Count, Section, Share


class ProcessUsage(Section):
    """Resources used by one process."""

    process: str
    """Process name, like `producer-0` or `broker-1`."""
    role: str
    """`producer`, `consumer`, `sampler`, `supervisor` or `broker`."""
    cpu_cores: Amount | None
    """CPU time / elapsed time."""
    cpu_us_per_message: Amount | None
    """CPU time per message, in us."""
    rss_bytes: Count | None
    """Maximum resident memory."""
    messages: Count | None
    """Messages handed to the client, or received."""
    blocked_share: Amount | None
    """Producers: share of the time spent waiting for room in the client's queue."""
    poll_gap_ms: Amount | None
    """Workers: longest time between two polls."""


class HostUsage(Section):
    """The machine; null if it was not sampled."""

    cpu_cores: Amount | None
    """CPU time / elapsed time, all processes of the machine."""
    idle_share: Share | None
    """Idle time as a share of all cores' time."""
    steal_share: Share | None
    """Steal time as a share of all cores' time."""
    throttled_share: Amount | None = None
    """Time that a CPU quota stopped threads of the workers' cgroups / elapsed time; summed over cores."""
    throttled_periods_share: Share | None = None
    """Share of the time in periods in which that quota was used up."""
    rss_bytes: Count | None
    """Maximum memory in use."""


class CollectorPauses(Section):
    """Garbage collection pauses of embedded brokers; null without embedded brokers."""

    pauses: Count
    """Number of pauses."""
    total_ms: Amount
    """Total time."""
    longest_ms: Amount | None
    """Longest pause; null if there were none."""


class ConsumerPolls(Section):
    """Polls of one consumer."""

    consumer: int
    """Consumer number."""
    polls: Count
    """Polls that returned."""
    empty: Count
    """Polls that returned no messages."""
    messages: Count
    """Messages returned."""
    mean_messages: Amount | None
    """Mean messages per non-empty poll."""
    in_poll_share: Amount | None
    """Share of the time spent in poll."""
    longest_gap_ms: Amount | None
    """Longest time from the return of a poll to the start of the next."""


class ResourcesSection(Section):
    """Measure phase. 1.0 CPU cores are one fully used core; `rss_bytes` is the maximum."""

    processes: list[ProcessUsage]
    """Every process of the run: workers and embedded brokers."""
    host: HostUsage | None
    """The machine; null if it was not sampled."""
    garbage_collection: CollectorPauses | None
    """Garbage collection pauses of embedded brokers; null without embedded brokers."""
    polls: list[ConsumerPolls]
    """Polls of each consumer."""
