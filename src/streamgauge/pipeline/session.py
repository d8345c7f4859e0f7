"""A Spark session sized to the work, local unless told otherwise, that leaves nothing behind."""

import logging
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

import py4j
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.text.address import LOOPBACK, driver_address, is_this_machine
from streamgauge.processes.ending import end
from streamgauge.processes.environment import locale
from streamgauge.processes.scratch import ANALYSIS, Scratch, scratch_faults

SMALL_ROWS = 8_000_000
"""Up to so many rows the time goes into starting up: a JVM that compiles little and collects simply is ready sooner."""
ROWS_PER_SHUFFLE_PARTITION = 8_000_000
_PY4J: Final = Path(py4j.__path__[0])
_END_SECONDS: Final = 10.0
"""How long a JVM may take to end: one that was killed is still there for a moment."""
_ROOM_BYTES = 1 << 20
"""Spark needs more soon, and says itself when it has not."""
Launch = Callable[[SparkConf, dict[str, Any]], Any]
"""`launch_gateway`, which PySpark leaves without types."""

COMMON: Mapping[str, str] = MappingProxyType(
    {
        "spark.app.name": "streamgauge",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # A broadcast takes a page at least; of its own choice that is 8 MiB here, and an audit holds dozens.
        "spark.buffer.pageSize": "1m",
        # Spark remembers the plans of a thousand queries for pages of its own that are not served.
        "spark.sql.ui.retainedExecutions": "1",
        "spark.ui.retainedJobs": "1",
        "spark.ui.retainedStages": "1",
        "spark.ui.retainedTasks": "1",
        "spark.sql.session.timeZone": "UTC",
        # Garbled stamps make differences that overflow: they are rows to be counted, not a reason to stop.
        "spark.sql.ansi.enabled": "false",
        # Plans are few and known; adapting them costs more jobs than it saves.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
        # Small scans keep the hash maps of an aggregation small, and its fast map has room for all of their keys.
        "spark.sql.files.maxPartitionBytes": "8m",
        "spark.sql.files.openCostInBytes": "0",
        "spark.sql.codegen.aggregate.fastHashMap.capacityBit": "20",
        # A damaged page would otherwise be read as other numbers.
        "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
        "spark.sql.autoBroadcastJoinThreshold": "32m",
        # Looking up the Python line of every expression takes longer than small answers.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
)


@dataclass(frozen=True, slots=True)
class Sizing:
    """What depends on how much there is to do."""

    cores: int
    heap: str
    shuffle_partitions: int
    java_options: tuple[str, ...]
    threads: int
    """How many independent jobs run side by side."""


def sizing(rows: int, processors: int) -> Sizing:
    """How to size the session for so many rows of events."""
    cores = max(2, processors)
    if rows <= SMALL_ROWS:
        return Sizing(cores, "1g", 2, ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"), 2)
    partitions = max(cores, -(-rows // ROWS_PER_SHUFFLE_PARTITION))
    return Sizing(cores, "2g", partitions, ("-XX:+UseParallelGC",), 2)


@contextmanager
def session(size: Sizing, master: str | None, log: Path) -> Iterator[SparkSession]:
    """A Spark session for one analysis; one that is active already is used and left as it is.

    What the JVM prints goes to `log`. Raises AnalysisError when Spark cannot be started, or ends before it should.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    with _scratch() as scratch:
        gateway = _launch(size, master, log, scratch.path)
        try:
            yield _connected(gateway, settings(size, master, scratch.path), log)
        except Exception as error:
            if (how := how_ended(gateway)) is not None:
                raise AnalysisError(f"Spark ended while it analysed: {how}; its log is {log}") from error
            raise
        finally:
            _end(gateway)


def _scratch() -> Scratch:
    if faults := scratch_faults():
        raise AnalysisError("; ".join(map(str, faults)))
    try:
        return _with_room(Scratch(ANALYSIS))
    except OSError as error:
        raise AnalysisError(
            f"{tempfile.gettempdir()}: Spark's temporary files cannot be written there: {error.strerror or error}; "
            "make room, or name another folder with TMPDIR"
        ) from error


def how_ended(gateway: Any) -> str | None:
    """How the JVM behind a gateway ended; None while it answers, and where it is not our own."""
    jvm: subprocess.Popen[bytes] | None = gateway.proc
    if jvm is None:
        return None
    try:
        gateway.jvm.System.nanoTime()
    except (Py4JError, OSError):
        # A process that dies closes its connections first.
        with suppress(subprocess.TimeoutExpired):
            return _said(jvm.wait(_END_SECONDS))
    return None


def _said(exit_code: int) -> str:
    if exit_code == -signal.SIGKILL:
        return "it was killed, which the system also does when memory runs out"
    return f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"


def _end(gateway: Any) -> None:
    """End Spark and its JVM, whatever state they are in, and let PySpark forget them."""
    with warnings.catch_warnings(), suppress(Py4JError, OSError):
        # PySpark warns of a JVM that is gone.
        warnings.simplefilter("ignore", RuntimeWarning)
        if (spark := SparkSession._instantiatedSession) is not None:
            spark.stop()
    with suppress(Py4JError, OSError):
        gateway.shutdown()
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    end(gateway.proc, _END_SECONDS)


def _with_room(scratch: Scratch) -> Scratch:
    """The folder, where there is room: PySpark waits for ever for a JVM that cannot write where the two meet."""
    try:
        (scratch.path / "room").write_bytes(bytes(_ROOM_BYTES))
        (scratch.path / "room").unlink()
    except OSError:
        scratch.close()
        raise
    return scratch


def _hush() -> None:
    """Keep PySpark and Py4J from printing what failed on the user's terminal, beside the error that tells of it."""
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
    # Py4J tells the root of all loggers that a connection broke.
    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return not Path(record.pathname).is_relative_to(_PY4J)


def _launch(size: Sizing, master: str | None, log: Path, scratch: Path) -> Any:
    """The way to a new JVM; raises AnalysisError where it does not start."""
    # Without these, Spark asks the machine for its name and for a Python, and may be told something that is not there.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if is_this_machine(master):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    _hush()
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output, _launching(scratch):
            return cast("Launch", launch_gateway)(
                _conf(settings(size, master, scratch)), {"stdout": output, "stderr": output}
            )
    except (PySparkException, Py4JError, OSError) as error:
        raise _not_started(error, log) from error


def _connected(gateway: Any, given: Mapping[str, str], log: Path) -> SparkSession:
    try:
        return SparkSession(SparkContext(gateway=gateway, conf=_conf(given)))
    except (PySparkException, Py4JError, OSError) as error:
        raise _not_started(error, log) from error


def _conf(given: Mapping[str, str]) -> SparkConf:
    return SparkConf(loadDefaults=False).setAll(list(given.items()))


def _not_started(error: Exception, log: Path) -> AnalysisError:
    return AnalysisError(f"Spark could not be started: {first_line(error)}; its log is {log}")


def first_line(error: Exception) -> str:
    """What an error says first; Spark goes on with pages of its stack."""
    return str(error).strip().partition("\n")[0]


@contextmanager
def _launching(scratch: Path) -> Iterator[None]:
    """What PySpark takes from this process for its JVM: the locale, and where the two meet, which lies in `scratch`."""
    before, place = {name: os.environ.get(name) for name in locale()}, tempfile.tempdir
    os.environ.update(locale())
    tempfile.tempdir = str(scratch)
    try:
        yield
    finally:
        tempfile.tempdir = place
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def settings(size: Sizing, master: str | None, scratch: Path) -> dict[str, str]:
    """All settings of the session by Spark's names."""
    options = (
        *size.java_options,
        f"-Djava.io.tmpdir={scratch}",
        "-XX:-UsePerfData",
        f"-Dderby.system.home={scratch}",
    )
    return {
        **COMMON,
        **driver_address(master),
        "spark.master": master or f"local[{size.cores}]",
        "spark.driver.memory": size.heap,
        # Spark splits it as a shell does.
        "spark.driver.extraJavaOptions": shlex.join(options),
        "spark.sql.shuffle.partitions": str(size.shuffle_partitions),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.log.level": "WARN",
    }
