"""One node of a cluster of our own: its folders, its properties, its command lines."""

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from streamgauge.cluster.disks.mounts import Mount, mounted
from streamgauge.cluster.nodes.certificates import secure, secure_like, write_private
from streamgauge.cluster.nodes.layout import Member, Storage
from streamgauge.cluster.nodes.security import FOLDER, Security, SecurityFiles, user_arguments
from streamgauge.cluster.registry import MARKER, PROPERTIES
from streamgauge.domain import clock
from streamgauge.domain.errors import BrokerError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.processes.disk import free_bytes
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.jvm.leash import leashed
from streamgauge.processes.jvm.properties import properties_text
from streamgauge.processes.patience import Check

OPTIONS: Final = ("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:+ExitOnOutOfMemoryError")
"""Options of every broker's JVM."""
_LAST_LINES: Final = 15
_FORMAT_SECONDS: Final = 60
_KILLED_SECONDS: Final = 60
"""Within this a killed process is gone, also on a busy machine."""
_LOOK_SECONDS: Final = 0.02
_METADATA: Final = "__cluster_metadata-0"
_HOSTS: Final = "hosts"
_IDENTITY: Final = "meta.properties"
_FIRST_RECORDS: Final = "bootstrap.checkpoint"
_NO_SPACE: Final = "No space left on device"
_FULL_BYTES: Final = 1 << 20
"""A disk with less than this is full: a log cannot tell of it where it lies on the same disk."""
_HERE: Final = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Node:
    """One node-to-be: what stays the same when its start is tried again. Paths are absolute."""

    name: str
    """Its name in its present life: that of the member in the first."""
    member: Member
    data: Path
    logs: Path
    java: Java
    jars: Sequence[Path]
    heap: str
    detached: bool
    sharing: Sequence[str] = ()
    """Options of its JVM for an archive of its classes, to use it or to make it."""
    security: Security = field(default_factory=Security)
    """How clients and other brokers connect."""
    data_dirs: int = 1
    """Its log directories."""
    passing: tuple[int, ...] = ()
    """Those that pass through us, by number from 1."""
    hosts: str = ""
    """The text of its hosts file, which alone says where names lead then; nothing for the system's."""

    @property
    def log(self) -> Path:
        """What it says."""
        return self.logs / f"{self.name}.log"

    @property
    def properties(self) -> Path:
        """Its configuration."""
        return self.data / PROPERTIES

    @property
    def gc_log(self) -> Path:
        """What it says of its garbage collection."""
        return RunFolder(self.logs.parent).gc_log(self.name)

    @property
    def storage(self) -> Storage:
        """Its folders of topics and of the metadata log, which earlier versions kept among the topics."""
        topics = self.data / "topics"
        metadata = topics if (topics / _METADATA).exists() else self.data / "metadata"
        more = tuple(self.data / f"topics-{number}" for number in range(2, self.data_dirs + 1))
        return Storage(topics, metadata, more, SecurityFiles(self.data / FOLDER))


def prepare(node: Node, properties: Mapping[str, str], formatted: Node | None, check: Check) -> None:
    """Make the folders and the properties file; format the storage unless it was done in an earlier life.

    With `formatted`, a node of the same cluster, the storage is made like its, which takes no time.

    Raises OSError where the folders cannot be used, BrokerError where the storage cannot be formatted, and what `check`
    raises, which is asked meanwhile.
    """
    storage = node.storage
    for folder in (node.logs, *storage.log_dirs, storage.metadata, node.data / "tmp"):
        folder.mkdir(parents=True, exist_ok=True)
    if node.security.is_on and formatted is None:
        secure(node.security, storage.security, node.java)
    elif node.security.is_on and formatted:
        secure_like(formatted.storage.security, storage.security)
    # Its settings may have passwords in them.
    write_private(node.properties, properties_text(properties))
    if node.hosts:
        (node.data / _HOSTS).write_text(node.hosts, encoding="utf-8")
    if (storage.metadata / _IDENTITY).exists():
        return
    if formatted is None:
        _format(node, check)
    else:
        _format_like(formatted, node)


Mounts = Mapping[int, Mount]
"""The log directories of a node that pass through us, by number from 1."""


