"""The folder of a run: how it is made, and what is left of it if the run ends before its load."""

import contextlib
import shutil
from pathlib import Path

from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.record.facts import give_back, read_facts
from streamgauge.runs.conduct.waiting import IN_VAIN


def make_folder(out: Path, run_id: str) -> RunFolder:
    """A new run folder below `out`; a second run within the same second gets a number.

    Raises BadInput if it cannot be created, or if there are 1,000 already.
    """
    for attempt in range(1, 1001):
        root = out / (run_id if attempt == 1 else f"{run_id}-{attempt}")
        try:
            root.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise BadInput.single(
                f"--out {out}", f"cannot be written: {error.strerror}", "Name another folder"
            ) from error
        folder = RunFolder(root)
        folder.logs.mkdir()
        folder.events.mkdir()
        return folder
    raise BadInput.single(f"--out {out}", "contains 1,000 runs with this timestamp", "Name another folder")


def left_in_vain(folder: RunFolder) -> str:
    """Remove a run that was interrupted before its load, but for what knows topics of a cluster; what is left."""
    if folder.facts.exists():
        facts = read_facts(folder)
        if not facts.broker.embedded and any(topic.uuid for topic in facts.topics):
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
