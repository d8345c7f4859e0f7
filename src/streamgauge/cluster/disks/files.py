"""What is done to the files of a broker that was killed."""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

_INTERNAL: Final = "__"
"""How the names of Kafka's own topics begin."""
_IDENTITY: Final = "meta.properties"
_METADATA: Final = "__cluster_metadata-0"
"""Where earlier versions kept the metadata log: among the topics."""
_SEGMENTS: Final = "*.log"


def empty(directories: Iterable[Path]) -> None:
    """Remove all that lies in log directories but what says whose they are, and metadata: no broker starts without."""
    for directory in directories:
        for path in directory.iterdir():
            if path.is_dir():
                if path.name != _METADATA:
                    shutil.rmtree(path)
            elif path.name != _IDENTITY:
                path.unlink()


def cut_tails(directories: Iterable[Path], count: int) -> int:
    """Cut so many bytes off the end of each partition, at most its last segment; returns how many were cut in all.

    Kafka's own topics are left alone. OSError where nothing was cut.
    """
    cut = 0
    for segment in _last_segments(directories):
        size = segment.stat().st_size
        kept = max(0, size - count)
        with segment.open("r+b") as file:
            file.truncate(kept)
        cut += size - kept
    if not cut:
        raise OSError("no partition on it has a message")
    return cut


def _last_segments(directories: Iterable[Path]) -> Iterator[Path]:
    """The segment of each partition that messages were last written to."""
    for directory in directories:
        for partition in sorted(directory.iterdir()):
            if partition.is_dir() and not partition.name.startswith(_INTERNAL):
                yield from sorted(partition.glob(_SEGMENTS))[-1:]
