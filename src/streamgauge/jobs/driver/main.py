"""The process that carries out a query on Spark: `python -m streamgauge.jobs.driver.main`.

The first line of its standard input says what to do, the line `stop` that it is to end; so does the end of the input,
since then its parent is gone. On its standard output stands one line of JSON for each news, and nothing else: what
Spark and functions of users print goes to the log.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import WorkerError
from streamgauge.domain.query import Happened, QuerySpec
from streamgauge.domain.text.secrets import without_secrets
from streamgauge.jobs import checkpoint
from streamgauge.jobs.driver import executors, failures, gateway, sink, source
from streamgauge.jobs.driver.listener import Listener
from streamgauge.jobs.shipped import catalogue, function
from streamgauge.processes.functions import JOB_ARGUMENTS, load_function
from streamgauge.processes.jvm.ending import end
from streamgauge.processes.jvm.spark import SparkJvm, silence_failed_queries
from streamgauge.processes.scratch import joined
from streamgauge.processes.talk.lines import Orders, Told
from streamgauge.processes.talk.news import LIMIT, STOP, Processes, read_order
from streamgauge.scenario.model.environment.faults.processes import DRIVER
from streamgauge.scenario.model.pipeline import AVAILABLE_NOW, REAL_TIME

_LOOK_NS: Final = NS_PER_SECOND
"""Between two looks at the executors."""

_SOON_SECONDS: Final = 0.02
"""Between two looks at the query while something is waited for."""

_BATCH_NS: Final = 30 * NS_PER_SECOND
"""For so long a batch that runs may go on when the query is to end."""

_LEAVE_SECONDS: Final = 10.0
_NEAR_SECONDS: Final = 0.2
_GONE_SECONDS: Final = 5.0

_LAST_NEWS_SECONDS: Final = 5.0

_FAILED: Final = 1

_NO_TOPIC: Final = "UnknownTopicOrPartition"

_WAITING: Final = "Waiting"
"""How what Spark says of a query begins that has read all there is."""


@dataclass(slots=True)
class Driver:
    """One query, from its start to its end."""

    spec: QuerySpec
    told: Told
    orders: Orders
    jvm: SparkJvm
    spark: SparkSession
    _woken: tuple[int, int] = field(default_factory=os.pipe)
    _found: dict[str, int] = field(default_factory=dict)
    _is_ready: bool = False
    _is_explained: bool = False
    _stop_ns: int | None = None
    """When the end was asked for."""
    _settling: threading.Thread | None = None
    """Waits until the query has done all that there is to do."""

    def run(self, scratch: Path) -> str | None:
        """Carry the query out until it ends: None, or why it failed."""
        listener = Listener(self.spec, self.told, lambda: void(os.write(self._woken[1], b".")))
        self.spark.streams.addListener(listener)
        query = self._started(scratch)
        self._conduct(query, listener)
        # What was told last has its own thread.
        listener.over.wait(_LAST_NEWS_SECONDS)
        if not self._is_explained:
            self._explain(query)
        thrown = query._jsq.exception()
        return failures.of_java(thrown.get()) if thrown.isDefined() else None

    def _started(self, scratch: Path) -> StreamingQuery:
        slots = self.spark.sparkContext.defaultParallelism
        if self.spec.engine == REAL_TIME and self.spec.master is None and slots < self.spec.partitions:
            raise WorkerError(
                f"real-time mode needs a task slot for each of {self.spec.partitions} partitions, and there are "
                f"{slots}: raise the parallelism"
            )
        made = catalogue.made_by(self.spec, source.messages(self.spark, self.spec))
        if self.spec.job == "function":
            file = function.shipped(self.spec.options["call"], self.spec.folder, scratch)
            if file is not None:
                self.spark.sparkContext.addPyFile(str(file))
        return sink.started(made, self.spec)

    def _conduct(self, query: StreamingQuery, listener: Listener) -> None:
        """Look after the query until it is over, or may be stopped."""
        next_look_ns = clock.monotonic_ns()
        while not listener.over.is_set():
            if clock.monotonic_ns() >= next_look_ns:
                next_look_ns = clock.monotonic_ns() + _LOOK_NS
                self._look()
                # Should the last event not come.
                if not query.isActive:
                    return
            if not self._is_ready and self._reads(query, listener):
                self._is_ready = True
                self.told.tell(Happened(clock.monotonic_ns(), "ready"))
            if listener.batches and not self._is_explained:
                self._explain(query)
            if self._stop_ns is not None and self._may_stop(query):
                query.stop()
                return
            self._wait(query, next_look_ns)

    def _explain(self, query: StreamingQuery) -> None:
        """Write into the log how Spark does what it is asked for."""
        self._is_explained = True
        sys.stdout.write(f"{query._jsq.explainInternal(False)}\n\n")
        sys.stdout.flush()

    def _wait(self, query: StreamingQuery, next_look_ns: int) -> None:
        """Wait for an order, for news, or until it is time to look."""
        soon = not self._is_ready or self._stop_ns is not None
        seconds = max(0.0, (next_look_ns - clock.monotonic_ns()) / NS_PER_SECOND)
        listen = [self._woken[0], *([self.orders.descriptor] if self._stop_ns is None else [])]
        heard, _, _ = select.select(listen, [], [], min(seconds, _SOON_SECONDS) if soon else seconds)
        if self._woken[0] in heard:
            os.read(self._woken[0], 4096)
        for line in self.orders.next(heard=self.orders.descriptor in heard):
            if line == STOP:
                self._stop_ns = clock.monotonic_ns()
            elif line.startswith(LIMIT):
                source.limit(self.spark, query, int(line.removeprefix(LIMIT)))

    def _look(self) -> None:
        """Tell what Spark says of executors, and which processes there are, where that changed."""
        for looked in executors.looked(self.spark):
            self.told.tell(looked)
        found = executors.processes(self.spark, self.spec, self.jvm.process.pid)
        if found != self._found:
            self._found = found
            self.told.tell(Processes(found))

    def _reads(self, query: StreamingQuery, listener: Listener) -> bool:
        """Whether the query has come to read its source: Spark begins with a batch, also where there is nothing."""
        if listener.batches or self.spec.engine == AVAILABLE_NOW:
            return True
        if self.spec.engine == REAL_TIME:
            return executors.running_tasks(self.spark) >= self.spec.partitions
        return str(query.status["message"]).startswith(_WAITING)

    def _may_stop(self, query: StreamingQuery) -> bool:
        """Whether no batch would be torn, and nothing is left to be told of what was read; or it takes too long.

        After the last message a query with a watermark has one more batch, without messages, which lets out what has
        become due. In real-time mode a batch takes as long as it is told to, whatever there is to do: it is torn.
        """
        if self.spec.engine == REAL_TIME:
            return True
        if self._settling is None:
            self._settling = threading.Thread(target=_settle, args=(query,), daemon=True)
            self._settling.start()
        return not self._settling.is_alive() or clock.monotonic_ns() - (self._stop_ns or 0) > _BATCH_NS


def _settle(query: StreamingQuery) -> None:
    """Wait until all that was in the source is processed; a query that ends meanwhile has nothing more to do."""
    with contextlib.suppress(PySparkException, Py4JError):
        query.processAllAvailable()


def void(_result: object) -> None:
    """Nothing, whatever came."""


def main() -> None:
    """Carry out what standard input asks for; exit code 1 when it fails, and that of the JVM when that dies."""
    orders = Orders(sys.stdin.fileno())
    spec, scratch = read_order(orders.first())
    # Held to our end, which may come after that of the parent, who holds it too.
    held = joined(Path(scratch))
    told = Told(os.dup(sys.stdout.fileno()))
    # Ctrl-C and SIGTERM may reach us; the parent decides what they mean.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with Path(spec.log).open("ab") as log:
        os.dup2(log.fileno(), sys.stdout.fileno())
        os.dup2(log.fileno(), sys.stderr.fileno())
        why = _carry_out(spec, Path(scratch), told, orders, log)
    gateway.remove(Path(scratch))
    if held is not None:
        held.close()
    sys.stderr.flush()
    os._exit(_FAILED if why else 0)


def _carry_out(spec: QuerySpec, scratch: Path, told: Told, orders: Orders, log: IO[bytes]) -> str | None:
    """Start Spark, run the query, end Spark, and tell how it went: None, or why it failed."""
    jvm: SparkJvm | None = None
    spark: SparkSession | None = None
    silence_failed_queries()
    try:
        _check(spec)
        jvm = gateway.launched(spec, scratch, log)
        told.tell(Processes({DRIVER: jvm.process.pid}))
        threading.Thread(target=_follow, args=(jvm, told), daemon=True).start()
        spark = gateway.connected(jvm, spec, scratch)
        why = Driver(spec, told, orders, jvm, spark).run(scratch)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told, and the process ends
        if jvm is not None:
            _die_with(jvm, error)
        why = failures.of(error)
        log.write(without_secrets(traceback.format_exc(), asdict(spec)).encode(errors="replace"))
    at_ns = clock.monotonic_ns()
    told.tell(Happened(at_ns, "failed", _shown(why, spec)) if why else Happened(at_ns, "ended"))
    _leave(spark, jvm)
    return why


def _shown(why: str, spec: QuerySpec) -> str:
    """Why it failed, with what Kafka does not say, and without what nobody is to read."""
    named = f"the topic {spec.source} cannot be read: {why}" if _NO_TOPIC in why else why
    return without_secrets(named, asdict(spec))


def _check(spec: QuerySpec) -> None:
    """What can be known to be wrong before Spark is started; raises RecordError or WorkerError."""
    checkpoint.check(spec.checkpoint, spec.source)
    if spec.job == "function":
        load_function(spec.options["call"], JOB_ARGUMENTS, spec.folder)


_leaving = threading.Event()


def _follow(jvm: SparkJvm, told: Told) -> None:
    """End this process when its JVM has, unless that is meant: what ended by itself failed, what was killed died."""
    code = jvm.process.wait()
    if _leaving.is_set():
        return
    if code >= 0:
        why = f"Spark's JVM exited with code  {code}; see the log"
        told.tell(Happened(clock.monotonic_ns(), "failed", why))
        os._exit(code or _FAILED)
    os._exit(128 - code)


def _die_with(jvm: SparkJvm, error: Exception) -> None:
    """Where the JVM's death is the reason of an error, `_follow` ends this process within this time.

    A JVM that was killed may need seconds to be gone, on a busy machine; its sockets are closed before.
    """
    is_lost = isinstance(error, ConnectionError | Py4JNetworkError)
    with contextlib.suppress(subprocess.TimeoutExpired):
        jvm.process.wait(_GONE_SECONDS if is_lost else _NEAR_SECONDS)
    if jvm.process.poll() is not None:
        clock.sleep_seconds(_LEAVE_SECONDS)


def _leave(spark: SparkSession | None, jvm: SparkJvm | None) -> None:
    """Stop Spark and its JVM in bounded time."""
    _leaving.set()
    if spark is not None:
        stopping = threading.Thread(target=spark.stop, daemon=True)
        stopping.start()
        stopping.join(_LEAVE_SECONDS)
    if jvm is not None:
        end(jvm.process, _LEAVE_SECONDS)


if __name__ == "__main__":
    main()
