"""Archives of Java classes are made once, by a short run in JVMs that write them; later runs start in half the time.

Whoever makes them holds their folder, and gives way to any run: nothing may use the machine beside a measurement.
"""

import contextlib
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from streamgauge.cluster.embedded import archive_of_broker, start_cluster
from streamgauge.domain import clock
from streamgauge.domain.errors import CtrlC, Interrupted, StreamgaugeError
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.prime import prime
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.lock import FolderLock
from streamgauge.processes.patience import Progress
from streamgauge.processes.places import archive_folder
from streamgauge.runs.conduct.conduct import conduct
from streamgauge.runs.request.request import Request
from streamgauge.scenario import parse

_SCENARIO: Final = {
    "name": "prepare",
    "topic": {"name": "streamgauge-prepare", "partitions": 4},
    "load": {"rate": "2k/s", "producers": 1, "size": 512},
    "consume": {"consumers": 1},
    "phases": {"warmup": "500ms", "measure": "2s", "drain": "10s"},
}
_PRIME_SECONDS: Final = 1.0
_GIVE_WAY_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.1
_WANTED: Final = ".wanted"
"""A file that is there while a run wants the machine for itself."""


def are_made(java: Java) -> bool:
    """Whether brokers and analyses of this Java start from archives, or cannot; one that is damaged is not made."""
    from streamgauge.pipeline.spark.session import archive_of_analysis

    archives = (archive_of_broker(java), archive_of_analysis(java))
    return all(archive is None or archive.is_whole for archive in archives)


def make_way() -> None:
    """Let whoever makes archives stop, and wait for that, but not for long: a run is about to begin."""
    folder = archive_folder()
    if not folder.is_dir():
        return
    with contextlib.suppress(OSError):
        deadline_ns = clock.monotonic_ns() + int(_GIVE_WAY_SECONDS * clock.NS_PER_SECOND)
        while (lock := FolderLock.exclusive(folder)) is None and clock.monotonic_ns() < deadline_ns:
            (folder / _WANTED).touch()
            clock.sleep_seconds(_LOOK_SECONDS)
        if lock:
            lock.close()
        (folder / _WANTED).unlink(missing_ok=True)


def make(java: Java, progress: Progress) -> bool:
    """Make the archives of brokers and analyses, in about half a minute; whether they are there afterwards.

    Gives way to a run that begins, and to Ctrl-C; what goes wrong is told by `progress`, and costs nothing but time.
    """
    folder = archive_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FolderLock.exclusive(folder)
    except OSError as error:
        progress(f"{folder}: Java class data sharing archives cannot be stored there: {error.strerror}")
        return False
    if lock is None:
        progress("another process is creating Java class data sharing archives")
        return False
    with lock, tempfile.TemporaryDirectory(prefix="streamgauge-prepare-") as scratch:
        progress("creating Java class data sharing archives, for faster runs: once, half a minute (Ctrl-C skips it)")
        try:
            with _giving_way(folder) as interrupts:
                _trained(java, Path(scratch), folder, interrupts)
        except (CtrlC, KeyboardInterrupt, Interrupted):
            progress("creating Java class data sharing archives was postponed")
        except StreamgaugeError as error:
            progress(f"Java class data sharing archives could not be created: {error}")
        finally:
            for draft in folder.glob("*.new"):
                draft.unlink(missing_ok=True)
    return are_made(java)


def _trained(java: Java, scratch: Path, folder: Path, interrupts: Interrupts) -> None:
    """Carry out a short run on a broker, and analyse it, with JVMs that write archives when they end."""
    from streamgauge.pipeline.run import analyse
    from streamgauge.pipeline.spark.session import SESSIONS
    from streamgauge.pipeline.spark.settings import sizing

    def check() -> None:
        if interrupts.count:
            raise Interrupted("a run begins")

    with start_cluster(logs=scratch, java=java, archives=folder, check=check) as broker:
        prime(Cluster(broker.bootstrap, {}, check=check), _PRIME_SECONDS)
        request = Request(parse(_SCENARIO), scratch / "runs", ["streamgauge"], java, bootstrap=broker.bootstrap)
        run = conduct(request, interrupts, lambda _: None)
        check()
    # What ends in order writes its archive; it takes seconds.
    check()
    SESSIONS.begin(sizing(0, 1), None, scratch / "spark.log", archives=folder)
    try:
        analyse(run)
    finally:
        SESSIONS.close()


@contextlib.contextmanager
def _giving_way(folder: Path) -> Iterator[Interrupts]:
    """Interrupts that are noted as soon as a run wants the machine; an analysis is ended then."""
    from streamgauge.pipeline.spark.session import SESSIONS

    interrupts, over = Interrupts(), threading.Event()
    (folder / _WANTED).unlink(missing_ok=True)

    def look() -> None:
        while not over.wait(_LOOK_SECONDS):
            if (folder / _WANTED).exists():
                interrupts.note()
                interrupts.note()
                SESSIONS.kill_making()
                return

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield interrupts
    finally:
        over.set()
        watching.join()
