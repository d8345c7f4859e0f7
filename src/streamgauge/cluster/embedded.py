"""A real Apache Kafka broker of our own: KRaft, one node, loopback only, ports and data folder chosen by itself."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from streamgauge.cluster import registry
from streamgauge.cluster.data import check_data, check_room
from streamgauge.cluster.jars import BROKER, KAFKA_VERSION, broker_jars, jar_folder
from streamgauge.cluster.node import OPTIONS, Node, is_full, launch, log_end, log_text, prepare
from streamgauge.domain import clock
from streamgauge.domain.errors import BadInput, BrokerError
from streamgauge.domain.text.address import LOOPBACK
from streamgauge.processes.identity import identify
from streamgauge.processes.jvm.archive import Archive, archive_of
from streamgauge.processes.jvm.compilers import compile_when_idle
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.patience import Check, Progress, no_check
from streamgauge.processes.places import archive_folder

_KIND: Final = "broker"

_STARTED: Final = "Kafka Server started"

_PORT_TAKEN: Final = "Address already in use"

_START_SECONDS: Final = 60

_STOP_SECONDS: Final = 10
"""Within which a broker is to end in order; half of it where its data are not wanted any more."""

_ARCHIVE_SECONDS: Final = 60
"""The same for one that writes an archive of its classes."""

_ATTEMPTS: Final = 3

_LEFT: Final[list["subprocess.Popen[bytes]"]] = []
"""Processes that outlive us on purpose: one that runs while its object is collected is taken for a mistake."""


class _PortTaken(BrokerError):
    """Somebody else took a port between our choosing it and the broker's opening it."""


