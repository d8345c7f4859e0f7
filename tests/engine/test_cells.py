"""What shared cells say of a run whose supervisor was killed, as tables."""

from typing import Any

import pytest

from streamgauge.domain.folder.facts import BrokerFacts, Phase, RunFacts, WorkerFacts
from streamgauge.engine.supervise.cells import KILLED, Claims, after_death, describe, read_claims

PLANNED = [Phase(name="warmup", from_ns=100, to_ns=200), Phase(name="measure", from_ns=200, to_ns=500)]


def facts(**changes: Any) -> RunFacts:
    values: dict[str, Any] = {
        "id": "r", "name": "x", "tag": 1, "created": "2026-01-01T00:00:00Z", "wall_ns": 1, "monotonic_ns": 2,
        "command": ["streamgauge"], "scenario": {}, "versions": {}, "machine": {},
        "broker": BrokerFacts(embedded=True, bootstrap="127.0.0.1:9"), "topics": [], "groups": [],
        "workers": [
            WorkerFacts(name="producer-0..1", role="producer", number=0, members=[0, 1]),
            WorkerFacts(name="consumer-0", role="consumer", number=0, members=[0]),
        ],
        "phases": PLANNED, "cells": "/memory/cells",
    }  # fmt: skip
    return RunFacts(**{**values, **changes})


def test_cells_tell_whose_they_are_and_how_far_producers_came() -> None:
    """From the file alone, by the places that are written behind the cells."""
    cells = b"".join(number.to_bytes(8, "little") for number in (0, 7_000, 0, 12, 34))

    assert read_claims(cells + describe("/runs/a", 8, {0: 24, 1: 32})) == Claims("/runs/a", 7_000, {0: 12, 1: 34})


@pytest.mark.parametrize(
    "content",
    [
        b"", b"short", bytes(4096), b"\xff" * 4096,
        describe("/runs/a", 8, {0: 1 << 40}), describe("/runs/a", -5, {}),
        b"[]" + (2).to_bytes(8, "little"), b'{"run": "x"}' + (12).to_bytes(8, "little"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_cells_is_refused(content: bytes) -> None:
    """Also one whose description leads out of it."""
    with pytest.raises(ValueError, match=r"not the shared cells|too short"):
        read_claims(content)


@pytest.mark.parametrize(
    ("alive_ns", "expected", "ended_ns"),
    [
        (50, [("warmup", 50, 50), ("measure", 50, 50)], 50),
        (150, [("warmup", 100, 150), ("measure", 150, 150)], 150),
        (300, [("warmup", 100, 200), ("measure", 200, 300)], 300),
        (500, [("warmup", 100, 200), ("measure", 200, 500)], 500),
        (600, [("warmup", 100, 200), ("measure", 200, 500), ("drain", 500, 600)], 500),
    ],
)
def test_phases_end_where_the_supervisor_was_last_alive(
    alive_ns: int, expected: list[tuple[str, int, int]], ended_ns: int
) -> None:
    """What came after the planned end of the load was the drain."""
    after = after_death(facts(), Claims("/runs/a", alive_ns, {0: 12, 1: 34}))

    assert [(phase.name, phase.from_ns, phase.to_ns) for phase in after.phases] == expected
    assert after.load_ended_ns == ended_ns
    assert [worker.next_seqs for worker in after.workers] == [[12, 34], None]
    assert (after.ending, after.cells, after.reasons) == (None, None, [KILLED])


def test_without_cells_nobody_knows_how_far_producers_came() -> None:
    """They are gone after a restart of the machine: the plan stays, and that the supervisor was killed."""
    after = after_death(facts(), None)

    assert after.phases == PLANNED
    assert [worker.next_seqs for worker in after.workers] == [None, None]
    assert after.load_ended_ns is None
    assert after_death(after, None).reasons == [KILLED]


def test_before_the_load_there_is_no_end_of_it() -> None:
    """The run was killed while it started: no phases were planned yet."""
    after = after_death(facts(phases=[], workers=[]), Claims("/runs/a", 0, {0: 0}))

    assert (after.phases, after.load_ended_ns, after.cells) == ([], None, None)
