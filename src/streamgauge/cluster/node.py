"""One node of the embedded cluster: its folders, its properties, its command lines."""

import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from streamgauge.cluster.registry import MARKER, PROPERTIES
from streamgauge.domain import clock
from streamgauge.domain.errors import BrokerError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.address import LOOPBACK
from streamgauge.processes.disk import free_bytes
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.jvm.leash import leashed
from streamgauge.processes.patience import Check

OPTIONS: Final = ("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:+ExitOnOutOfMemoryError")
"""Options of every broker's JVM."""
_LAST_LINES: Final = 15
_FORMAT_SECONDS: Final = 60
_KILLED_SECONDS: Final = 60
"""Within this a killed process is gone, also on a busy machine."""
_LOOK_SECONDS: Final = 0.02
_NO_SPACE: Final = "No space left on device"
_FULL_BYTES: Final = 1 << 20
"""A disk with less than this is full: a log cannot tell of it where it lies on the same disk."""
_HERE: Final = Path(__file__).parent

_PROPERTIES: Final = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller_port}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={log_dir}
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
# Nothing that a run wrote may expire before it is read.
log.retention.ms=-1
# One broker has no second replica, and a few groups need no fifty partitions, which delay the first of them.
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
"""


@dataclass(frozen=True, slots=True)
class Node:
    """One broker-to-be: what stays the same when its start is tried again. Paths are absolute."""

    name: str
    data: Path
    logs: Path
    java: Java
    jars: Sequence[Path]
    heap: str
    detached: bool
    sharing: Sequence[str] = ()
    """Options of its JVM for an archive of its classes, to use it or to make it."""

    @property
    def log(self) -> Path:
        """What it says."""
        return self.logs / f"{self.name}.log"

    @property
    def properties(self) -> Path:
        """Its configuration."""
        return self.data / PROPERTIES

    @property
    def log_dir(self) -> Path:
        """Where the broker keeps topics; Kafka calls it a log directory."""
        return self.data / "topics"


def prepare(node: Node, port: int, controller_port: int, check: Check) -> None:
    """Make the folders and the properties file; format the storage unless it was done in an earlier life.

    Raises OSError where the folders cannot be used, BrokerError where the storage cannot be formatted, and what `check`
    raises, which is asked meanwhile.
    """
    for folder in (node.logs, node.log_dir, node.data / "tmp"):
        folder.mkdir(parents=True, exist_ok=True)
    text = _PROPERTIES.format(host=LOOPBACK, port=port, controller_port=controller_port, log_dir=escaped(node.log_dir))
    node.properties.write_text(text, encoding="ascii")
    if not (node.log_dir / "meta.properties").exists():
        _format(node, check)


def escaped(path: Path) -> str:
    r"""A path as Java's properties files spell it: a backslash doubled, what is not ASCII as \uXXXX."""
    units = str(path).replace("\\", "\\\\").encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2)]
    return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)


def _format(node: Node, check: Check) -> None:
    """Give the storage an identity; without Kafka's own tool the cluster would lack share groups and transactions."""
    # A leading hyphen would be taken for an option.
    cluster_id = secrets.token_urlsafe(16).replace("-", "_")
    arguments = ["kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(node.properties)]
    # Lives for half a second: nothing is worth compiling or collecting well.
    command = leashed([*_java(node, "-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"), *arguments])
    with node.log.open("wb") as log:
        process = _spawn(command, node, log)
    deadline_ns = clock.monotonic_ns() + _FORMAT_SECONDS * clock.NS_PER_SECOND
    try:
        while process.poll() is None and clock.monotonic_ns() < deadline_ns:
            check()
            clock.sleep_seconds(_LOOK_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(_KILLED_SECONDS)
    if process.returncode:
        raise BrokerError(f"the storage of {node.name} could not be formatted. {log_end(node)}")


def _java(node: Node, *options: str) -> list[str]:
    """The beginning of every command: Java, what it is to keep within the data folder, class path."""
    class_path = os.pathsep.join(map(str, node.jars))
    logging = f"-Dlog4j2.configurationFile={_HERE / 'log4j2.properties'}"
    # Without -UsePerfData a killed process would leave a file in the system's temporary folder.
    own = ["-XX:-UsePerfData", f"-Djava.io.tmpdir={node.data / 'tmp'}", logging]
    return [str(node.java.path), *options, *own, "-cp", class_path]


def launch(node: Node) -> "subprocess.Popen[bytes]":
    """The broker's process, just started; its log and its garbage collection's begin anew."""
    gc_log = RunFolder(node.logs.parent).gc_log(node.name).name
    options = [
        f"-Xms{node.heap}",
        f"-Xmx{node.heap}",
        *OPTIONS,
        *node.sharing,
        # `timenanos` is CLOCK_MONOTONIC, so that pauses can be laid beside messages. The path is relative to `logs`:
        # the syntax of this option gives a meaning to colons.
        f"-Xlog:gc:file={gc_log}:timenanos,level,tags:filecount=0",
        f"{MARKER}{node.name}",
    ]
    command = [*_java(node, *options), "kafka.Kafka", str(node.properties)]
    command = command if node.detached else leashed(command)
    with node.log.open("wb") as log:
        return _spawn(command, node, log)


def _spawn(command: Sequence[str], node: Node, log: IO[bytes]) -> "subprocess.Popen[bytes]":
    """Start a process, in a session of its own so that Ctrl-C in the terminal is not for it to hear."""
    return subprocess.Popen(
        command,
        cwd=node.logs,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def _environment() -> dict[str, str]:
    """Our environment, in a locale in which paths may have any letter and the decimal point is a point."""
    return {**os.environ, "LC_ALL": "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8"}


def log_text(node: Node) -> str:
    """All that the broker has said; nothing where its log is gone."""
    try:
        return node.log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def log_end(node: Node) -> str:
    """The last lines of the log, for a message, without traces of stacks; a full disk is told before them."""
    full = f"{_NO_SPACE}: free space for {node.data} and {node.logs}. " if is_full(node) else ""
    lines = [line for line in log_text(node).splitlines() if not line.startswith("\tat ")][-_LAST_LINES:]
    return "\n  ".join([f"{full}The end of {node.log}:", *lines])


def is_full(node: Node) -> bool:
    """Whether its disk is full, or was when it said so."""
    free = [free_bytes(folder) for folder in (node.data, node.logs)]
    return any(each is not None and each < _FULL_BYTES for each in free) or _NO_SPACE in log_text(node)
