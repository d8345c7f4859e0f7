"""`function`: the user's own job."""

import sys
import zipfile
from pathlib import Path

from pyspark.sql import DataFrame

from streamgauge.domain.errors import WorkerError
from streamgauge.processes.functions import JOB_ARGUMENTS, load_function


def call(name: str, folder: str, messages: DataFrame) -> DataFrame:
    """What the function of this name makes of the messages.

    Raises WorkerError where it cannot be imported, raises something, or returns no streaming DataFrame.
    """
    function = load_function(name, JOB_ARGUMENTS, folder)
    try:
        made = function(messages)
    except Exception as error:  # a function of a user may raise anything
        said = str(error).strip().partition("\n")[0]
        raise WorkerError(f"{name}: raised {type(error).__name__}: {said}") from error
    if not isinstance(made, DataFrame):
        raise WorkerError(f"{name}: returned a value of type {type(made).__name__}, not a DataFrame")
    if messages.isStreaming and not made.isStreaming:
        raise WorkerError(f"{name}: returned a DataFrame that is not streaming; derive it from the argument")
    return made


def shipped(name: str, folder: str, scratch: Path) -> Path | None:
    """The file that brings the function's module to processes elsewhere; None where it is installed.

    A module of the folder as it is, a package of the folder as a zip file.
    """
    top = name.partition(":")[0].partition(".")[0]
    file = getattr(sys.modules.get(top), "__file__", None)
    home = Path(folder).resolve()
    if file is None or home not in Path(file).resolve().parents:
        return None
    path = Path(file).resolve()
    return path if path.name != "__init__.py" else _zipped(path.parent, scratch / f"{top}.zip")


def _zipped(package: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(package.parent))
    return target
