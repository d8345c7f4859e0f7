"""The folder of an experiment on disk: made, held, and its record written whole or not at all."""

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from streamgauge.domain.errors import BadInput, RecordError
from streamgauge.experiments.paths import ExperimentFolder, SearchFolder
from streamgauge.experiments.record import ExperimentRecord
from streamgauge.experiments.search.record import SearchRecord
from streamgauge.processes import disk
from streamgauge.processes.lock import FolderLock
from streamgauge.runs.conduct.folder import new_folder

_Record = TypeVar("_Record", ExperimentRecord, SearchRecord)


def make_experiment(out: Path, name: str) -> ExperimentFolder:
    """A new folder below `out`; a second one within the same second gets a number.

    Raises BadInput if it cannot be created.
    """
    folder = ExperimentFolder(new_folder(out, name, "experiments"))
    folder.runs.mkdir()
    return folder


def many_of(path: Path) -> ExperimentFolder | None:
    """The experiment or the search of which a folder is; None of any other folder."""
    return next((each for each in (ExperimentFolder(path), SearchFolder(path)) if each.record.exists()), None)


def held(folder: ExperimentFolder) -> FolderLock:
    """Be the only one who carries out this experiment or search; or raise BadInput; also where there is none."""
    where = str(folder.root)
    try:
        lock = FolderLock.exclusive(folder.runs)
    except OSError as error:
        raise _is_none(folder, "it has no folder `runs`") from error
    if lock is None:
        raise BadInput.single(where, f"this {folder.command} is still being carried out", "Wait until it has ended")
    return lock


def write_record(folder: ExperimentFolder, record: ExperimentRecord | SearchRecord) -> None:
    """Write experiment.json or search.json; raises RecordError, and leaves the one before, where it cannot."""
    write_whole(folder.record, record.model_dump_json(indent=2, by_alias=True) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all; raises RecordError."""
    try:
        with disk.whole(path, synced=True) as draft:
            draft.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error.strerror}") from error


def read_record(folder: ExperimentFolder) -> ExperimentRecord:
    """experiment.json; raises BadInput where there is none that this version can read."""
    return _read(folder, ExperimentRecord)


def read_search(folder: SearchFolder) -> SearchRecord:
    """search.json; raises BadInput where there is none that this version can read."""
    return _read(folder, SearchRecord)


def _read(folder: ExperimentFolder, model: type[_Record]) -> _Record:
    where, name, newest = str(folder.root), folder.record.name, model.model_fields["format"].default
    try:
        content = folder.record.read_bytes()
    except OSError as error:
        raise _is_none(folder, f"it has no readable {name}") from error
    try:
        record = model.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        what = f"{name} cannot be read: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise BadInput.single(where, what, "Restore the file; the runs are not affected") from error
    if record.format > newest:
        what = f"format {record.format} is newer than this version reads ({newest})"
        raise BadInput.single(where, what, "Use a newer version of streamgauge")
    return record


def _is_none(folder: ExperimentFolder, why: str) -> BadInput:
    what = f"not the folder of {'an' if folder.command[0] in 'aeiou' else 'a'} {folder.command}: {why}"
    return BadInput.single(str(folder.root), what, f"Name a folder made by `streamgauge {folder.command}`")
