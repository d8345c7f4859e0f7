"""The logs of a checkpoint: which batches there were, how far they went, and which are done.

A batch is written to `offsets` before it begins (in real-time mode: when it is over), and to `commits` when it is done.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from streamgauge.domain.errors import RecordError

_VERSION: Final = "v1"
_FILE: Final = "file:"


class _WrongLog(Exception):
    """A log of another query."""


@dataclass(frozen=True, slots=True)
class CheckpointBatch:
    """One batch in a checkpoint."""

    number: int
    began_ms: int
    """Wall clock at which its offsets were planned."""
    ends: tuple[int, ...]
    """Of each partition of the source: the first offset that is not in the batch."""
    committed: bool


def local(folder: str) -> Path | None:
    """Where the checkpoint is in this machine; None where it is kept by something else, like S3."""
    if folder.startswith(_FILE):
        return Path("/" + folder.removeprefix(_FILE).lstrip("/"))
    return None if "://" in folder else Path(folder)


def batches(folder: str, topic: str) -> list[CheckpointBatch]:
    """The batches that a checkpoint knows, by number; the last hundred at least, and none where there is no checkpoint.

    A last file that is not whole counts as not written. Raises RecordError for a checkpoint that is broken, or that
    belongs to a query of other topics.
    """
    root = local(folder)
    if root is None:
        return []
    done = {number for number, _ in _files(root / "commits")}
    found, files = [], list(_files(root / "offsets"))
    for number, path in files:
        try:
            found.append(_batch(number, path.read_text(encoding="utf-8"), topic, committed=number in done))
        except FileNotFoundError:
            # Spark removes what is old.
            continue
        except _WrongLog as error:
            raise RecordError(f"the checkpoint {folder} cannot be used: offsets/{number} {error}") from error
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if (number, path) == files[-1] and number not in done:
                break
            raise RecordError(
                f"the checkpoint {folder} is broken: offsets/{number} is not in Spark's format"
            ) from error
    return found


def check(folder: str, topic: str) -> None:
    """Raises RecordError for a checkpoint from which no query could go on."""
    root = local(folder)
    if root is None or not (batches(folder, topic) or (root / "metadata").exists()):
        return
    try:
        name = "metadata"
        json.loads((root / name).read_text(encoding="utf-8"))["id"]
        for number, path in _files(root / "commits")[-1:]:
            name = f"commits/{number}"
            _check_version(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RecordError(f"the checkpoint {folder} is broken: {name} is missing") from error
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RecordError(f"the checkpoint {folder} is broken: {name} is not in Spark's format") from error


def _check_version(text: str) -> None:
    if not text.startswith(f"{_VERSION}\n"):
        raise ValueError(text)


def committed_ends(folder: str, topic: str) -> tuple[int, ...] | None:
    """How far each partition is done; None where no batch is. Raises RecordError for a broken checkpoint."""
    return next((batch.ends for batch in reversed(batches(folder, topic)) if batch.committed), None)


def size_bytes(folder: str) -> int:
    """Bytes of all files of a checkpoint; 0 where there is none in this machine."""
    root = local(folder)
    return sum(_sizes(root)) if root is not None else 0


def _sizes(folder: Path) -> Iterator[int]:
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                yield path.stat().st_size
        except OSError:
            # Gone since it was listed.
            continue


def _files(folder: Path) -> list[tuple[int, Path]]:
    """The files of a log by their numbers; those with other names are not finished, or checksums."""
    try:
        return sorted((int(path.name), path) for path in folder.iterdir() if path.name.isdecimal())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _batch(number: int, text: str, topic: str, *, committed: bool) -> CheckpointBatch:
    _check_version(text)
    _, told, first, *others = text.splitlines()
    began_ms = int(json.loads(told)["batchTimestampMs"])
    found = [offsets for offsets in map(_offsets, (first, *others)) if topic in offsets]
    if not found:
        raise _WrongLog(f"does not contain the topic {topic}")
    ends = {int(partition): int(end) for partition, end in found[0][topic].items()}
    return CheckpointBatch(number, began_ms, tuple(ends[at] for at in sorted(ends)), committed)


def _offsets(line: str) -> Mapping[str, Any]:
    """The offsets of one source; none for a source that had nothing, which is written as a hyphen."""
    read = {} if line == "-" else json.loads(line)
    return read if isinstance(read, dict) else {}
