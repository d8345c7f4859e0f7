"""What exports share: files that are written whole or not at all, and run folders that are read or refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pydantic import ValidationError

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.events import FORMAT_VERSION
from streamgauge.domain.runfolder import RunFacts, RunFolder


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """The unfinished name to write under; the file is renamed to `path` at the end, and removed if anything fails.

    Raises AnalysisError where it cannot be written.
    """
    unfinished = path.with_name(f"_{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield unfinished
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise AnalysisError(f"{path} cannot be written: {error.strerror or error}") from error


@contextmanager
def reading(table: Path) -> Iterator[None]:
    """Raises AnalysisError, with the remedy, where a gold table turns out to be unreadable."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise AnalysisError(f"{table} cannot be read: {error}; analyse the run again") from error


def read_facts(folder: RunFolder) -> RunFacts:
    """run.json; raises AnalysisError where it cannot be read, or is of a format that this version does not know."""
    try:
        facts = RunFacts.model_validate_json(folder.facts.read_bytes())
    except (OSError, ValidationError) as error:
        raise AnalysisError(f"{folder.facts} cannot be read: {error}") from error
    if facts.format > FORMAT_VERSION:
        raise AnalysisError(
            f"{folder.facts}: format {facts.format} is newer than this version reads ({FORMAT_VERSION}); "
            "use a newer version of streamgauge"
        )
    return facts
