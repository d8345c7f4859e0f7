"""How long a run takes and how much it writes, as far as a scenario tells before it runs."""

from dataclasses import dataclass
from typing import Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.text.numbers import size
from streamgauge.scenario.model.scenario import Scenario
from streamgauge.scenario.profile.shapes import due_before

ROW_BYTES: Final = 12
"""What the rows of a message take in the run folder: 8 to 10 were measured, of sent and received together."""
RECORD_BYTES: Final = 30
"""What Kafka keeps of a message besides its value: lengths, times, and its part of the head of a batch."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run comes to; None for what is not known before."""

    load_seconds: float
    """Warm-up and measure phase."""
    at_most: bool
    """Whether something else than time may end the load earlier."""
    drain_seconds: float
    """At most."""
    messages: int | None
    """At most; on average where they are drawn."""
    bytes_written: int | None
    """At most: rows and, of an embedded broker, messages."""


def estimate(scenario: Scenario, *, embedded: bool, replayed: int | None = None) -> Estimate:
    """What a run of a scenario comes to; `replayed` are the messages of a replay that are due in the load."""
    phases, messages = scenario.phases, messages_of(scenario, replayed)
    written = bytes_written(scenario, embedded=embedded, replayed=replayed)
    rate, counted = scenario.load.mean_rate if scenario.load else None, scenario.measured_messages
    load_ns: float = scenario.load_ns
    if rate and counted is not None:
        load_ns = phases.warmup + min(phases.measure_ns, counted * NS_PER_SECOND / rate)
    return Estimate(
        load_seconds=load_ns / NS_PER_SECOND,
        at_most=phases.is_drained or (phases.is_counted and not rate),
        drain_seconds=phases.drain / NS_PER_SECOND,
        messages=None if messages is None else round(messages),
        bytes_written=None if written is None else round(written),
    )


def messages_of(scenario: Scenario, replayed: int | None = None) -> float | None:
    """How many messages are asked for at most, on average where they are drawn.

    None without a load, where neither a schedule nor a number is asked for, and of a replay that nobody counted.
    """
    if scenario.load is None:
        return None
    rate, counted, warmup_ns = scenario.load.rate, scenario.measured_messages, scenario.phases.warmup
    due = due_before(rate, warmup_ns, scenario.load_ns) if replayed is None else replayed
    if counted is None:
        return due
    # The number ends the load, or time where that comes first; a replay begins with the measure phase.
    wanted = counted + (due_before(rate, warmup_ns, warmup_ns) or 0)
    return wanted if due is None else min(wanted, due)


def bytes_written(scenario: Scenario, *, embedded: bool, replayed: int | None = None) -> float | None:
    """Bytes that a run writes into its folder at most, rows and, of an embedded broker, messages; None if unknown."""
    messages = messages_of(scenario, replayed)
    if messages is None or scenario.load is None:
        return None
    if not embedded:
        return messages * ROW_BYTES
    size = scenario.load.mean_size_bytes
    copies = scenario.topic.replication * (1 if scenario.sink_topic is None else 2)
    return None if size is None else messages * (ROW_BYTES + copies * (size + RECORD_BYTES))


def room_advice(
    scenario: Scenario, out: str, free_bytes: int | None, *, embedded: bool, replayed: int | None = None
) -> list[str]:
    """A sentence where the disk of the run folder may become full, like `--out runs: ...`."""
    needed = bytes_written(scenario, embedded=embedded, replayed=replayed)
    if needed is None or free_bytes is None or needed <= free_bytes:
        return []
    left, most = size(free_bytes), size(needed)
    what = f"its disk has {left} left, and the run writes up to {most} of {'messages and ' if embedded else ''}rows"
    mend = "Free space, choose a folder on another disk, or send less (load.rate, load.size, phases.measure)"
    return [f"--out {out}: {what}. {mend}"]
