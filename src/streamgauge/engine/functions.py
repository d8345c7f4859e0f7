"""Functions that users bring, named like `package.module:name`."""

import importlib
import os
import sys
from collections.abc import Callable
from functools import reduce
from typing import Any

from streamgauge.domain.errors import WorkerError


def load_function(name: str) -> Callable[..., Any]:
    """The function of this name, its module imported; raises WorkerError where there is none.

    Modules are looked for where Python looks, the present directory included.
    """
    # As `python -m` has it, and a command that was installed has not.
    if not {"", os.getcwd()} & set(sys.path):  # noqa: PTH109 - as it stands in the path
        sys.path.append(os.getcwd())  # noqa: PTH109
    module, _, path = name.partition(":")
    try:
        function = reduce(getattr, path.split("."), importlib.import_module(module))
    except ImportError as error:
        raise WorkerError(f"{name}: the module cannot be imported: {error}. Check its name and PYTHONPATH") from error
    except AttributeError as error:
        raise WorkerError(f"{name}: {error}. Check the name of the function") from error
    except Exception as error:  # a module of a user may raise anything while it is imported
        raise WorkerError(f"{name}: the module fails when imported: {type(error).__name__}: {error}") from error
    if not callable(function):
        raise WorkerError(f"{name}: is no function but {type(function).__name__}. Name a function")
    loaded: Callable[..., Any] = function
    return loaded
