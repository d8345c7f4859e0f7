"""Spark sessions sized to the work, local unless told otherwise, that leave nothing behind."""

import atexit
import logging
import os
import shlex
import signal
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self, cast

import py4j
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from streamgauge.domain.errors import AnalysisError, WorkerError
from streamgauge.domain.text.address import driver_address, is_this_machine
from streamgauge.processes.jvm.archive import Archive, archive_of
from streamgauge.processes.jvm.ending import end
from streamgauge.processes.jvm.java import Java, find_java
from streamgauge.processes.jvm.spark import SparkJvm, class_path, launched, spark_home
from streamgauge.processes.places import archive_folder
from streamgauge.processes.scratch import ANALYSIS, Scratch, scratch_faults

SMALL_ROWS = 8_000_000
"""Up to so many rows the time goes into starting up: a JVM that compiles little and collects simply is ready sooner."""
_KIND: Final = "analysis"
_SMALL: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
ROWS_PER_SHUFFLE_PARTITION = 8_000_000
_PY4J: Final = Path(py4j.__path__[0])
_ARCHIVE_SECONDS: Final = 60.0
"""The same for one that writes an archive of its classes."""
_END_SECONDS: Final = 10.0
"""How long a JVM may take to end: one that was killed is still there for a moment."""
_ROOM_BYTES = 1 << 20
"""Spark needs more soon, and says itself when it has not."""

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

    @property
    def is_small(self) -> bool:
        """Whether it is for a run whose time goes into starting up."""
        return self.java_options == _SMALL


