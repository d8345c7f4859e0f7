"""How much a run writes, as far as a scenario tells before it runs."""

from typing import Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.scenario.model.scenario import Scenario

ROW_BYTES: Final = 12
"""What the rows of a message take in the run folder: 8 to 10 were measured, of sent and received together."""
RECORD_BYTES: Final = 30
"""What Kafka keeps of a message besides its value: lengths, times, and its part of the head of a batch."""


def messages_of(scenario: Scenario) -> float | None:
    """How many messages are asked for at most; None without a load, and where no rate and no number is asked for."""
    if scenario.load is None:
        return None
    rate, counted = scenario.load.mean_rate, scenario.measured_messages
    if counted is not None:
        return counted + (rate or 0) * scenario.phases.warmup / NS_PER_SECOND
    return None if rate is None else rate * scenario.load_ns / NS_PER_SECOND


def bytes_written(scenario: Scenario, *, embedded: bool) -> float | None:
    """Bytes that a run writes into its folder at most, rows and, of an embedded broker, messages; None if unknown."""
    messages = messages_of(scenario)
    if messages is None or scenario.load is None:
        return None
    if not embedded:
        return messages * ROW_BYTES
    size = scenario.load.mean_size_bytes
    copies = 1 if scenario.sink_topic is None else 2
    return None if size is None else messages * (ROW_BYTES + copies * (size + RECORD_BYTES))


def room_advice(scenario: Scenario, out: str, free_bytes: int | None, *, embedded: bool) -> list[str]:
    """A sentence where the disk of the run folder may become full, like `--out runs: ...`."""
    needed = bytes_written(scenario, embedded=embedded)
    if needed is None or free_bytes is None or needed <= free_bytes:
        return []
    left, most = _size(free_bytes), _size(needed)
    what = f"its disk has {left} left, and this run writes up to {most} of {'messages and ' if embedded else ''}rows"
    mend = "Make room, name a folder on another disk, or send less (load.rate, load.size, phases.measure)"
    return [f"--out {out}: {what}. {mend}"]


def _size(size_bytes: float) -> str:
    return f"{size_bytes / 1e9:,.1f} GB" if size_bytes >= 1e9 else f"{size_bytes / 1e6:,.0f} MB"
