"""A node of a cluster of our own that was started: its process, what can be done to it, and its end."""

import contextlib
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from streamgauge.cluster import registry
from streamgauge.cluster.disks.broker_disk import BrokerDisk
from streamgauge.cluster.disks.mounts import Mount
from streamgauge.cluster.nodes.node import Node, is_full, launch, log_end, log_text
from streamgauge.cluster.nodes.security import SecurityFiles
from streamgauge.domain.errors import BrokerError
from streamgauge.processes.identity import identify
from streamgauge.processes.jvm.archive import Archive, uses
from streamgauge.processes.jvm.compilers import compile_when_idle

_STOP_SECONDS: Final = 10
"""Within which a broker is to end in order; half of it where its data are not wanted any more."""
_GONE_SECONDS: Final = 10
"""Within which a process is gone that was killed, or has ended."""
_ARCHIVE_SECONDS: Final = 60
"""The same for one that writes an archive of its classes."""


class EmbeddedBroker:
    """A broker, or a controller apart from the brokers, that was started."""

    def __init__(
        self,
        entry: registry.Entry,
        process: "subprocess.Popen[bytes]",
        node: Node,
        mounts: Mapping[int, Mount] | None = None,
        bootstraps: Mapping[str, str] | None = None,
    ) -> None:
        self.entry = entry
        self.names = [entry.name]
        """The names of its lives: one, unless it was started again."""
        self.archive: Archive | None = None
        """What it writes when it stops."""
        self.bootstraps = bootstraps or {}
        """`host:port` for sets of clients that have links of their own."""
        self.is_down_on_purpose = False
        """Whether somebody ended it who will start it again."""
        self._process = process
        self._node = node
        self._mounts = mounts or {}

    @property
    def uses_archive(self) -> bool:
        """Whether it started from an archive of its classes, and did not refuse it."""
        return uses(self._node.sharing, self.pid, log_text(replace(self._node, name=self.name)))

    @property
    def is_broker(self) -> bool:
        """Whether it serves clients; a controller apart from the brokers does not."""
        return self._node.member.is_broker

    @property
    def name(self) -> str:
        """Its name, which its log files bear too."""
        return self.entry.name

    @property
    def bootstrap(self) -> str:
        """`host:port` for clients."""
        return self.entry.bootstrap

    @property
    def security(self) -> SecurityFiles:
        """What guards it; where nothing does, the files are not there."""
        return self._node.storage.security

    @property
    def disk(self) -> BrokerDisk:
        """Its log directories, to which faults can be done."""
        logs = (self.entry.log, replace(self._node, name=self.name).gc_log)
        return BrokerDisk(self, self._node.storage.log_dirs, logs, self._mounts)

    @property
    def pid(self) -> int:
        """Number of its process."""
        return self.entry.process.pid

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        """Its process now."""
        return self._process

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
        full = ": no space is left on its disk" if is_full(self._node) else ""
        return f"{self._exit}{full}"

    @property
    def _exit(self) -> str:
        return f"{self.name} ended with exit code {self.exit_code}"

    def check(self) -> None:
        """Return while it lives; raises BrokerError that says how it ended, with the end of its log."""
        if not self.alive:
            raise BrokerError(f"{self._exit}. {log_end(self._node)}")

    def compile_when_idle(self) -> None:
        """From now on it compiles its code when nobody else wants a core; not so in a later life of its own."""
        compile_when_idle(self.pid)

    @property
    def number(self) -> int:
        """Kafka's `node.id` of it."""
        return self._node.member.number

    @property
    def has_ended(self) -> bool:
        """Whether its process has ended; a paused one has not."""
        return not self.alive

    def signal(self, number: int) -> None:
        """Send its process a signal; raises OSError where it has ended. What ends of it now, ends on purpose."""
        if not self.alive:
            raise ProcessLookupError(f"{self.name} is not running")
        self.is_down_on_purpose = self.is_down_on_purpose or number in {signal.SIGTERM, signal.SIGKILL}
        self._process.send_signal(number)

    def pause(self) -> None:
        """Stop its process in its tracks (SIGSTOP): connections stay open and nothing is answered."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused process go on (SIGCONT)."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash would; what it kept stays until `stop`."""
        self.is_down_on_purpose = True
        self._process.kill()
        self._process.wait(_STOP_SECONDS)

    def restart(self) -> None:
        """Start it again after it has ended, on the same ports, with what it has on its disk; does not wait.

        Its new life has a name of its own, and logs of its own. Raises OSError where it still lives.
        """
        try:
            self._process.wait(_GONE_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise OSError(f"{self.name} has not ended") from error
        self.is_down_on_purpose = False
        node = replace(self._node, name=f"{self._node.name}.{len(self.names) + 1}")
        self._process = launch(node)
        before, process = self.entry, identify(self._process.pid)
        self.entry = before.model_copy(update={"name": node.name, "process": process, "log": node.log})
        self.names.append(node.name)
        registry.succeed(before, self.entry)

    def ask_to_stop(self) -> None:
        """Ask it to end in order, and do not wait."""
        if self.alive:
            self._process.terminate()
            # A paused process takes note of nothing else.
            self.resume()

    def stop(self) -> None:
        """End it, by force after 10 seconds, and remove its data if they are temporary. May be called again.

        Where data are removed anyway, 5 seconds have to do. A process that cannot be ended keeps its data.
        """
        if self.alive:
            self.ask_to_stop()
            seconds = _STOP_SECONDS / 2 if self.entry.temporary else _STOP_SECONDS
            try:
                self._process.wait(_ARCHIVE_SECONDS if self.archive else seconds)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.kill()
        for mount in self._mounts.values():
            mount.end()
        registry.forget(self.entry)
        if self.archive:
            # One that was killed, here or before, may have written half of it.
            self.archive.keep(self.exit_code)
