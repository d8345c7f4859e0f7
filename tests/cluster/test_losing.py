"""Which deaths of nodes end the waiting for a cluster, and which are told at the end."""

from dataclasses import dataclass
from typing import Any, cast

import pytest

from streamgauge.cluster.embedded import EmbeddedCluster
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.domain.errors import BrokerError


@dataclass
class Node:
    """A node that lives or not."""

    name: str
    alive: bool = True
    is_down_on_purpose: bool = False
    is_broker: bool = True

    def how_ended(self) -> str | None:
        return None if self.alive else f"{self.name} ended"

    def check(self) -> None:
        if not self.alive:
            raise BrokerError(f"{self.name} ended")


def cluster(*nodes: Node) -> EmbeddedCluster:
    return EmbeddedCluster(cast("Any", nodes), ClusterPlan(len(nodes)))


@pytest.mark.parametrize(
    ("nodes", "ends", "lost"),
    [
        ([Node("a"), Node("b")], False, []),
        ([Node("a", alive=False), Node("b")], False, ["a ended"]),
        ([Node("a", alive=False, is_down_on_purpose=True)], False, []),
        ([Node("a", alive=False, is_down_on_purpose=True), Node("b", alive=False)], False, ["b ended"]),
        ([Node("a", alive=False), Node("b", alive=False)], True, ["a ended", "b ended"]),
        ([Node("a", alive=False), Node("c", is_broker=False)], True, ["a ended"]),
        ([Node("a"), Node("c", alive=False, is_broker=False)], False, ["c ended"]),
    ],
)
def test_a_cluster_is_waited_for_while_a_broker_may_answer(nodes: list[Node], ends: bool, lost: list[str]) -> None:
    """What a fault ended is started again, and is no loss."""
    running = cluster(*nodes)

    assert running.lost() == lost
    if ends:
        with pytest.raises(BrokerError, match="a ended"):
            running.check()
    else:
        running.check()
