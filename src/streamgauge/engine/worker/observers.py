"""The jobs of workers beside the load: connections, samplers, the controller, a query, lookups."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Final

from streamgauge.domain.blocks import ClientSpec, Work
from streamgauge.domain.query import QuerySpec
from streamgauge.engine.board import Order, Slot
from streamgauge.engine.connect import Connector
from streamgauge.engine.control import Controlled, Controller, policy_of
from streamgauge.engine.observe.followers import FollowerSampler
from streamgauge.engine.observe.lag import LagSampler, SampledGroups
from streamgauge.engine.observe.lookup import Lookups
from streamgauge.engine.observe.replicas import ReplicaSampler
from streamgauge.engine.observe.sample import Sampler, Watched
from streamgauge.engine.ports.clients import (
    OpenConnections,
    OpenOffsets,
    OpenQuorum,
    OpenReplicas,
    OpenTracker,
)
from streamgauge.engine.ports.query import OpenQuery, TableReader
from streamgauge.engine.query import Hosting, QueryHost, QuerySinks
from streamgauge.engine.worker.context import Context

TURN_SECONDS: Final = 0.05
"""A tracker looks at the order so often."""


@dataclass(frozen=True, slots=True)
class ConnectorJob:
    """Hold connections, and open some."""

    open_client: OpenConnections
    client: ClientSpec
    work: tuple[Work, ...]

    def run(self, context: Context) -> None:
        """Use connections from the start of the load to its end."""
        with (
            contextlib.closing(self.open_client(self.client)) as connections,
            context.sink("connections", {"worker": context.name}) as sink,
        ):
            connector = Connector(connections, self.work, sink, context.slots[0], context.order)
            connector.prepare()
            context.ready()
            context.await_go()
            times = context.times()
            connector.run(times.start_ns, times.end_ns)


@dataclass(frozen=True, slots=True)
class SamplerJob:
    """Look at the processes of the run."""

    watched: tuple[Watched, ...]

    def run(self, context: Context) -> None:
        """Look until the run is over."""
        with context.sink("resources", {}) as sink:
            context.ready()
            Sampler(self.watched, context.board, sink, context.order).run()


@dataclass(frozen=True, slots=True)
class LagJob:
    """Ask the cluster where every partition stands."""

    open_offsets: OpenOffsets
    client: ClientSpec
    groups: tuple[str, ...]
    sampled: SampledGroups
    timeout_seconds: float

    def run(self, context: Context) -> None:
        """Sample until the run is over."""
        opened = self.open_offsets(self.client, self.groups, self.sampled.partitions, self.timeout_seconds)
        with (
            contextlib.closing(opened) as offsets,
            context.sink("lag", {"moment": "sample", "consumer": None}) as sink,
        ):
            sampler = LagSampler(offsets, self.sampled, context.board, sink, context.order)
            sampler.sample()
            context.ready()
            sampler.run()


@dataclass(frozen=True, slots=True)
class TrackerJob:
    """Deliver messages again that are not acknowledged in time."""

    open_tracker: OpenTracker
    number: int
    group: int

    def run(self, context: Context) -> None:
        """Track from before the load until the run is over."""
        context.await_join()
        told = {"group": self.group}
        with (
            contextlib.closing(self.open_tracker()) as tracker,
            context.sink("attempts", told) as sink,
            context.sink("client", {}) as client,
        ):
            is_ready = False
            while context.order() < Order.FINISH:
                block, count = tracker.turn(TURN_SECONDS)
                if count:
                    sink.append(block, count)
                context.slots[0][Slot.MESSAGES] += count
                # What is open is told first: a partition that is taken over is never taken for one that has nothing.
                context.slots[0][Slot.BUFFERED] = tracker.open
                context.slots[0][Slot.ASSIGNED] = tracker.current
                if not is_ready and tracker.is_current:
                    is_ready = True
                    context.ready()
            block, count = tracker.statistics()
            if count:
                client.append(block, count)


@dataclass(frozen=True, slots=True)
class ReplicasJob:
    """Ask the cluster who leads each partition, which replicas are in sync, and how far followers are behind."""

    open_client: OpenReplicas
    open_quorum: OpenQuorum
    client: ClientSpec
    partitions: int
    """Partitions of each topic."""
    timeout_seconds: float

    def run(self, context: Context) -> None:
        """Look until the run is over."""
        asked = (self.client, self.partitions, self.timeout_seconds)
        with (
            contextlib.closing(self.open_client(*asked)) as client,
            contextlib.closing(self.open_quorum(*asked)) as quorum,
            context.sink("replicas", {}) as sink,
            context.sink("followers", {}) as followers,
        ):
            sampler = ReplicaSampler(client, self.partitions, sink, context.order)
            sampler.look()
            context.ready()
            # A broker that is silent holds up the looks at followers, and must not hold up those at leaders.
            beside = Thread(target=FollowerSampler(quorum, followers, context.order).run, name="followers")
            beside.start()
            sampler.run()
            beside.join()


@dataclass(frozen=True, slots=True)
class ControllerJob:
    """Hold producers back."""

    policy: str
    """Its name in a scenario."""
    controlled: Controlled

    def run(self, context: Context) -> None:
        """Decide until the run is over."""
        controlled = self.controlled
        with context.sink("decisions", {"policy": self.policy}) as sink:
            controller = Controller(policy_of(controlled, context.board), controlled.poll_ns, sink, context.order)
            controller.begin()
            context.ready()
            controller.run()


@dataclass(frozen=True, slots=True)
class QueryJob:
    """Host the query that stands between two topics."""

    open_query: OpenQuery
    spec: QuerySpec
    hosting: Hosting

    def run(self, context: Context) -> None:
        """Host it until the run is over."""
        kinds = ("query", "progress", "advances", "executors", "resources")
        with contextlib.ExitStack() as stack:
            query = stack.enter_context(contextlib.closing(self.open_query(self.spec)))
            sinks = QuerySinks(*(stack.enter_context(context.sink(kind, {})) for kind in kinds))
            QueryHost(query, self.hosting, sinks, context.board, context.rows[0], context.order, context.ready).run()


@dataclass(frozen=True, slots=True)
class LookupJob:
    """Ask a table that grows."""

    open_reader: Callable[[Path], TableReader]
    table: Path
    every_ns: int

    def run(self, context: Context) -> None:
        """Ask until the run is over."""
        with context.sink("lookups", {}) as sink:
            lookups = Lookups(self.open_reader(self.table), self.every_ns, sink, context.order)
            context.ready()
            lookups.run()
