"""Waiting for nodes that were started, until they serve."""

from collections.abc import Sequence
from typing import Final

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.cluster.nodes.node import Node, log_end, log_text
from streamgauge.cluster.nodes.ports import TAKEN, PortTaken
from streamgauge.domain import clock
from streamgauge.domain.errors import BrokerError
from streamgauge.processes.patience import Check

_STARTED: Final = "Kafka Server started"
_START_SECONDS: Final = 60
_LOOK_SECONDS: Final = 0.02


def await_start(started: Sequence[EmbeddedBroker], nodes: Sequence[Node], check: Check) -> None:
    """Wait until every log says that its node serves; raises BrokerError if one ends before, or takes too long."""
    deadline_ns = clock.monotonic_ns() + _START_SECONDS * clock.NS_PER_SECOND
    waiting = list(zip(started, nodes, strict=True))
    while waiting and all(each.alive for each, _ in waiting) and clock.monotonic_ns() < deadline_ns:
        waiting = [(each, node) for each, node in waiting if _STARTED not in log_text(node)]
        if not waiting:
            return
        check()
        clock.sleep_seconds(_LOOK_SECONDS)
    each, node = next(((each, node) for each, node in waiting if not each.alive), waiting[0])
    if TAKEN in log_text(node):
        raise PortTaken(f"{node.name} could not bind its port. {log_end(node)}")
    how = f"was not ready after {_START_SECONDS} s" if each.alive else f"ended ({each.exit_code})"
    raise BrokerError(f"{node.name} {how} during start-up. {log_end(node)}")
