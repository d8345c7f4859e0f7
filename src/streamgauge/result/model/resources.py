"""What processes and the machine used."""

from streamgauge.result.model.base import Amount, Count, Section, Share


class ProcessUsage(Section):
    """What one process used."""

    process: str
    """Name, like `producer-0` or `broker-1`."""
    role: str
    """`producer`, `consumer`, `sampler`, `supervisor` or `broker`."""
    cpu_cores: Amount | None
    """CPU time by time."""
    cpu_us_per_message: Amount | None
    """CPU time by message, in us."""
    rss_bytes: Count | None
    """Largest resident memory."""
    messages: Count | None
    """Messages handed over or received."""
    blocked_share: Amount | None
    """Producers: share of the time spent waiting for room in the client's queue."""
    poll_gap_ms: Amount | None
    """Workers: longest time between two polls."""


class HostUsage(Section):
    """The machine; null where it was not looked at."""

    cpu_cores: Amount | None
    """CPU time by time, all processes of the machine."""
    idle_share: Share | None
    """Share of all cores' time that was idle."""
    steal_share: Share | None
    """Share of all cores' time that the hypervisor took."""
    throttled_share: Amount | None = None
    """Time that a CPU quota stopped threads of the workers' cgroups, by time; added up over cores."""
    throttled_periods_share: Share | None = None
    """Share of the time that lies in periods in which that quota was used up."""
    rss_bytes: Count | None
    """Largest memory in use."""


class CollectorPauses(Section):
    """Pauses of embedded brokers; null where there are none to look at."""

    pauses: Count
    """How many there were."""
    total_ms: Amount
    """All together."""
    longest_ms: Amount | None
    """The longest; null where there were none."""


class ConsumerPolls(Section):
    """How one consumer polled."""

    consumer: int
    """Number of the consumer."""
    polls: Count
    """Polls that returned."""
    empty: Count
    """Polls that returned nothing."""
    messages: Count
    """Messages that they returned."""
    mean_messages: Amount | None
    """Messages for each poll that returned any."""
    in_poll_share: Amount | None
    """Share of the time spent inside poll."""
    longest_gap_ms: Amount | None
    """Longest time between the return of a poll and the start of the next."""


class ResourcesSection(Section):
    """Measure phase. 1.0 CPU cores are one core fully used; `rss_bytes` is the largest seen."""

    processes: list[ProcessUsage]
    """Every process of the run: workers and embedded brokers."""
    host: HostUsage | None
    """The machine; null where it was not looked at."""
    garbage_collection: CollectorPauses | None
    """Pauses of embedded brokers; null where there are none to look at."""
    polls: list[ConsumerPolls]
    """How each consumer polled."""
