"""What a driver tells, as lines of JSON over its standard output, and what it is told, over its standard input."""

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from streamgauge.domain.query import Advance, Happened, Looked, News, Progress, QuerySpec

STOP = "stop"
"""The line that asks for the end."""
LIMIT = "limit"
"""How the line begins that says how many messages batches may hold from now on."""


class Processes(NamedTuple):
    """Which processes carry the query out now: names and process ids."""

    found: Mapping[str, int]


def written(news: News | Processes) -> str:
    """One line, without its end."""
    body = news._asdict() if isinstance(news, Processes) else asdict(news)
    return json.dumps({"news": type(news).__name__, **body})


def read(line: str) -> News | Processes:
    """The news of a line; ValueError or TypeError for another line."""
    body: dict[str, Any] = json.loads(line)
    match body.pop("news"):
        case "Progress":
            advances = [Advance(*advance) for advance in body.pop("advances")]
            return Progress(**body, advances=advances)
        case "Looked":
            return Looked(**body)
        case "Happened":
            return Happened(**body)
        case "Processes":
            return Processes(**body)
        case other:
            raise ValueError(f"no news: {other}")


def order(spec: QuerySpec, scratch: str) -> str:
    """The first line that a driver is told: what to do, and a folder for what is needed meanwhile."""
    return json.dumps({"spec": asdict(spec), "scratch": scratch})


def read_order(line: str) -> tuple[QuerySpec, str]:
    """What `order` wrote."""
    body = json.loads(line)
    spec = body["spec"]
    lists = {name: tuple(spec[name]) for name in ("starts", "jars")}
    return QuerySpec(**{**spec, **lists}), body["scratch"]


@dataclass(slots=True)
class Told:
    """Where news go, from whichever thread."""

    descriptor: int
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, news: News | Processes) -> None:
        """Write one line; a parent that is gone hears nothing."""
        line = written(news).encode() + b"\n"
        with self._lock:
            try:
                while line:
                    line = line[os.write(self.descriptor, line) :]
            except BrokenPipeError:
                return


@dataclass(slots=True)
class Orders:
    """The lines of standard input, read without a buffer that would hide them from `select`."""

    descriptor: int
    _rest: bytes = b""

    def first(self) -> str:
        """The first line, waited for."""
        while b"\n" not in self._rest and (data := os.read(self.descriptor, 65536)):
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def next(self, *, heard: bool) -> list[str]:
        """The lines that have come, those behind the first included; `heard` says that there is something to read.

        Where nobody is there any more, the line that asks for the end.
        """
        if heard:
            data = os.read(self.descriptor, 65536)
            if not data:
                return [STOP]
            self._rest += data
        *lines, self._rest = self._rest.split(b"\n")
        return [line.decode() for line in lines]
