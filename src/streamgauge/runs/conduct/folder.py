"""The folder of a run: how it is made, and what is left of it if the run ends before its load."""

import contextlib
import shutil
from pathlib import Path
from typing import Final

from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.record.facts import give_back, read_facts
from streamgauge.runs.conduct.waiting import IN_VAIN

_MOST: Final = 1000


def make_folder(out: Path, run_id: str) -> RunFolder:
    """A new run folder below `out`; a second run within the same second gets a number.

    Raises BadInput if it cannot be created, or if there are 1,000 already.
    """
    folder = RunFolder(new_folder(out, run_id, "runs"))
    folder.logs.mkdir()
    folder.events.mkdir()
    return folder


def new_folder(out: Path, name: str, what: str) -> Path:
    """A folder of this name below `out`, or of the name and a number; raises BadInput if it cannot be created.

    `what` names what is in such folders, for people.
    """
    for attempt in range(1, _MOST + 1):
        root = out / (name if attempt == 1 else f"{name}-{attempt}")
        try:
            root.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise BadInput.single(
                f"--out {out}", f"cannot be written: {error.strerror}", "Name another folder"
            ) from error
        return root
    raise BadInput.single(f"--out {out}", f"contains {_MOST:,} {what} with this timestamp", "Name another folder")


def left_in_vain(folder: RunFolder) -> str:
    """Remove a run that was interrupted before its load, but for what knows topics of a cluster; what is left."""
    if folder.facts.exists():
        facts = read_facts(folder)
        if not facts.broker.embedded and facts.made:
            give_back(folder)
            return f"{IN_VAIN}; {folder.root} is kept, so that `streamgauge topics` finds the topics that it created"
    shutil.rmtree(folder.root, ignore_errors=True)
    return f"{IN_VAIN}, and nothing was kept"


def remove_empty(folder: RunFolder) -> None:
    """Where nothing was recorded nothing is left, not even a folder; logs that say why stay."""
    with contextlib.suppress(OSError):
        give_back(folder)
    for path in (folder.logs, folder.events, folder.root):
        with contextlib.suppress(OSError):
            path.rmdir()
