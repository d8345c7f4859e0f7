"""Functions that users bring, named like `package.module:name`."""

import contextlib
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from functools import partial, reduce
from importlib.machinery import ModuleSpec
from pathlib import Path
from pkgutil import get_importer
from types import ModuleType
from typing import Any, Final

from streamgauge.domain.errors import BadValue, WorkerError

JOB_ARGUMENTS: Final = ("messages",)
"""What a job of the user's is called with."""
ORACLE_ARGUMENTS: Final = ("key", "value")
"""What the oracle of such a job is called with."""
_OURS: Final = frozenset({__name__.partition(".")[0], "__main__"})


def load_function(name: str, arguments: Sequence[str], folder: str = ".") -> Callable[..., Any]:
    """The function of this name, its module imported from the folder or from where Python looks.

    Raises WorkerError, with the reason, where there is none, where it is not the user's, or where it cannot be called
    with these arguments.
    """
    found = find_function(name, folder)
    try:
        # Some functions that are not written in Python do not tell what they take: those are tried.
        with contextlib.suppress(ValueError):
            inspect.signature(found).bind(*arguments)
    except TypeError as error:
        raise WorkerError(f"{name}: cannot be called with ({', '.join(arguments)}): {error}") from error
    return found


def find_function(name: str, folder: str = ".") -> Callable[..., Any]:
    """The function of this name, imported; raises WorkerError where there is none, or where it is not the user's.

    What belongs to Python itself is refused before anything is imported, and again by what was found: a module of the
    user's may have it under a name of its own.
    """
    module, _, path = name.partition(":")
    if why := not_of_users(module):
        raise WorkerError(f"{name}: {why}")
    # As `python -m` has it, and a command that was installed has not.
    if (here := str(Path(folder).resolve())) not in sys.path:
        sys.path.append(here)
    try:
        found = reduce(getattr, path.split("."), importlib.import_module(module))
    except (Exception, SystemExit) as error:  # a module of a user may raise anything while it is imported
        raise WorkerError(f"{name}: cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise WorkerError(f"{name}: a value of type {type(found).__name__}, not a function")
    if why := not_of_users(home_of(found)):
        raise WorkerError(f"{name}: {why}")
    function: Callable[..., Any] = found
    return function


def not_of_users(module: str) -> BadValue | None:
    """Why the functions of a module are not called for a scenario; None for a module of a user's.

    Python's own would make a scenario a program: `builtins:exec` runs what messages say.
    """
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        what, mend = "a function of Python itself, not of yours", "Define one in a module of your own that calls it"
        return BadValue(what, mend)
    if top in _OURS:
        return BadValue("a function of Streamgauge itself", "Define one in a module of your own")
    return None


def home_of(function: Any) -> str:
    """The name of the module that a function is defined in, also where another module has it under its own name."""
    while isinstance(function, partial):
        function = function.func
    module = getattr(function, "__module__", None)
    if isinstance(module, str):
        return module
    # What is written in C may tell no module: then it is that of what it belongs to.
    owner = getattr(function, "__self__", function)
    return owner.__name__ if isinstance(owner, ModuleType) else type(owner).__module__


def files_of(module: str, folder: str = ".") -> list[Path] | None:
    """The files that the import of a module runs, those of its packages first; nothing is imported to know them.

    None where there is no such module, and where any of it is not a file.
    """
    files: list[Path] = []
    within: Sequence[str] | None = None
    names = module.split(".")
    for depth, last in enumerate(names, start=1):
        spec = _spec(".".join(names[:depth]), within, folder) if last else None
        if spec is None:
            return None
        within = spec.submodule_search_locations
        if spec.has_location and spec.origin:
            files.append(Path(spec.origin))
        elif within is None:
            return None
        if within is None and depth < len(names):
            return None
    return files or None


def _spec(name: str, within: Sequence[str] | None, folder: str) -> ModuleSpec | None:
    """Where a module is, as an import would find it: in its package, or anywhere, and last in the folder."""
    if within is not None:
        return _spec_below(name, within)
    finders = [find for each in sys.meta_path if (find := getattr(each, "find_spec", None))]
    found = next((spec for find in finders if (spec := find(name, None))), None)
    return _spec_below(name, [str(Path(folder).resolve())]) if found is None else found


def _spec_below(name: str, places: Sequence[str]) -> ModuleSpec | None:
    """Where a module is in one of these folders; Python's own way to look there needs its packages to be imported."""
    portions: list[str] = []
    for place in places:
        finder = get_importer(place)
        spec = finder.find_spec(name) if finder else None
        if spec is not None and spec.loader is not None:
            return spec
        portions += (spec.submodule_search_locations or []) if spec else []
    spread = ModuleSpec(name, None)
    spread.submodule_search_locations = portions
    return spread if portions else None
