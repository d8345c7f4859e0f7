"""Tables are replaced all together or not at all, however the replacing ends."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.pipeline.writing import write_tables

NAMES = ("latency", "throughput", "verdict")


def tables(value: int) -> dict[str, pa.Table]:
    return {name: pa.table({"value": [value]}) for name in NAMES}


def values(folder: RunFolder) -> list[int]:
    return [pq.read_table(folder.table(name))["value"][0].as_py() for name in NAMES]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run with the tables of an earlier analysis, and something else beside them."""
    folder = RunFolder(tmp_path)
    write_tables(folder, tables(1))
    (folder.tables / "mine.txt").touch()
    return folder


def test_tables_are_replaced_and_nothing_else_is_touched(folder: RunFolder) -> None:
    (folder.tables / "_gone.parquet").touch()
    write_tables(folder, tables(2))
    assert values(folder) == [2, 2, 2]
    assert {each.name for each in folder.tables.iterdir()} == {"mine.txt", *(f"{name}.parquet" for name in NAMES)}


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_where_a_table_cannot_be_written_all_stay_as_they_were(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    write = pq.write_table

    def full(table: Any, file: Any, **options: Any) -> None:
        if Path(file.name).name == "_throughput.parquet":
            raise error
        write(table, file, **options)

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises((AnalysisError, KeyboardInterrupt)) as raised:
        write_tables(folder, tables(2))
    if isinstance(error, OSError):
        assert str(raised.value) == f"{folder.table('throughput')} cannot be written: No space left on device"
    assert values(folder) == [1, 1, 1]
    assert not [each for each in folder.tables.iterdir() if each.name.startswith("_")]


def test_all_are_on_the_disk_before_the_first_gets_its_name(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def noting(call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def note(*given: Any) -> Any:
            done.append(name)
            return call(*given)

        return note

    monkeypatch.setattr(os, "fsync", noting(os.fsync, "sync"))
    monkeypatch.setattr(Path, "replace", noting(Path.replace, "name"))
    write_tables(folder, tables(2))
    assert done == ["sync"] * 4 + ["name"] * 3 + ["sync"]


KILLED = """
import os, sys
from pathlib import Path
import pyarrow as pa
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.pipeline.writing import write_tables
replace, left = Path.replace, [int(sys.argv[2])]
def killed(path, to):
    if not left[0]:
        os.kill(os.getpid(), 9)
    left[0] -= 1
    return replace(path, to)
Path.replace = killed
write_tables(RunFolder(Path(sys.argv[1])), {name: pa.table({"value": [2]}) for name in sys.argv[3:]})
"""


@pytest.mark.parametrize("replaced", [0, 1, 2])
@pytest.mark.slow
def test_one_that_is_killed_amid_the_names_leaves_a_sign_and_the_next_heals_it(
    folder: RunFolder, replaced: int
) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, str(folder.root), str(replaced), *NAMES], check=False)
    assert ended.returncode == -9
    assert values(folder) == [2] * replaced + [1] * (3 - replaced)
    assert folder.replacing.exists()

    write_tables(folder, tables(2))
    assert values(folder) == [2, 2, 2]
    assert not [each for each in folder.tables.iterdir() if each.name.startswith("_")]
