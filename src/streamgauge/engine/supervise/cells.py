"""What the shared cells of a run say to others: which run they are of, and how far its producers had come.

The cells stand in a file in memory while the run runs. Behind them stands, as JSON, where in the file a reader finds
what it needs, so that also another version can read it, and at the very end how long that JSON is.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.folder.facts import Phase, RunFacts, WorkerFacts

PREFIX: Final = "streamgauge-cells-"
"""How the names of such files begin."""
_NUMBER_BYTES: Final = 8
KILLED: Final = "the supervisor was killed"


@dataclass(frozen=True, slots=True)
class Claims:
    """How far a run was when its cells were read."""

    run: str
    """Absolute path of its folder."""
    alive_ns: int
    """When its supervisor was last alive, on the monotonic clock; 0 for not known."""
    next_seqs: Mapping[int, int]
    """Of each producer, the first sequence that it had not taken up."""


def describe(run: str, alive_at: int, next_seqs_at: Mapping[int, int]) -> bytes:
    """What stands behind the cells; places are in bytes from the begin of the file."""
    text = json.dumps({"run": run, "alive_at": alive_at, "next_seqs_at": next_seqs_at}).encode()
    return text + len(text).to_bytes(_NUMBER_BYTES, "little")


def read_claims(content: bytes) -> Claims:
    """What the file of the cells says; raises ValueError where it is none that can be read."""
    length = _number(content, len(content) - _NUMBER_BYTES)
    end = len(content) - _NUMBER_BYTES
    try:
        described = json.loads(content[max(0, end - length) : end])
        return Claims(
            run=str(described["run"]),
            alive_ns=_number(content, int(described["alive_at"])),
            next_seqs={int(name): _number(content, int(at)) for name, at in described["next_seqs_at"].items()},
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"not the shared cells of a run: {error}") from error


def _number(content: bytes, at: int) -> int:
    if not 0 <= at <= len(content) - _NUMBER_BYTES:
        raise ValueError("it is too short")
    return int.from_bytes(content[at : at + _NUMBER_BYTES], "little")


def after_death(facts: RunFacts, claims: Claims | None) -> RunFacts:
    """What can be known of a run whose supervisor was killed: how far its producers were, and that it ended then.

    Without `claims` (the machine was restarted, or the file removed) neither is known.
    """
    if claims is None:
        return facts.model_copy(update={"reasons": _with_reason(facts.reasons, KILLED)})
    workers = [_with_claims(worker, claims) for worker in facts.workers]
    changes: dict[str, object] = {"workers": workers, "cells": None}
    if claims.alive_ns and facts.phases:
        changes["phases"] = _cut(facts.phases, claims.alive_ns)
        changes["load_ended_ns"] = min(claims.alive_ns, facts.phases[-1].to_ns)
    return facts.model_copy(update={**changes, "reasons": _with_reason(facts.reasons, KILLED)})


def _with_claims(worker: WorkerFacts, claims: Claims) -> WorkerFacts:
    if not worker.numbers or worker.role != "producer" or any(each not in claims.next_seqs for each in worker.numbers):
        return worker
    return worker.model_copy(update={"next_seqs": [claims.next_seqs[each] for each in worker.numbers]})


def _cut(phases: Sequence[Phase], alive_ns: int) -> list[Phase]:
    """The phases until the supervisor was last alive; what came after the planned end of the load was the drain."""
    cut = [
        phase.model_copy(update={"from_ns": min(phase.from_ns, alive_ns), "to_ns": min(phase.to_ns, alive_ns)})
        for phase in phases
    ]
    planned_ns = phases[-1].to_ns
    return cut if alive_ns <= planned_ns else [*cut, Phase(name="drain", from_ns=planned_ns, to_ns=alive_ns)]


def _with_reason(reasons: Sequence[str], reason: str) -> list[str]:
    return [*reasons, *([] if reason in reasons else [reason])]