@contextlib.contextmanager
def passing(nodes: Sequence[Node]) -> Iterator[dict[str, Mounts]]:
    """Make the log directories of nodes that pass through us, by the names of nodes; undone where the block fails.

    Raises BadInput where that is not possible.
    """
    found: dict[str, Mounts] = {}
    with contextlib.ExitStack() as undone:
        for node in nodes:
            own: dict[int, Mount] = {}
            found[node.name] = own
            for number in node.passing:
                point, log = node.storage.log_dirs[number - 1], node.logs / f"{node.name}-directory-{number}.log"
                own[number] = mounted(node.data / f"behind-{point.name}", point, log)
                undone.callback(own[number].end)
        yield found
        undone.pop_all()


def _format_like(formatted: Node, node: Node) -> None:
    """Give the storage of a node the identity of another one's cluster, and an identity of its own in it.

    Both would get the same first records from Kafka's tool, which takes half a second of a JVM for each.
    """
    source, target = formatted.storage, node.storage
    lines = (source.metadata / _IDENTITY).read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line.partition("=")[0] not in {"node.id", "directory.id"}]
    for folder in {*target.log_dirs, target.metadata}:
        own = [f"node.id={node.member.number}", f"directory.id={_identity()}"]
        (folder / _IDENTITY).write_text("\n".join([*kept, *own, ""]), encoding="utf-8")
    if source.metadata.joinpath(_FIRST_RECORDS).exists():
        shutil.copyfile(source.metadata / _FIRST_RECORDS, target.metadata / _FIRST_RECORDS)


def _identity() -> str:
    """A random UUID in Kafka's base 64. A leading hyphen would be taken for an option of a command."""
    return secrets.token_urlsafe(16).replace("-", "_")


def _format(node: Node, check: Check) -> None:
    """Give the storage an identity; without Kafka's own tool the cluster would lack share groups and transactions."""
    arguments = ["kafka.tools.StorageTool", "format", "-t", _identity(), "-c", str(node.properties)]
    told = node.storage.security.folder / "arguments"
    if user := user_arguments(node.security):
        # Command lines are for everybody to read.
        write_private(told, "\n".join(user))
        arguments.append(f"@{told}")
    # Lives for half a second: nothing is worth compiling or collecting well.
    command = leashed([*_java(node, "-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"), *arguments])
    with node.log.open("wb") as log:
        process = spawn(command, node.logs, log)
    deadline_ns = clock.monotonic_ns() + _FORMAT_SECONDS * clock.NS_PER_SECOND
    try:
        while process.poll() is None and clock.monotonic_ns() < deadline_ns:
            check()
            clock.sleep_seconds(_LOOK_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(_KILLED_SECONDS)
        told.unlink(missing_ok=True)
    if process.returncode:
        raise BrokerError(f"the storage of {node.name} could not be formatted. {log_end(node)}")


def _java(node: Node, *options: str) -> list[str]:
    """The beginning of every command: Java, what it is to keep within the data folder, class path."""
    class_path = os.pathsep.join(map(str, node.jars))
    logging = f"-Dlog4j2.configurationFile={_HERE / 'log4j2.properties'}"
    # Without -UsePerfData a killed process would leave a file in the system's temporary folder.
    own = ["-XX:-UsePerfData", f"-Djava.io.tmpdir={node.data / 'tmp'}", logging]
    hosts = [f"-Djdk.net.hosts.file={node.data / _HOSTS}"] if node.hosts else []
    return [str(node.java.path), *options, *own, *hosts, "-cp", class_path]


def launch(node: Node) -> "subprocess.Popen[bytes]":
    """The broker's process, just started; its log and its garbage collection's begin anew."""
    options = [
        f"-Xms{node.heap}",
        f"-Xmx{node.heap}",
        *OPTIONS,
        *node.sharing,
        # `timenanos` is CLOCK_MONOTONIC, so that pauses can be laid beside messages. The path is relative to `logs`:
        # the syntax of this option gives a meaning to colons.
        f"-Xlog:gc:file={node.gc_log.name}:timenanos,level,tags:filecount=0",
        f"{MARKER}{node.name}",
    ]
    command = [*_java(node, *options), "kafka.Kafka", str(node.properties)]
    command = command if node.detached else leashed(command)
    with node.log.open("wb") as log:
        return spawn(command, node.logs, log)


def spawn(command: Sequence[str], folder: Path, log: IO[bytes]) -> "subprocess.Popen[bytes]":
    """Start a process, in a session of its own so that Ctrl-C in the terminal is not for it to hear."""
    return subprocess.Popen(
        command,
        cwd=folder,
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
