"""Faults of a cluster at random moments, and what makes it notice them sooner."""

import random
from collections.abc import Mapping
from typing import Any, Final

SOONER: Final[Mapping[str, str]] = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


def times(seed: int, count: int, least: float, most: float) -> list[float]:
    """When faults begin, in seconds: the first after 5 s, the others at random times after the one before."""
    rng = random.Random(seed)
    at = [5.0]
    while len(at) < count:
        at.append(at[-1] + rng.uniform(least, most))
    return at


def repeated(what: Mapping[str, Any], at: list[float]) -> list[dict[str, Any]]:
    """The same at these times, in seconds."""
    return [{"at": f"{each:.3f}s", **what} for each in at]


def leader_kills(seed: int, count: int, partitions: int, lasting_s: int = 4) -> list[dict[str, Any]]:
    """The leader of one of the partitions is killed, for so long each."""
    rng = random.Random(-seed)
    kills = repeated({"kind": "kill", "for": f"{lasting_s}s"}, times(seed, count, lasting_s + 12, lasting_s + 20))
    return [{**each, "target": f"leader-of:{rng.randrange(partitions)}"} for each in kills]


def last_second(faults: list[dict[str, Any]]) -> float:
    """When the last one begins."""
    return float(faults[-1]["at"].removesuffix("s"))
