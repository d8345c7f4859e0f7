"""Spark sessions sized to the work, local unless told otherwise, that leave nothing behind."""

import atexit
import logging
import os
import signal
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

import py4j
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from streamgauge.domain.errors import AnalysisError, WorkerError
from streamgauge.domain.text.address import is_this_machine
from streamgauge.pipeline.spark.kept import END_SECONDS, Current, Kept
from streamgauge.pipeline.spark.settings import SMALL, Sizing, java_options, settings
from streamgauge.processes.jvm.archive import Archive, archive_of
from streamgauge.processes.jvm.ending import end
from streamgauge.processes.jvm.java import Java, find_java
from streamgauge.processes.jvm.spark import OPTIONS, class_path, launched, served, silence_failed_queries, spark_home
from streamgauge.processes.places import archive_folder
from streamgauge.processes.scratch import ANALYSIS, Scratch, scratch_faults

_KIND: Final = "analysis"
_PY4J: Final = Path(py4j.__path__[0])
_ARCHIVE_SECONDS: Final = 60.0
"""How long a JVM may take to end that writes an archive of its classes."""
_LEAVING_SECONDS: Final = 3.0
"""How long a JVM that is about to end may take to say why: it stops its context first."""
_ROOM_BYTES = 1 << 20
"""Spark needs more soon, and says itself when it has not."""


class WornOutError(AnalysisError):
    """A session ran out of memory that had served others before; a new one may have enough."""


class Sessions:
    """The Spark sessions of this process: one JVM at a time, which serves every analysis that it fits.

    A session that the user of this process made is used instead, and left as it is.
    """

    def __init__(self) -> None:
        self._kept: Kept | None = None
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

    def prepare(self, size: Sizing, master: str | None, log: Path) -> None:
        """As `begin`, and make the session meanwhile, in a thread; whoever asks for it then waits for what is left."""
        self.begin(size, master, log)
        if (kept := self._kept) is not None and kept.spark is None:
            threading.Thread(target=self._connect, args=[kept], daemon=True).start()

    def _connect(self, kept: Kept) -> None:
        """What goes wrong here is told to the one who asks for the session."""
        with suppress(WorkerError, OSError, AnalysisError):
            # Without the lock: it can be closed meanwhile.
            kept.jvm.address()
            with self._lock:
                if self._kept is kept:
                    with kept.used():
                        self._connected(kept)

    @contextmanager
    def session(self, size: Sizing, master: str | None, log: Path) -> Iterator[SparkSession]:
        """A session for one analysis.

        Raises AnalysisError when Spark cannot be started, or ends before it should;
        WornOutError where it is worth another attempt.
        """
        with self._lock:
            # While it is held nobody else makes PySpark take ours for that of this process.
            theirs = self._of_the_user()
        if theirs is not None:
            yield theirs
            return
        self.begin(size, master, log)
        assert self._kept
        kept = self._kept
        with self._lock, kept.used():
            spark = self._connected(kept)
            for name, value in size.of_analysis.items():
                spark.conf.set(name, value)
            try:
                yield spark
                kept.served += 1
                if self._kept is kept:
                    spark.catalog.clearCache()
            except BaseException as error:
                if self._kept is not kept:
                    # It was closed meanwhile.
                    raise
                if (how := kept.how_ended() or _stopped(spark, kept)) is not None:
                    kind = WornOutError if kept.is_worn_out else AnalysisError
                    self.close()
                    if isinstance(error, Exception):
                        raise kind(f"Spark ended while it analysed: {how}; its log is {kept.jvm.log}") from error
                raise

    def _of_the_user(self) -> SparkSession | None:
        """The session that is active, if it is not ours."""
        active = SparkSession.getActiveSession()
        return None if self._kept and active is self._kept.spark else active

    def has_ended(self) -> bool:
        """Whether the JVM of ours that served last is no longer there."""
        return self._kept is not None and self._kept.how_ended() is not None

    def _connected(self, kept: Kept) -> SparkSession:
        if kept.spark is not None:
            return kept.spark
        silence_failed_queries()
        # Py4J tells the root of all loggers that a connection broke.
        logging.getLogger().addFilter(_is_not_of_py4j)
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

    def kill_making(self) -> None:
        """End a JVM that is there to write an archive at once; who analyses with it meanwhile gets an AnalysisError."""
        if (kept := self._kept) is not None and kept.archive is not None:
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
            end(kept.jvm.process, _ARCHIVE_SECONDS if kept.archive else END_SECONDS)
            if kept.archive:
                kept.archive.keep(kept.jvm.process.poll())
            kept.scratch.close()


SESSIONS: Final = Sessions()
"""Those of this process."""
atexit.register(SESSIONS.close)


def archive_of_analysis(java: Java, folder: Path | None = None) -> Archive | None:
    """The archive that analyses use if it is there; None where they can have none."""
    # A small analysis writes it. Which classes there are does not depend on how they are compiled: it serves all.
    return archive_of(_KIND, folder or archive_folder(), java, class_path(spark_home()), (*OPTIONS, *SMALL))


def _begun(size: Sizing, master: str | None, log: Path, scratch: Scratch, archives: Path | None) -> Kept:
    log.parent.mkdir(parents=True, exist_ok=True)
    java, local = find_java(os.environ), is_this_machine(master)
    found = archive_of_analysis(java, archives) if local else None
    made = found if archives else None
    shared = [] if found is None else found.making if made else found.using
    if made:
        made.path.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        if local:
            options = [f"-Xmx{size.heap}", *shared, *java_options(size, scratch.path)]
            jvm = served(java.path, options, scratch.path, output)
        else:
            given = settings(size, master, scratch.path)
            jvm = launched(given, scratch.path, output, java=java.path, local=False, home=None)
    return Kept(size, master, scratch, jvm, made)


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Let Ctrl-C mean what it means to this process: PySpark would give it a meaning of its own, for ever."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _stopped(spark: SparkSession, kept: Kept) -> str | None:
    """Cancel what the session does; how it ended where it cannot, as when its JVM was told to end a moment ago."""
    try:
        spark.sparkContext.cancelAllJobs()
    # PySpark asks a JVM of its errors that may be gone by then.
    except (Py4JError, OSError):
        with suppress(subprocess.TimeoutExpired):
            kept.jvm.process.wait(_LEAVING_SECONDS)
        return kept.how_ended() or "its context was stopped"
    return None


def _stop(spark: SparkSession) -> None:
    """Stop a session, and let PySpark forget it and its JVM."""
    gateway: Any = spark.sparkContext._gateway
    with warnings.catch_warnings(), suppress(Py4JError, OSError):
        # PySpark warns of a JVM that is gone.
        warnings.simplefilter("ignore", RuntimeWarning)
        spark.stop()
    with suppress(Py4JError, OSError):
        gateway.shutdown()
    Current().put()


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


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return not Path(record.pathname).is_relative_to(_PY4J)


def first_line(error: Exception) -> str:
    """What an error says first; Spark goes on with pages of its stack."""
    return str(error).strip().partition("\n")[0]
