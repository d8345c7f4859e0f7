"""The data folder of an embedded broker: whether it can be used, and whether its disk has room."""

from pathlib import Path
from typing import Final

from streamgauge.cluster import registry
from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.numbers import size
from streamgauge.processes.disk import free_bytes

ROOM_BYTES: Final = 64_000_000
"""What a start and priming write for each node: 40 MB on two cores and at most 53 MB (20,000 messages of 512 bytes a
second), which Kafka removes from the disk a minute after their topic was deleted; and some room for logs."""


def check_name(folder: Path) -> None:
    """Return if data of a broker can be in this folder by its name; otherwise raise BadInput."""
    if "," in str(folder.absolute()):
        what = "Kafka does not support commas in data paths"
        raise BadInput.single(f"data folder {folder}", what, "Name a folder without one")


def check_data(data: Path) -> None:
    """Return if a broker can use the folder; otherwise raise BadInput that says why not."""
    check_name(data)
    where = f"data folder {data}"
    if data.exists() and not data.is_dir():
        raise BadInput.single(where, "is not a folder", "Name a folder, or one that does not exist yet")
    user = next((each for each in registry.listing() if data.resolve() in {each.data, each.cluster}), None)
    if user:
        what = f"is in use by {user.name} at {user.bootstrap} (process {user.process.pid})"
        raise BadInput.single(where, what, "Use that broker, stop it, or name another folder")


def check_room(data: Path, nodes: int) -> None:
    """Return if the disk has room for nodes that start and are primed; otherwise raise BadInput that says so."""
    free, most = free_bytes(data), nodes * ROOM_BYTES
    if free is not None and free < most:
        needed = f"{'a broker needs' if nodes == 1 else f'{nodes} nodes need'} {size(most)}"
        what = f"its disk has {size(free)} left; {needed}"
        raise BadInput.single(f"data folder {data}", what, "Free space, or choose a folder on another disk")
