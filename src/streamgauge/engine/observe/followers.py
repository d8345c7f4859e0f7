"""The follower sampler: asks each broker where its logs end, and the cluster who controls it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from streamgauge.domain import clock
from streamgauge.domain.blocks import LogEnds, Place
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.board import Order
from streamgauge.engine.observe.regular import regularly
from streamgauge.engine.ports.clients import QuorumClient
from streamgauge.engine.ports.rows import Sink

EVERY_NS: Final = clock.NS_PER_SECOND
"""Each look is a request to every broker: followers that fall behind do so for longer."""


class Behind(NamedTuple):
    """What a broker lacks of the longest logs, in messages."""

    behind: int
    worst: int
    place: Place | None
    """Of the partition that it lacks most of; None where it lacks nothing."""


def behind(ends: LogEnds) -> dict[int, Behind]:
    """What each broker that answered lacks.

    The longest log of a partition stands for its leader's. Brokers answer one after the other, within milliseconds:
    what is appended meanwhile counts as lacking.
    """
    known = {node: told for node, told in ends.items() if not isinstance(told, str)}
    longest: dict[Place, int] = {}
    for told in known.values():
        for place, end in told.items():
            longest[place] = max(end, longest.get(place, end))
    return {node: _behind(told, longest) for node, told in known.items()}


def _behind(told: Mapping[Place, int], longest: Mapping[Place, int]) -> Behind:
    lacks = {place: longest[place] - end for place, end in told.items()}
    worst = max(lacks, key=lambda place: lacks[place], default=None)
    if worst is None or not lacks[worst]:
        return Behind(0, 0, None)
    return Behind(sum(lacks.values()), lacks[worst], worst)


@dataclass(slots=True)
class FollowerSampler:
    """Looks on an absolute schedule until the run is over, and records a row for each broker."""

    client: QuorumClient
    sink: Sink
    order: Callable[[], Order]
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds

    def run(self) -> None:
        """Look until the supervisor wants the end."""
        regularly(EVERY_NS, self.look, self.order, self.now_ns, self.sleep)

    def look(self) -> None:
        """Record what each broker lacks; one row with the reason where the cluster does not answer."""
        at_ns = self.now_ns()
        try:
            controller, ends = self.client.look()
        except BrokerError as error:
            self._record(at_ns, None, error=str(error))
            return
        answered_ns, found = self.now_ns(), behind(ends)
        for node, told in ends.items():
            lacks = found.get(node)
            why = told if isinstance(told, str) else None
            self._record(at_ns, answered_ns, controller=controller, node=node, error=why, **_columns(lacks))

    def _record(self, at_ns: int, answered_ns: int | None, *, error: str | None, **columns: int | None) -> None:
        known: dict[str, Any] = dict.fromkeys(("controller", "node", "behind", "worst", "topic", "partition"))
        self.sink.append({"at_ns": at_ns, "answered_ns": answered_ns, **known, **columns, "error": [error]}, 1)


def _columns(lacks: Behind | None) -> dict[str, int | None]:
    if lacks is None:
        return {}
    topic, partition = lacks.place or (None, None)
    return {"behind": lacks.behind, "worst": lacks.worst, "topic": topic, "partition": partition}
