"""The folder of an experiment on disk: made, held, and its record written whole or not at all."""

import os
from pathlib import Path

from pydantic import ValidationError

from streamgauge.domain.errors import BadInput, RecordError
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import FORMAT, ExperimentRecord
from streamgauge.processes.lock import FolderLock
from streamgauge.runs.conduct.folder import new_folder


def make_experiment(out: Path, name: str) -> ExperimentFolder:
    """A new folder below `out`; a second one within the same second gets a number.

    Raises BadInput if it cannot be created.
    """
    folder = ExperimentFolder(new_folder(out, name, "experiments"))
    folder.runs.mkdir()
    return folder


def held(folder: ExperimentFolder) -> FolderLock:
    """Be the only one who carries out this experiment; raises BadInput where somebody else does, or there is none."""
    where = str(folder.root)
    try:
        lock = FolderLock.exclusive(folder.runs)
    except OSError as error:
        what = "not the folder of an experiment: it has no folder `runs`"
        raise BadInput.single(where, what, "Name a folder made by `streamgauge experiment`") from error
    if lock is None:
        raise BadInput.single(where, "this experiment is still being carried out", "Wait until it has ended")
    return lock


def write_record(folder: ExperimentFolder, record: ExperimentRecord) -> None:
    """Write experiment.json; raises RecordError, and leaves the one before, where it cannot be written."""
    write_whole(folder.record, record.model_dump_json(indent=2) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all; raises RecordError."""
    draft = path.with_name(f"_{path.name}")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error.strerror}") from error


def read_record(folder: ExperimentFolder) -> ExperimentRecord:
    """experiment.json; raises BadInput where there is none that this version can read."""
    where = str(folder.root)
    try:
        content = folder.record.read_bytes()
    except OSError as error:
        what = "not the folder of an experiment: it has no readable experiment.json"
        raise BadInput.single(where, what, "Name a folder made by `streamgauge experiment`") from error
    try:
        record = ExperimentRecord.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        what = f"experiment.json cannot be read: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise BadInput.single(where, what, "Restore the file; the runs are not affected") from error
    if record.format > FORMAT:
        what = f"format {record.format} is newer than this version reads ({FORMAT})"
        raise BadInput.single(where, what, "Use a newer version of streamgauge")
    return record