class EmbeddedBroker:
    """A running broker; as a context manager it is stopped at the end of the block, unless it was detached."""

    def __init__(self, entry: registry.Entry, process: "subprocess.Popen[bytes]", node: Node | None = None) -> None:
        self.entry = entry
        self.names = [entry.name]
        """The names of its lives: one, unless it was started again."""
        self.archive: Archive | None = None
        """What it writes when it stops."""
        self._process = process
        self._node = node

    @property
    def uses_archive(self) -> bool | None:
        """Whether it started from an archive of its classes; None if somebody else started it."""
        return bool(self._node.sharing) and self.archive is None if self._node else None

    @property
    def name(self) -> str:
        """Its name, which its log files bear too."""
        return self.entry.name

    @property
    def bootstrap(self) -> str:
        """`host:port` for clients."""
        return self.entry.bootstrap

    @property
    def pid(self) -> int:
        """Number of its process."""
        return self.entry.process.pid

    @property
    def version(self) -> str:
        """Version of Apache Kafka."""
        return self.entry.version

    @property
    def alive(self) -> bool:
        """Whether its process has not ended; a paused one has not."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """How it ended, negative for a signal; None while it lives."""
        return self._process.poll()

    def how_ended(self) -> str | None:
        """In words, how it ended; None while it lives."""
        if self.alive:
            return None
        full = ": no space is left on its disk" if self._node and is_full(self._node) else ""
        return f"{self._exit}{full}"

    @property
    def _exit(self) -> str:
        return f"{self.name} ended with exit code {self.exit_code}"

    def check(self) -> None:
        """Return while it lives; raises BrokerError that says how it ended, with the end of its log."""
        if not self.alive:
            raise BrokerError(f"{self._exit}. {log_end(self._node)}" if self._node else self._exit)

    def compile_when_idle(self) -> None:
        """From now on it compiles its code when nobody else wants a core; not so in a later life of its own."""
        compile_when_idle(self.pid)

    def pause(self) -> None:
        """Stop its process in its tracks (SIGSTOP): connections stay open and nothing is answered."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused process go on (SIGCONT)."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash would; what it kept stays until `stop`."""
        self._process.kill()
        self._process.wait(_STOP_SECONDS)

    def restart(self) -> None:
        """Start it again after it was killed, on the same ports, with what it has on its disk; does not wait.

        Its new life has a name of its own, and logs of its own.
        """
        assert self._node
        self._process.wait(_STOP_SECONDS)
        node = replace(self._node, name=f"{self._node.name}.{len(self.names) + 1}")
        self._process = launch(node)
        before, process = self.entry, identify(self._process.pid)
        self.entry = before.model_copy(update={"name": node.name, "process": process, "log": node.log})
        self.names.append(node.name)
        registry.succeed(before, self.entry)

    def stop(self) -> None:
        """End it, by force after 10 seconds, and remove its data if they are temporary. May be called again.

        Where data are removed anyway, 5 seconds have to do. A process that cannot be ended keeps its data.
        """
        if self.alive:
            self._process.terminate()
            # A paused process takes note of nothing else.
            self.resume()
            seconds = _STOP_SECONDS / 2 if self.entry.temporary else _STOP_SECONDS
            try:
                self._process.wait(_ARCHIVE_SECONDS if self.archive else seconds)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.kill()
        registry.forget(self.entry)
        if self.archive:
            self.archive.keep()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.entry.owner:
            self.stop()
        else:
            _LEFT.append(self._process)


def start_broker(
    *,
    logs: Path,
    java: Java,
    jars: Sequence[Path] | None = None,
    data: Path | None = None,
    keep_data: bool = False,
    detached: bool = False,
    name: str = "broker-1",
    heap: str = "1g",
    archives: Path | None = None,
    progress: Progress | None = None,
    check: Check = no_check,
) -> EmbeddedBroker:
    """Start a broker and return it when it serves clients; its log and its garbage collection's go to `logs`.

    Without `data` its data lie in a temporary folder. They are removed when it stops, unless `keep_data` is set or the
    folder was there before. A broker ends with the thread that started it (Linux), or is ended by the next start after
    that process has gone; a `detached` one stays until it is asked to stop. With `archives`, a folder, it writes an
    archive of its classes there when it stops; else it uses the one that is there.

    Raises BadInput for a data folder in use or unusable, BrokerError with the end of its log if it does not start, and
    what `check` raises, which is asked some twenty times a second while something is waited for.
    """
    registry.check_writable()
    registry.sweep()
    jars = jars or broker_jars(progress, check=check)
    if data is not None:
        check_data(data)
    temporary = not keep_data and (data is None or not data.exists())
    data = (data or Path(tempfile.mkdtemp(prefix="streamgauge-"))).resolve()
    archive = archive_of(_KIND, archives or archive_folder(), java, jars, OPTIONS)
    sharing = [] if archive is None else archive.making if archives else archive.using
    node = Node(name, data, logs.absolute(), java, jars, heap, detached, sharing)
    if progress:
        progress(f"starting Apache Kafka {KAFKA_VERSION}")
    try:
        check_room(node)
        with registry.claimed(data) if temporary else contextlib.nullcontext():
            broker = _start(node, check, temporary=temporary)
            broker.archive = archive if archives else None
            return broker
    except BaseException:
        if temporary and not registry.brokers_in(data):
            shutil.rmtree(data, ignore_errors=True)
        raise


def archive_of_broker(java: Java) -> Archive | None:
    """The archive that a broker uses if it is there; None where it can have none."""
    return archive_of(_KIND, archive_folder(), java, [jar_folder() / jar.file_name for jar in BROKER.jars()], OPTIONS)


def _start(node: Node, check: Check, *, temporary: bool) -> EmbeddedBroker:
    for _ in range(_ATTEMPTS - 1):
        try:
            return _attempt(node, check, temporary=temporary)
        except _PortTaken:
            continue
    return _attempt(node, check, temporary=temporary)


def _attempt(node: Node, check: Check, *, temporary: bool) -> EmbeddedBroker:
    """A broker on ports that are free now; if it does not start, its process is gone."""
    port, controller_port = free_ports(2)
    try:
        prepare(node, port, controller_port, check)
    except OSError as error:
        raise BadInput.single(f"data folder {node.data}", f"cannot be used: {error}", "Name another folder") from error
    process = launch(node)
    broker = EmbeddedBroker(_entry(node, process.pid, port, temporary=temporary), process, node)
    try:
        registry.register(broker.entry)
        _await_start(process, node, check)
    except BaseException:
        with contextlib.suppress(subprocess.TimeoutExpired):
            broker.kill()
        broker.stop()
        raise
    return broker


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, no two of them the same."""
    sockets = [socket.create_server((LOOPBACK, 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _entry(node: Node, pid: int, port: int, *, temporary: bool) -> registry.Entry:
    return registry.Entry(
        name=node.name,
        process=identify(pid),
        owner=None if node.detached else identify(os.getpid()),
        bootstrap=f"{LOOPBACK}:{port}",
        version=KAFKA_VERSION,
        data=node.data,
        temporary=temporary,
        log=node.log,
    )


def _await_start(process: "subprocess.Popen[bytes]", node: Node, check: Check) -> None:
    """Wait until the log says that the broker serves; raises BrokerError if it ends before, or takes too long."""
    deadline_ns = clock.monotonic_ns() + _START_SECONDS * clock.NS_PER_SECOND
    while process.poll() is None and clock.monotonic_ns() < deadline_ns:
        if _STARTED in log_text(node):
            return
        check()
        clock.sleep_seconds(0.02)
    if _PORT_TAKEN in log_text(node):
        raise _PortTaken(f"{node.name} could not bind its port. {log_end(node)}")
    how = f"was not ready after {_START_SECONDS} s" if process.poll() is None else f"ended ({process.returncode})"
    raise BrokerError(f"{node.name} {how} during start-up. {log_end(node)}")