def sizing(rows: int, processors: int) -> Sizing:
    """How to size the session for so many rows of events."""
    cores = max(2, processors)
    if rows <= SMALL_ROWS:
        return Sizing(cores, "1g", 2, _SMALL, 2)
    partitions = max(cores, -(-rows // ROWS_PER_SHUFFLE_PARTITION))
    return Sizing(cores, "2g", partitions, ("-XX:+UseParallelGC",), 2)


class _Current(NamedTuple):
    """What PySpark takes for the session and the JVM of this process."""

    session: SparkSession | None = None
    active: SparkSession | None = None
    context: SparkContext | None = None
    gateway: Any = None
    jvm: Any = None

    @classmethod
    def now(cls) -> Self:
        """What it takes for them now."""
        # PySpark has one of each, and no other names for them.
        return cls(
            SparkSession._instantiatedSession,
            SparkSession._activeSession,
            SparkContext._active_spark_context,
            SparkContext._gateway,
            SparkContext._jvm,
        )

    def put(self) -> None:
        """Let PySpark take these for them."""
        SparkSession._instantiatedSession, SparkSession._activeSession = self.session, self.active
        SparkContext._active_spark_context, SparkContext._gateway, SparkContext._jvm = self[2:]


@dataclass(slots=True)
class _Kept:
    """A JVM of ours, and the session in it once somebody asked for it."""

    size: Sizing
    master: str | None
    scratch: Scratch
    jvm: SparkJvm
    archive: Archive | None
    spark: SparkSession | None = None
    current: _Current = _Current()  # noqa: RUF009 - immutable
    """What PySpark knows of it, while nobody uses it."""

    @contextmanager
    def used(self) -> Iterator[None]:
        """PySpark takes the session for that of this process within the block, and forgets it afterwards.

        So a user who asks PySpark for a session never gets ours, which has other settings and ends when we want.
        """
        before = _Current.now()
        if self.spark is not None and before.session is self.spark:
            # Who uses it already also puts back what was there before.
            yield
            return
        self.current.put()
        try:
            yield
        finally:
            self.current = _Current.now()
            before.put()

    def fits(self, size: Sizing, master: str | None) -> bool:
        """Whether an analysis of this size can run in it: one for large runs serves small ones, too."""
        is_large_enough = self.size.java_options == size.java_options or size.is_small
        return self.jvm.process.poll() is None and self.master == master and is_large_enough

    def how_ended(self) -> str | None:
        """How its JVM ended; None while it answers."""
        if self.spark is not None:
            try:
                self.spark.sparkContext._gateway.jvm.System.nanoTime()  # type: ignore[union-attr]
            except (Py4JError, OSError):
                # A process that dies closes its connections first.
                with suppress(subprocess.TimeoutExpired):
                    return _said(self.jvm.process.wait(_END_SECONDS))
        code = self.jvm.process.poll()
        return None if code is None else _said(code)


class Sessions:
    """The Spark sessions of this process: one JVM at a time, which serves every analysis that it fits.

    A session that the user of this process made is used instead, and left as it is.
    """

    def __init__(self) -> None:
        self._kept: _Kept | None = None
        self._lock = threading.RLock()

    def begin(self, size: Sizing, master: str | None, log: Path, *, archives: Path | None = None) -> None:
        """Start a JVM for an analysis to come, and do not wait for it; what it prints goes to `log`.

        With `archives`, a folder, it writes an archive of its classes there when it ends; else it uses the one that is
        there. Raises AnalysisError where it cannot be started, BadInput where there is no Java.
        """
        with self._lock:
            if self._of_the_user() or (self._kept and self._kept.fits(size, master) and not archives):
                return
            self.close()
            scratch = _scratch()
            try:
                self._kept = _begun(size, master, log, scratch, archives)
            except OSError as error:
                scratch.close()
                raise AnalysisError(f"Spark could not be started: {first_line(error)}; its log is {log}") from error
            except BaseException:
                scratch.close()
                raise

    @contextmanager
    def session(self, size: Sizing, master: str | None, log: Path) -> Iterator[SparkSession]:
        """A session for one analysis. Raises AnalysisError when Spark cannot be started, or ends before it should."""
        if (theirs := self._of_the_user()) is not None:
            yield theirs
            return
        self.begin(size, master, log)
        assert self._kept
        kept = self._kept
        with self._lock, kept.used():
            spark = self._connected(kept)
            spark.conf.set("spark.sql.shuffle.partitions", str(size.shuffle_partitions))
            try:
                yield spark
                if self._kept is kept:
                    spark.catalog.clearCache()
            except BaseException as error:
                if self._kept is not kept:
                    # It was closed meanwhile.
                    raise
                if (how := kept.how_ended()) is not None:
                    self.close()
                    if isinstance(error, Exception):
                        what = f"Spark ended while it analysed: {how}; its log is {kept.jvm.log}"
                        raise AnalysisError(what) from error
                else:
                    spark.sparkContext.cancelAllJobs()
                raise

    def _of_the_user(self) -> SparkSession | None:
        """The session that is active, if it is not ours."""
        active = SparkSession.getActiveSession()
        return None if self._kept and active is self._kept.spark else active

    def has_ended(self) -> bool:
        """Whether the JVM of ours that served last is no longer there."""
        return self._kept is not None and self._kept.how_ended() is not None

    def _connected(self, kept: _Kept) -> SparkSession:
        if kept.spark is not None:
            return kept.spark
        _hush()
        try:
            with kept.jvm.announced():
                gateway: Any = cast("Callable[[], Any]", launch_gateway)()
            given = settings(kept.size, kept.master, kept.scratch.path)
            conf = SparkConf(loadDefaults=False).setAll(list(given.items()))
            with _signals_kept():
                kept.spark = SparkSession(SparkContext(gateway=gateway, conf=conf))
        except (PySparkException, Py4JError, OSError, WorkerError) as error:
            log = kept.jvm.log
            self.close()
            said = first_line(error).removeprefix("Spark could not be started: ")
            raise AnalysisError(f"Spark could not be started: {said}; its log is {log}") from error
        return kept.spark

    def kill(self) -> None:
        """End the JVM at once; who analyses with it meanwhile gets an AnalysisError."""
        if (kept := self._kept) is not None:
            kept.jvm.process.kill()

    def close(self) -> None:
        """End the session and its JVM, whatever state they are in; may be called again."""
        with self._lock:
            kept, self._kept = self._kept, None
            if kept is None:
                return
            if kept.spark is not None:
                with kept.used():
                    _stop(kept.spark)
            end(kept.jvm.process, _ARCHIVE_SECONDS if kept.archive else _END_SECONDS)
            if kept.archive:
                kept.archive.keep()
            kept.scratch.close()


SESSIONS: Final = Sessions()
"""Those of this process."""
atexit.register(SESSIONS.close)


def archive_of_analysis(java: Java) -> Archive | None:
    """The archive that an analysis of a small run uses if it is there; None where it can have none."""
    return archive_of(_KIND, archive_folder(), java, class_path(spark_home()), _SMALL)


def _begun(size: Sizing, master: str | None, log: Path, scratch: Scratch, archives: Path | None) -> _Kept:
    log.parent.mkdir(parents=True, exist_ok=True)
    local = is_this_machine(master)
    java = find_java(os.environ)
    found = archive_of(_KIND, archives or archive_folder(), java, class_path(spark_home()), size.java_options)
    made = found if archives and local else None
    options = [] if found is None or not local else found.making if made else found.using
    if made:
        made.path.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        given = settings(size, master, scratch.path, options)
        jvm = launched(given, scratch.path, output, java=java.path, local=local, home=None)
    return _Kept(size, master, scratch, jvm, made)


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Let Ctrl-C mean what it means to this process: PySpark would give it a meaning of its own, for ever."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _stop(spark: SparkSession) -> None:
    """Stop a session, and let PySpark forget it and its JVM."""
    gateway: Any = spark.sparkContext._gateway
    with warnings.catch_warnings(), suppress(Py4JError, OSError):
        # PySpark warns of a JVM that is gone.
        warnings.simplefilter("ignore", RuntimeWarning)
        spark.stop()
    with suppress(Py4JError, OSError):
        gateway.shutdown()
    _Current().put()


def _said(exit_code: int) -> str:
    if exit_code == -signal.SIGKILL:
        return "it was killed, which the system also does when memory runs out"
    return f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"


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


def first_line(error: Exception) -> str:
    """What an error says first; Spark goes on with pages of its stack."""
    return str(error).strip().partition("\n")[0]


def settings(size: Sizing, master: str | None, scratch: Path, more_options: Sequence[str] = ()) -> dict[str, str]:
    """All settings of the session by Spark's names; `more_options` are options of its JVM."""
    options = (
        *more_options,
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
