"""What makes messages late: what the produce loop of one worker does between the due time of a message and its sending.

The loop runs here, with everything recorded, beside a broker that two consumers read. Whatever it calls is timed, with
the run delay of its thread: the time that the thread was ready to run and had no core. Each message is charged with
what happened between its due time and its sending.
"""

import argparse
import gc
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.common import Int64s, broker, heading, idle_share, topic
from streamgauge.domain.blocks import Block, ClientSpec, Outgoing, Refused
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns, sleep_seconds
from streamgauge.engine.board import Cells, Latencies, Order
from streamgauge.engine.produce.compose import Composer
from streamgauge.engine.produce.loop import LARGEST_BLOCK, Producer, Sending, Times
from streamgauge.engine.produce.sent import ProducerSinks
from streamgauge.engine.produce.sources import Recipe
from streamgauge.kafka.clients.producer import KafkaProducer
from streamgauge.processes.cpu.waiting import ThreadDelay
from streamgauge.processes.linux import set_timer_slack
from streamgauge.record.parts import open_sink
from streamgauge.workload.pacing import constant

KINDS: Final = ("sleep", "serve", "reports", "send", "record", "loop")
RANKS: Final = (50.0, 90.0, 99.0, 99.9)


@dataclass(slots=True)
class Timeline:
    """What the loop did, one step after the other: what, until when, and how much of it the thread had no core."""

    delay: ThreadDelay
    kinds: list[int] = field(default_factory=list)
    ends_ns: list[int] = field(default_factory=list)
    delays_ns: list[int] = field(default_factory=list)
    over_ns: list[int] = field(default_factory=list)
    """Of a sleep, by how much it was longer than asked for."""
    _delay_ns: int = 0

    def note(self, kind: str, over_ns: int = 0) -> None:
        """A step ends now; what was since the last one belongs to the loop itself."""
        delay_ns, now_ns = self.delay() or 0, monotonic_ns()
        self.kinds.append(KINDS.index(kind))
        self.ends_ns.append(now_ns)
        self.delays_ns.append(delay_ns - self._delay_ns)
        self.over_ns.append(over_ns)
        self._delay_ns = delay_ns

    def wrapped(self, kind: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, noted as a step of its own."""

        def noted(*arguments: Any, **named: Any) -> Any:
            self.note("loop")
            found = call(*arguments, **named)
            self.note(kind)
            return found

        return noted

    def sleep(self, seconds: float) -> None:
        """Sleep, and note by how much it took longer."""
        self.note("loop")
        began_ns = monotonic_ns()
        sleep_seconds(seconds)
        self.note("sleep", max(0, monotonic_ns() - began_ns - round(seconds * NS_PER_SECOND)))
