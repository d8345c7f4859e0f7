"""A Spark session sized to the work, local unless told otherwise, that leaves nothing behind."""

import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from streamgauge.domain.address import LOOPBACK, driver_address, is_this_machine
from streamgauge.domain.errors import AnalysisError
from streamgauge.processes.environment import locale
from streamgauge.processes.scratch import ANALYSIS, Scratch, scratch_faults

SMALL_ROWS = 8_000_000
"""Up to so many rows the time goes into starting up: a JVM that compiles little and collects simply is ready sooner."""
ROWS_PER_SHUFFLE_PARTITION = 8_000_000
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

    What the JVM prints goes to `log`. Raises AnalysisError when Spark cannot be started.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    with _scratch() as scratch:
        spark = _start(size, master, log, scratch.path)
        try:
            yield spark
        finally:
            spark.stop()


def _scratch() -> Scratch:
    if faults := scratch_faults():
        raise AnalysisError("; ".join(map(str, faults)))
    try:
        return Scratch(ANALYSIS)
    except OSError as error:
        raise AnalysisError(
            f"{tempfile.gettempdir()}: Spark's temporary files cannot be written there: {error.strerror or error}; "
            "make room, or name another folder with TMPDIR"
        ) from error


def _hush() -> None:
    """Keep PySpark from printing failed queries on the user's terminal, beside the error that tells of them."""
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def _start(size: Sizing, master: str | None, log: Path, scratch: Path) -> SparkSession:
    # Without these, Spark asks the machine for its name and for a Python, and may be told something that is not there.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf(loadDefaults=False).setAll(list(settings(size, master, scratch).items()))
    if is_this_machine(master):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    _hush()
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output, _launching(scratch):
            gateway = cast("Launch", launch_gateway)(conf, {"stdout": output, "stderr": output})
        return SparkSession(SparkContext(gateway=gateway, conf=conf))
    except (PySparkException, OSError) as error:
        raise AnalysisError(f"Spark could not be started: {error}; its log is {log}") from error


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
