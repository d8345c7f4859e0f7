"""Files and mounts that a case left."""

import contextlib

from tests.torture.place import Place

from streamgauge.cluster import registry
from streamgauge.cluster.disks.mounts import points_below
from streamgauge.engine.supervise.local import memory_folder
from streamgauge.processes.scratch import ANALYSIS, Scratch


def mounts_in(place: Place) -> list[str]:
    """Faults: something of ours is still mounted there."""
    return [f"left behind: mount {point}" for point in points_below(place.root)]


def left_in(place: Place) -> list[str]:
    """Faults: a file is left, but in run folders, when the next start and the next analysis have cleared away."""
    with place.entered():
        registry.sweep()
        # What was killed cannot remove its scratch folder: the next analysis does.
        Scratch(ANALYSIS).close()
    found = [path for path in place.temporary.rglob("*") if path.is_file()]
    found += place.out.glob("*/broker")
    # Of brokers nothing is left at all: no entry, no claim, no outage, and no file that was to become one of them.
    found += place.state.glob("**/brokers/*")
    runs = {str(path) for path in place.out.iterdir()}
    for file in memory_folder().glob("streamgauge-cells-*"):
        with contextlib.suppress(OSError):
            if any(run.encode() in file.read_bytes() for run in runs):
                found.append(file)
    return [f"left behind: {path}" for path in found] + mounts_in(place)
