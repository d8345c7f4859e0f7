"""The cluster that a run measures: one that is given, an embedded broker of its own, or one that many runs share."""

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from streamgauge.cluster.embedded import EmbeddedCluster, start_cluster
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.cluster.standing import StandingBroker, standing
from streamgauge.domain.errors import RecordError
from streamgauge.domain.folder.facts import BrokerFacts, RunFolder
from streamgauge.engine.ports.clients import OpenProducer, OpenReader
from streamgauge.engine.ports.disks import StoringBroker
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.clients.producer import KafkaProducer
from streamgauge.kafka.clients.reader import KafkaReader
from streamgauge.kafka.prime import MOST_SHARED_SECONDS, PRIME_SECONDS, prime
from streamgauge.modelled.broker import ModelledBroker
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.patience import Progress
from streamgauge.runs.conduct.waiting import IN_VAIN, Waiting
from streamgauge.scenario import Setting

SHARED_BROKER: Final = "broker-"
"""How the names of folders begin that have the data of a broker for many runs."""


@dataclass(frozen=True, slots=True)
class WantedCluster:
    """The cluster that is to be measured, as the user named it."""

    java: Java
    """Of an embedded cluster."""
    plan: ClusterPlan = field(default_factory=ClusterPlan)
    """What an embedded cluster consists of that is started for the run."""
    bootstrap: str | None = None
    """Addresses of the user's cluster; None for an embedded one."""
    connection: Mapping[str, Setting] = field(default_factory=dict)
    """Settings of all clients of the user's cluster."""
    broker: EmbeddedCluster | None = None
    """An embedded cluster that serves other runs, too; None for one that ends with the run."""
    keep_broker: bool = False
    admin: Mapping[str, Setting] = field(default_factory=dict)
    """Settings of the client that creates topics and asks about them."""


@dataclass(frozen=True, slots=True)
class MeasuredCluster:
    """The cluster that is measured."""

    facts: BrokerFacts
    cluster: Cluster | ModelledBroker
    connection: Mapping[str, Setting]
    ended: Callable[[], str | None]
    """Why the cluster is known to be gone."""
    broker: EmbeddedCluster | None = None
    """The cluster, if it is ours."""
    standing: Sequence[StandingBroker] = ()
    """The nodes of a cluster of `--bootstrap` that `broker start` started here: faults can be done to them."""
    is_shared: bool = False
    """Whether the cluster is ours and serves other runs, too: it may have their topics."""
    open_producer: OpenProducer = KafkaProducer
    open_reader: OpenReader = KafkaReader

    @property
    def nodes(self) -> Sequence[StoringBroker]:
        """The nodes to which faults can be done."""
        return self.broker.nodes if self.broker else self.standing

    @property
    def settings_of_brokers(self) -> Mapping[str, str] | None:
        """What its brokers were started with, as far as is known, if that was not for this run; else None."""
        if self.broker:
            return self.broker.plan.configs if self.is_shared else None
        return self.standing[0].settings if self.standing else {}

    def keep_logs(self, folder: RunFolder) -> None:
        """Copy the logs of a shared cluster's garbage collectors to the run. Raises RecordError if that fails."""
        if self.broker is None or not self.is_shared:
            return
        for node in self.broker.nodes:
            for name in node.names:
                kept = folder.gc_log(name)
                try:
                    shutil.copyfile(node.entry.log.with_name(kept.name), kept)
                except OSError as error:
                    raise RecordError(f"{kept} cannot be written: {error.strerror}") from error


