"""run.json: written whole, read with one clear message for what is wrong."""

import errno
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from streamgauge.domain.errors import BadInput, RecordError
from streamgauge.domain.folder.facts import BrokerFacts, Phase, RunFacts, RunFolder, WorkerFacts
from streamgauge.processes.cpu.groups import Groups
from streamgauge.processes.cpu.quotas import Quota
from streamgauge.record.facts import RESERVED_BYTES, give_back, machine, read_facts, versions, write_facts


def facts(**changes: Any) -> RunFacts:
    values: dict[str, Any] = {
        "id": "r", "name": "x", "tag": 1, "created": "2026-01-01T00:00:00Z", "wall_ns": 1, "monotonic_ns": 2,
        "command": ["streamgauge"], "scenario": {}, "versions": {}, "machine": {},
        "broker": BrokerFacts(embedded=True, bootstrap="127.0.0.1:9"), "topics": [], "groups": [],
    }  # fmt: skip
    return RunFacts(**{**values, **changes})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Phases and workers too; no temporary file stays."""
    written = facts(
        phases=[Phase(name="measure", from_ns=1, to_ns=2)], workers=[WorkerFacts(name="w", role="r", number=0)]
    )
    write_facts(RunFolder(tmp_path), written)

    assert read_facts(RunFolder(tmp_path)) == written
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_file_of_format_1_is_read(tmp_path: Path) -> None:
    """It has no profile, and stays what it is when it is written again."""
    first = {key: value for key, value in json.loads(facts().model_dump_json()).items() if key != "profile"}
    (tmp_path / "run.json").write_text(json.dumps({**first, "format": 1}), encoding="utf-8")

    assert read_facts(RunFolder(tmp_path)) == facts(format=1, profile=None)


def test_a_scenario_of_an_older_version_has_the_names_of_today(tmp_path: Path) -> None:
    """Whoever looks at an old run knows only those."""
    scenario = {"name": "x", "consume": {"consumers": 1, "in_hand": 7, "processing": {"drop": 0.1, "delay": "1ms"}}}
    document = {**json.loads(facts().model_dump_json()), "format": 1, "scenario": scenario}
    folder = RunFolder(tmp_path)
    folder.facts.write_text(json.dumps(document))

    consume = {"consumers": 1, "buffer": 7, "processing": {"skip": 0.1, "delay": "1ms"}}
    assert read_facts(folder).scenario == {"name": "x", "consume": consume}


def test_keys_of_a_later_version_of_the_same_format_are_passed_over(tmp_path: Path) -> None:
    """The format is additive."""
    text = json.loads(facts().model_dump_json())
    (tmp_path / "run.json").write_text(json.dumps({**text, "mood": "good"}), encoding="utf-8")

    assert read_facts(RunFolder(tmp_path)) == facts()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "not a run folder: it has no readable run.json"),
        ("", "run.json has unexpected content"),
        ('{"format": 1}', "run.json has unexpected content: id: Field required"),
        (facts(format=99).model_dump_json(), "format 99 is newer than this version reads"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, text: str | None, expected: str) -> None:
    """With place and remedy."""
    if text is not None:
        (tmp_path / "run.json").write_text(text, encoding="utf-8")

    with pytest.raises(BadInput) as caught:
        read_facts(RunFolder(tmp_path))

    assert expected in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_a_folder_that_is_gone_is_an_error_of_the_record(tmp_path: Path) -> None:
    """Not a traceback."""
    with pytest.raises(RecordError, match="cannot be written: No such file or directory"):
        write_facts(RunFolder(tmp_path / "gone"), facts())


def test_the_facts_of_the_machine_are_plain_values() -> None:
    """What is unknown is null."""
    found = machine()

    assert json.loads(json.dumps(found)) == found
    assert found["cores"] >= found["usable_cores"] >= 1
    assert found["memory_bytes"] > found["memory_available_bytes"] > 0
    assert {"python", "streamgauge", "confluent-kafka", "pyspark"} <= versions().keys()


def test_the_next_facts_have_room_on_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room was kept for them: they are written into blocks that the file has already."""
    folder, room = RunFolder(tmp_path), tmp_path / "_run.json"
    write_facts(folder, facts(), reserve=True)
    kept = room.stat()
    assert kept.st_blocks * 512 >= RESERVED_BYTES

    said = facts(reasons=["the disk is full" * 100])
    monkeypatch.setattr(os, "posix_fallocate", _full)
    write_facts(folder, said)

    assert read_facts(folder) == said
    assert folder.facts.stat().st_ino == kept.st_ino
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_facts_that_find_no_room_at_the_begin_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing has been recorded yet."""
    monkeypatch.setattr(os, "posix_fallocate", _full)

    with pytest.raises(RecordError, match=r"run.json: cannot be written: No space left on device"):
        write_facts(RunFolder(tmp_path), facts(), reserve=True)


def test_room_that_was_reserved_stays_where_there_is_none_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fills up before the load: what is planned is not written, and why the run failed still fits."""
    folder, room = RunFolder(tmp_path), tmp_path / "_run.json"
    write_facts(folder, facts(), reserve=True)
    kept = room.stat()
    monkeypatch.setattr(os, "posix_fallocate", _full)
    with pytest.raises(RecordError):
        write_facts(folder, facts(reasons=["planned"]), reserve=True)
    assert read_facts(folder) == facts()
    assert room.stat().st_ino == kept.st_ino

    write_facts(folder, facts(reasons=["full"]))

    assert read_facts(folder).reasons == ["full"]
    assert folder.facts.stat().st_ino == kept.st_ino
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_what_the_killed_had_begun_to_reserve_goes_with_the_next_facts(tmp_path: Path) -> None:
    """And what is reserved for facts that nobody will write is given back."""
    folder = RunFolder(tmp_path)
    (tmp_path / "_next-run.json").touch()
    write_facts(folder, facts())
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]

    write_facts(folder, facts(), reserve=True)
    give_back(folder)
    give_back(folder)

    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def _full(_descriptor: int, _begin: int, _size: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("quota", "cores"), [(None, None), (Quota(math.inf, 100_000_000), None), (Quota(1.5, 100_000_000), 1.5)]
)
def test_a_quota_that_is_not_set_is_null(
    quota: Quota | None, cores: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON knows no infinity."""
    monkeypatch.setattr(Groups, "quota", lambda _: quota)

    assert machine()["cpu_quota_cores"] == cores
