"""Where the program keeps files of its own between commands, by the habits of each system."""

from pathlib import Path
from typing import Final

import platformdirs

_NAME: Final = "streamgauge"


def cache_folder() -> Path:
    """What can be fetched or made again: `XDG_CACHE_HOME` on Linux, `~/.cache` where that is not set."""
    return platformdirs.user_cache_path(_NAME, appauthor=False)


def archive_folder() -> Path:
    """Where archives of Java classes are kept."""
    return cache_folder() / "archives"


def state_folder() -> Path:
    """What must not be forgotten: `XDG_STATE_HOME` on Linux, `~/.local/state` where that is not set."""
    return platformdirs.user_state_path(_NAME, appauthor=False)
