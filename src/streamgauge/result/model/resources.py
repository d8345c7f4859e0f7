"""Resources of processes and of the machine, and what codecs save and take."""

from collections.abc import Collection, Sequence
from typing import Self

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
    heap_bytes: Count | None = None
    """Maximum resident memory that is neither a file nor shared: heap and stacks."""
    threads: Count | None = None
    """Most threads."""
    gc_collections: Count | None = None
    """Workers: collections of Python's garbage collector, which is off during the load unless a function of the user's
    calls it."""
    gc_ms: Amount | None = None
    """Workers: time in these collections."""


def cpu_us_per_message(
    processes: Sequence[ProcessUsage], roles: Collection[str], per_second: float | None
) -> float | None:
    """CPU time of the processes of these roles for each of so many messages a second, in us; None where not known."""
    cores = [each.cpu_cores for each in processes if each.role in roles]
    known = [each for each in cores if each is not None]
    return 1e6 * sum(known) / per_second if per_second and known and len(known) == len(cores) else None


class CpuPerMessage(Section):
    """CPU time of all processes of a role for each message sent, in us; for each one received, where nothing is sent.

    Null where there is no such process, or where the CPU time of one is not known.
    """

    producers: Amount | None
    """Producers."""
    consumers: Amount | None
    """Consumers."""
    brokers: Amount | None
    """Embedded brokers."""

    @classmethod
    def of(cls, processes: Sequence[ProcessUsage], per_second: float | None) -> Self:
        """That of some processes, at so many messages a second."""
        producers, consumers, brokers = (
            cpu_us_per_message(processes, {role}, per_second) for role in ("producer", "consumer", "broker")
        )
        return cls(producers=producers, consumers=consumers, brokers=brokers)


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
    cpu_us_per_message: CpuPerMessage | None = None
    """CPU time for each message."""


class SampledBatches(Section):
    """Batches of the load, as the client would make them."""

    count: Count
    """Number of batches."""
    mean_messages: Amount
    """Mean messages per batch."""
    bound: str
    """Setting that decides how large most batches are, like `linger.ms`."""
    header_bytes: Count
    """Bytes of the header of a batch, which is never compressed."""


class CodecTime(Section):
    """CPU time for each 10^6 bytes of records, in ms; several rounds."""

    median: Amount
    """Median of the rounds."""
    least: Amount
    """Shortest round."""
    most: Amount
    """Longest round."""


class CodecReport(Section):
    """What one codec makes of the batches."""

    codec: str
    """`none`, `gzip`, `snappy`, `lz4` or `zstd`."""
    level: int | None
    """Compression level; null for codecs without levels."""
    batches: Count
    """Number of batches."""
    stored: Count
    """Batches that would grow, and are sent uncompressed."""
    records_bytes: Count
    """Bytes of the records before."""
    compressed_bytes: Count
    """Bytes of the records after."""
    encode_ms_per_mb: CodecTime | None
    """Time to compress; null for `none`."""
    decode_ms_per_mb: CodecTime | None
    """Time to decompress; null for `none`."""
    records_ratio: Amount
    """Uncompressed by compressed bytes, without batch headers."""
    batch_ratio: Amount
    """Uncompressed by compressed bytes of whole batches."""
    saved_share: Share
    """Share of the bytes of whole batches that need not be sent."""


class CompressionSection(Section):
    """What codecs make of batches of this load, measured before the run."""

    batches: SampledBatches
    """The batches of the sample."""
    codecs: list[CodecReport]
    """Every codec; the one that the load uses at its level."""