@contextlib.contextmanager
def target_of(
    wanted: WantedCluster, folder: RunFolder, interrupts: Interrupts, progress: Progress
) -> Iterator[MeasuredCluster]:
    """The cluster that is wanted, ready to be measured. An embedded broker that is not shared ends with the block."""
    if wanted.bootstrap:
        yield _given(wanted, wanted.bootstrap, interrupts)
    elif wanted.broker:
        wanted.broker.check_all()
        yield _embedded(wanted.broker, _asked(wanted, wanted.broker, interrupts), is_shared=True)
    else:
        # Beside the rows, on a disk: the system's temporary folder may be memory, and would make a broker look fast.
        with start_cluster(
            wanted.plan,
            data=folder.root / "broker",
            logs=folder.logs,
            java=wanted.java,
            detached=wanted.keep_broker,
            progress=progress,
            check=Waiting(interrupts),
        ) as broker:
            try:
                cluster = _asked(wanted, broker, interrupts)
                _prime(broker, cluster, progress)
                yield _embedded(broker, cluster)
            finally:
                # Before the load there is nothing on it that anybody could want.
                if not interrupts.load_began:
                    broker.stop()
                elif wanted.keep_broker and not broker.how_ended():
                    how = f" --client-config {broker.security.client}" if broker.plan.security.is_on else ""
                    progress(f"broker kept at {broker.bootstrap}{how}; stop it with `streamgauge broker stop`")


@contextlib.contextmanager
def shared_broker(
    folder: Path, java: Java, progress: Progress, plan: ClusterPlan | None = None
) -> Iterator[EmbeddedCluster]:
    """An embedded cluster for many runs, primed; it ends with the block, and its data and logs below `folder` with it.

    Raises BadInput if `folder` cannot be used, BrokerError if the broker does not start.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=SHARED_BROKER, dir=folder) as place:
        data, logs = Path(place) / "data", Path(place) / "logs"
        with start_cluster(plan, data=data, logs=logs, java=java, progress=progress) as broker:
            cluster = Cluster(broker.bootstrap, broker.connection, check=broker.check_all)
            _prime(broker, cluster, progress, most_seconds=MOST_SHARED_SECONDS)
            yield broker


def _prime(broker: EmbeddedCluster, cluster: Cluster, progress: Progress, most_seconds: float = PRIME_SECONDS) -> None:
    """Warm it up. What it compiles later is seldom run, and must not take a core from the measurement."""
    longer = (
        f", at most {most_seconds:g} s, until its JVM has compiled its code" if most_seconds > PRIME_SECONDS else ""
    )
    progress(f"warming it up for {PRIME_SECONDS:g} s{longer}")
    compiled_ns = broker.compiler_time().used_ns
    prime(cluster, most_seconds=most_seconds, compiled_ns=compiled_ns, replicas=len(broker.brokers))
    broker.compile_when_idle()


def _given(wanted: WantedCluster, bootstrap: str, interrupts: Interrupts) -> MeasuredCluster:
    why = f"{IN_VAIN}; topics and groups that it had created are still on {bootstrap}"
    cluster = Cluster(bootstrap, wanted.connection, check=Waiting(interrupts, why=why), own=wanted.admin)
    cluster.reachable()
    facts = BrokerFacts(embedded=False, bootstrap=bootstrap, version=cluster.version())
    settings = {**wanted.connection, "bootstrap.servers": bootstrap}
    return MeasuredCluster(facts, cluster, settings, lambda: None, standing=standing(bootstrap))


def _asked(wanted: WantedCluster, broker: EmbeddedCluster, interrupts: Interrupts) -> Cluster:
    waiting = Waiting(interrupts, broker.check, is_ours=True)
    return Cluster(broker.bootstrap, broker.connection, check=waiting, own=wanted.admin)


def _embedded(broker: EmbeddedCluster, cluster: Cluster, *, is_shared: bool = False) -> MeasuredCluster:
    facts = BrokerFacts(
        embedded=True,
        bootstrap=broker.bootstrap,
        version=broker.version,
        processes=[each.name for each in broker.nodes],
        class_archive=broker.uses_archive,
        security=broker.plan.security.words,
    )
    return MeasuredCluster(facts, cluster, broker.connection, broker.how_ended, broker, is_shared=is_shared)
