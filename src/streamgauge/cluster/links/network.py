"""The links of a running cluster that lead through proxies, and what can be done to them."""

import contextlib
import json
import select
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from streamgauge.cluster.links.proxy import Direction, Link
from streamgauge.cluster.nodes.ports import TAKEN, PortTaken
from streamgauge.domain.errors import BrokerError
from streamgauge.processes.jvm.ending import end
from streamgauge.processes.jvm.leash import leashed
from streamgauge.scenario.model.environment.faults.links import CUT, LinkFault

_SECONDS: Final = 10
"""Within which the proxy answers, and ends."""


class Network:
    """The process that carries the links. It ends with this object's process, and everything that was done with it."""

    def __init__(self, process: "subprocess.Popen[bytes]", groups: Mapping[str, Sequence[str]]) -> None:
        self._process = process
        self._groups = groups

    @classmethod
    def start(cls, links: Iterable[Link], groups: Mapping[str, Sequence[str]], log: Path) -> Self:
        """Start it. Raises PortTaken for a port that somebody else took, BrokerError for another reason.

        `groups` are names that stand for several ends of links; what the process says goes to `log`.
        """
        with log.open("wb") as said:
            process = subprocess.Popen(
                leashed([sys.executable, "-m", "streamgauge.cluster.links.proxy"]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                # Ctrl-C in the terminal is not for it to hear.
                start_new_session=True,
            )
        network = cls(process, groups)
        try:
            network._tell(list(links))
        except OSError as error:
            network.stop()
            kind = PortTaken if TAKEN in str(error) else BrokerError
            raise kind(f"the proxies of links could not be started: {error}") from error
        return network

    @property
    def pid(self) -> int:
        """Number of its process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def check(self) -> None:
        """Return while it lives; raises BrokerError that says how it ended."""
        if not self.alive:
            raise BrokerError(f"the proxy of links ended with exit code {self._process.poll()}")

    def begin(self, fault: LinkFault) -> None:
        """Do something to links; OSError where that is not possible."""
        ways = fault.ways(self._groups)
        if not ways:
            raise OSError(f"{fault.target}: there is no link, as both sides are the same node")
        self._do(ways, "cut" if fault.kind == CUT else "impair", fault.impairment)

    def end(self, fault: LinkFault) -> None:
        """Undo it; OSError where that is not possible."""
        self._do(fault.ways(self._groups), "end", {})

    def undo(self) -> None:
        """Undo everything; nothing where it has ended."""
        with contextlib.suppress(OSError):
            self._tell({"ways": [], "kind": "undo", "impairment": {}})

    def stop(self) -> None:
        """End it, and all connections through it. May be called again."""
        end(self._process, _SECONDS)

    def _do(self, ways: Iterable[Direction], kind: str, impairment: Mapping[str, Any]) -> None:
        self._tell({"ways": sorted(ways), "kind": kind, "impairment": impairment})

    def _tell(self, what: object) -> None:
        """Tell it something, and wait for its answer."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        stdin.write(json.dumps(what).encode() + b"\n")
        stdin.flush()
        if not select.select([stdout], [], [], _SECONDS)[0]:
            raise TimeoutError("the proxy of links did not answer")
        answer = stdout.readline()
        if not answer:
            raise ConnectionError("the proxy of links has ended")
        if reason := answer.decode().strip():
            raise OSError(reason)
