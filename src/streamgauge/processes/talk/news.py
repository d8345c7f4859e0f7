"""What the process of a query tells, and what it is told, each as a line of text."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from streamgauge.domain.query import Advance, Happened, Looked, News, QueryProgress, QuerySpec

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
        case "QueryProgress":
            advances = [Advance(*advance) for advance in body.pop("advances")]
            return QueryProgress(**body, advances=advances)
        case "Looked":
            return Looked(**body)
        case "Happened":
            return Happened(**body)
        case "Processes":
            return Processes(**body)
        case other:
            raise ValueError(f"no news: {other}")


def order(spec: QuerySpec, scratch: str = "") -> str:
    """The first line that is told: what to do, and a folder for what is needed meanwhile, where anything is."""
    return json.dumps({"spec": asdict(spec), "scratch": scratch})


def read_order(line: str) -> tuple[QuerySpec, str]:
    """What `order` wrote."""
    body = json.loads(line)
    spec = body["spec"]
    lists = {name: tuple(spec[name]) for name in ("starts", "jars")}
    return QuerySpec(**{**spec, **lists}), body["scratch"]
