"""Trogdor itself: its jar from Maven Central, in a JVM whose classes tests call.

Its agent would listen on every interface of the machine, so workers are started as it starts them, without it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from py4j.java_gateway import JavaGateway

from streamgauge.cluster.jars import KAFKA_VERSION, Bundle, broker_jars, fetched
from streamgauge.processes.jvm.java import Java

TROGDOR: Final = Bundle(
    "trogdor",
    f"Trogdor {KAFKA_VERSION}",
    "about 0.4 MB",
    Path(__file__).with_name("jars.txt"),
    # All that it depends on comes with the broker.
    (f"org.apache.kafka:trogdor:{KAFKA_VERSION}",),
    is_whole=True,
)
TASK: Final = "org.apache.kafka.trogdor.task.TaskSpec"
WORKLOADS: Final = "org.apache.kafka.trogdor.workload"
_TASK_SECONDS: Final = 90


class Trogdor:
    """Its classes. What they make crosses over as bytes or JSON."""

    def __init__(self, gateway: Any) -> None:
        self._gateway = gateway
        self.jvm = gateway.jvm
        self._serde = self.jvm.org.apache.kafka.trogdor.common.JsonUtil.JSON_SERDE

    def read(self, document: Mapping[str, Any] | str, kind: str) -> Any:
        """The object that it reads from JSON, of a class of workloads (or of another one, by its whole name)."""
        text = document if isinstance(document, str) else json.dumps(document)
        name = kind if kind.startswith("org.") else f"{WORKLOADS}.{kind}"
        return self._serde.readValue(text, self.jvm.java.lang.Class.forName(name))

    def written(self, thing: Any) -> Any:
        """What it writes of an object, as JSON."""
        return json.loads(self._serde.writeValueAsString(thing))

    def generated(self, generator: Mapping[str, Any], count: int) -> list[bytes | None]:
        """The first so many bytes that one of its generators makes, one position after the other."""
        theirs = self.read(generator, "PayloadGenerator")
        bodies = (theirs.generate(position) for position in range(count))
        return [None if body is None else bytes(body) for body in bodies]

    def percentiles(self, values: Sequence[int], most: int, shares: Sequence[float]) -> list[int]:
        """What its histogram with values up to `most` says of these values."""
        histogram = getattr(self.jvm, f"{WORKLOADS}.Histogram")(most)
        for value in values:
            histogram.add(value)
        asked = self._gateway.new_array(self.jvm.float, len(shares))
        for place, share in enumerate(shares):
            asked[place] = share
        return [each.value() for each in histogram.summarize(asked).percentiles()]

    def carried_out(self, spec: Mapping[str, Any]) -> tuple[Any, str]:
        """A task carried out to its end: its status, and its error, which is empty where it succeeded."""
        task = self.read(spec, TASK)
        worker = task.newTaskWorker("test")
        status = self.jvm.org.apache.kafka.trogdor.task.AgentWorkerStatusTracker()
        halted = self.jvm.org.apache.kafka.common.internals.KafkaFutureImpl()
        worker.start(None, status, halted)
        try:
            error = halted.get(_TASK_SECONDS, self.jvm.java.util.concurrent.TimeUnit.SECONDS)
        finally:
            worker.stop(None)
        return json.loads(status.get().toString()), str(error)


@pytest.fixture(scope="session")
def trogdor(java: Java) -> Iterator[Trogdor]:
    """A JVM with its classes, which ends with this process."""
    jars = [*fetched(TROGDOR), *broker_jars()]
    gateway: Any = JavaGateway.launch_gateway(
        classpath=":".join(map(str, jars)), java_path=str(java.path), die_on_exit=True, javaopts=["-Xmx256m"]
    )
    yield Trogdor(gateway)
    gateway.shutdown()
    gateway.java_process.stdin.close()
    gateway.java_process.wait(30)
