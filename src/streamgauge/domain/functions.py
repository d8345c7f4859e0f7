"""Functions that users bring, named like `package.module:name`."""

import contextlib
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Final

from streamgauge.domain.errors import WorkerError

JOB_ARGUMENTS: Final = ("messages",)
"""What a job of the user's is called with."""
ORACLE_ARGUMENTS: Final = ("key", "value")
"""What the oracle of such a job is called with."""


def load_function(name: str, arguments: Sequence[str], folder: str = ".") -> Callable[..., Any]:
    """The function of this name, its module imported from the folder or from where Python looks.

    Raises WorkerError, with the reason, where there is none or where it cannot be called with these arguments.
    """
    module, _, path = name.partition(":")
    # As `python -m` has it, and a command that was installed has not.
    if (here := str(Path(folder).resolve())) not in sys.path:
        sys.path.append(here)
    try:
        found = reduce(getattr, path.split("."), importlib.import_module(module))
    except (Exception, SystemExit) as error:  # a module of a user may raise anything while it is imported
        raise WorkerError(f"{name}: cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise WorkerError(f"{name}: a value of type {type(found).__name__}, not a function")
    try:
        # Some functions that are not written in Python do not tell what they take: those are tried.
        with contextlib.suppress(ValueError):
            inspect.signature(found).bind(*arguments)
    except TypeError as error:
        raise WorkerError(f"{name}: cannot be called with ({', '.join(arguments)}): {error}") from error
    loaded: Callable[..., Any] = found
    return loaded
