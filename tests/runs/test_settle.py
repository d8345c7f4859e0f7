"""Rows that others owe for a producer that died: each message that was taken up or due has one, and only one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamgauge.domain.folder.facts import BrokerFacts, Phase, RunFacts, RunFolder, WorkerFacts
from streamgauge.engine.produce.loop import Sending
from streamgauge.engine.produce.schedule import CHUNK
from streamgauge.record.parts import PartSink
from streamgauge.runs.rows.settle import MessageSource, settle, sources_of_scenario
from streamgauge.scenario import parse
from streamgauge.workload.pacing.constant import constant

START, MEASURE, END = 1_000, 1_000_001_000, 2_000_001_000
"""Two seconds of load, the second of which is measured."""
RATE = 10.0
DUE = 20
"""Messages that are due in them."""


def facts(*workers: WorkerFacts, **changes: Any) -> RunFacts:
    phases = [Phase(name="warmup", from_ns=START, to_ns=MEASURE), Phase(name="measure", from_ns=MEASURE, to_ns=END)]
    values: dict[str, Any] = {
        "id": "r", "name": "x", "tag": 1, "created": "2026-01-01T00:00:00Z", "wall_ns": 1, "monotonic_ns": 2,
        "command": ["streamgauge"], "scenario": {}, "versions": {}, "machine": {},
        "broker": BrokerFacts(embedded=True, bootstrap="127.0.0.1:9"), "topics": [], "groups": [],
        "workers": list(workers), "phases": phases, "load_ended_ns": END, "ending": "finished",
    }  # fmt: skip
    return RunFacts(**{**values, **changes})


def producer(next_seq: int | None, exit_code: int | None = -9, number: int = 0) -> WorkerFacts:
    next_seqs = None if next_seq is None else [next_seq]
    return WorkerFacts(
        name=f"producer-{number}", role="producer", number=number, exit_code=exit_code, next_seqs=next_seqs
    )


def record(folder: RunFolder, seqs: list[int], errors: Mapping[int, str] | None = None) -> None:
    """What producer 0 wrote itself."""
    unknown = dict.fromkeys(("transaction", "admitted_ns", "handed_ns", "waited_ns", "polled_ns"))
    sink = PartSink(folder, "sent", "producer-0", {"topic": 0, "producer": 0} | unknown)
    said = errors or {}
    rest = dict.fromkeys(("partition", "offset", "due_ns", "sent_ns", "acked_ns", "size_bytes"))
    sink.append({**rest, "seq": np.array(seqs, np.int64), "error": [said.get(seq) for seq in seqs]}, len(seqs))
    sink.close()


def rows(folder: RunFolder) -> list[dict[str, Any]]:
    files = [str(path) for path in folder.events.glob("sent/worker=*/part-*.parquet")]
    found = ds.dataset(files).to_table().to_pylist() if files else []
    return sorted(found, key=lambda row: (row["producer"], row["seq"]))


def errors_of(folder: RunFolder) -> list[tuple[int, str | None]]:
    return [(row["seq"], row["error"]) for row in rows(folder)]


SCHEDULED = {0: MessageSource((0,), Sending(constant(RATE, 0, 1)))}
UNPACED = {0: MessageSource((3, 5), Sending())}


def test_a_message_that_was_taken_up_and_has_no_report_is_of_unknown_fate(tmp_path: Path) -> None:
    """With its due time; what was due afterwards was never sent."""
    folder = RunFolder(tmp_path)
    record(folder, [0, 1, 3])

    settle(folder, facts(producer(6)), SCHEDULED)

    errors = ["fate_unknown" if seq in {2, 4, 5} else "unsent" if seq > 5 else None for seq in range(DUE)]
    assert errors_of(folder) == list(enumerate(errors))
    due_ns = (START + constant(RATE, 0, 1).due_ns(0, DUE)).tolist()
    assert [row["due_ns"] for row in rows(folder) if row["error"]] == [due_ns[2], *due_ns[4:]]
    assert all(row["sent_ns"] is None and row["topic"] == 0 for row in rows(folder))


def test_without_a_schedule_the_same_without_due_times(tmp_path: Path) -> None:
    """And nothing was due afterwards; topics take turns."""
    folder = RunFolder(tmp_path)

    settle(folder, facts(producer(3)), UNPACED)

    assert errors_of(folder) == [(seq, "fate_unknown") for seq in range(3)]
    assert [(row["topic"], row["due_ns"]) for row in rows(folder)] == [(3, None), (5, None), (3, None)]


def test_doing_it_again_changes_nothing(tmp_path: Path) -> None:
    """Whoever finds the folder later may not know that it was done; nor may it have been finished."""
    folder = RunFolder(tmp_path)
    record(folder, [0, 1, 3])
    settle(folder, facts(producer(6)), SCHEDULED)
    once = rows(folder)

    settle(folder, facts(producer(6)), SCHEDULED)

    assert rows(folder) == once


def test_rows_beyond_what_was_taken_up_stay_the_only_ones(tmp_path: Path) -> None:
    """A producer records what it passes over before it says so; it may die in between."""
    folder = RunFolder(tmp_path)
    record(folder, [0, 1, 2, 3, 4], {3: "unsent", 4: "unsent"})

    settle(folder, facts(producer(3)), SCHEDULED)

    assert errors_of(folder) == [(seq, None if seq < 3 else "unsent") for seq in range(DUE)]


@pytest.mark.parametrize(
    ("worker", "ending", "expected"),
    [
        (producer(3, exit_code=0), "finished", 3),
        (producer(3, exit_code=0), "interrupted", DUE),
        (producer(3, exit_code=1), "failed", DUE),
        (producer(3, exit_code=0), "failed", DUE),
        (producer(3, exit_code=None), None, DUE),
        (producer(None), "failed", 3),
    ],
    ids=["in order", "stopped at once", "failed", "aborted", "everything killed", "nobody knows"],
)
def test_the_rest_of_a_schedule_is_told_of_those_who_could_not(
    tmp_path: Path, worker: WorkerFacts, ending: str | None, expected: int
) -> None:
    """Who ended in order has recorded it; where nobody knows how far a producer came, nobody can tell."""
    folder = RunFolder(tmp_path)
    record(folder, [0, 1, 2])

    settle(folder, facts(worker, ending=ending), SCHEDULED)

    assert len(rows(folder)) == expected


def test_rows_that_a_living_producer_could_not_write_are_made_up_for(tmp_path: Path) -> None:
    """Its disk was full for a moment: it ended in order, and two rows are missing."""
    folder = RunFolder(tmp_path)
    record(folder, [0, 2])

    settle(folder, facts(producer(4, exit_code=0)), SCHEDULED)

    assert errors_of(folder) == [(0, None), (1, "fate_unknown"), (2, None), (3, "fate_unknown")]


def test_a_number_of_messages_ends_the_schedule(tmp_path: Path) -> None:
    """Ten of the warm-up and three that are measured: no message more was ever to be sent."""
    folder = RunFolder(tmp_path)
    counted = {0: MessageSource((0,), Sending(constant(RATE, 0, 1), measured_messages=3))}

    settle(folder, facts(producer(4)), counted)

    assert [seq for seq, _ in errors_of(folder)] == list(range(13))


def test_gaps_far_apart_have_their_own_due_times(tmp_path: Path) -> None:
    """Due times are looked up in chunks; a gap at the border of two belongs to both."""
    folder = RunFolder(tmp_path)
    fast = {0: MessageSource((0,), Sending(constant(100_000.0, 0, 1)))}
    missing = [5, CHUNK - 1, CHUNK, 3 * CHUNK + 7]
    record(folder, [seq for seq in range(4 * CHUNK) if seq not in missing])

    settle(folder, facts(producer(4 * CHUNK, exit_code=0)), fast)

    found = {row["seq"]: row["due_ns"] for row in rows(folder) if row["error"] == "fate_unknown"}
    assert found == {seq: START + int(constant(100_000.0, 0, 1).due_ns(seq, 1)[0]) for seq in missing}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    recorded=st.sets(st.integers(0, DUE - 1)),
    next_seq=st.integers(0, DUE),
    is_scheduled=st.booleans(),
    code=st.sampled_from([0, -9, None]),
)
def test_rows_other_than_unsent_are_the_messages_taken_up(
    tmp_path_factory: pytest.TempPathFactory, recorded: set[int], next_seq: int, is_scheduled: bool, code: int | None
) -> None:
    """Whatever was recorded before the death, in whatever order."""
    folder = RunFolder(tmp_path_factory.mktemp("run"))
    own = sorted(seq for seq in recorded if seq < next_seq)
    if own:
        record(folder, own)

    settle(folder, facts(producer(next_seq, code)), SCHEDULED if is_scheduled else UNPACED)

    found = errors_of(folder)
    assert [seq for seq, error in found if error != "unsent"] == list(range(next_seq))
    assert [seq for seq, error in found if error is None] == own
    rest = list(range(next_seq, DUE)) if is_scheduled and code != 0 else []
    assert [seq for seq, error in found if error == "unsent"] == rest


def test_what_producers_were_to_send_is_known_from_the_scenario() -> None:
    """Also without the file of a replay, but for its due times."""
    plain = {"name": "x", "topic": {"name": "t[0-2]"}, "phases": {"warmup": "1s", "measure": "1s"}}
    scenario = parse({**plain, "load": {"rate": "10/s", "producers": 2, "size": 64}})
    replay = parse({**plain, "load": {"rate": {"replay": {"file": "gone.csv"}}, "producers": 1, "size": 64}})

    assert {number: tuple(source.topics) for number, source in sources_of_scenario(scenario, None).items()} == {
        0: (0, 2), 1: (1,),
    }  # fmt: skip
    assert all(source.sending.pacer for source in sources_of_scenario(scenario, None).values())
    assert sources_of_scenario(replay, None)[0].sending.pacer is None
