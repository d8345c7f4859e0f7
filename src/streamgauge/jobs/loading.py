"""Functions that users bring, named like `package.module:name`."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamgauge.domain.errors import WorkerError


def load(call: str, folder: str) -> Callable[..., Any]:
    """The function of this name, its module looked for in the folder first.

    Raises WorkerError, with the reason, where it cannot be imported or is no function.
    """
    module, _, name = call.partition(":")
    here = str(Path(folder).resolve())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # a module of a user may raise anything while it is imported
        raise WorkerError(f"{call}: cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise WorkerError(f"{call}: a value of type {type(found).__name__}, not a function")
    loaded: Callable[..., Any] = found
    return loaded
