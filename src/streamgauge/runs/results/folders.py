"""Which folders are runs, and what is in their files."""

from contextlib import suppress
from pathlib import Path

from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.pages.page import plain
from streamgauge.runs.experiment.folder import many_of


def run_folders(folder: Path) -> list[RunFolder]:
    """The runs of a folder; raises BadInput where it cannot be looked into."""
    return [run for path in _subfolders(folder) if is_run(run := RunFolder(path))]


def _subfolders(folder: Path) -> list[Path]:
    mend = "Name the folder with the runs, or create a first run: `streamgauge run baseline`"
    try:
        return [path for path in folder.iterdir() if path.is_dir()]
    except OSError as error:
        what = (
            "there is no such folder" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        )
        raise BadInput.single(f"DIR {plain(str(folder))}", what, mend) from error


def is_run(folder: RunFolder) -> bool:
    """Whether a run put it there, even one that was killed, or whose files were lost."""
    with suppress(PermissionError):
        if many_of(folder.root):
            return False
        return any(path.exists() for path in (folder.facts, folder.result, folder.events))
    return False


def content(path: Path) -> bytes | None:
    """What is in a file; nothing, which is no JSON, where it is there and cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError:
        return b""
