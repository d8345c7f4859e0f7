"""Ways to starve the workers of a run at random, for benchmarks that ask what its figures are worth then."""

import contextlib
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns

_SERVER: Final = "streamgauge.engine.worker.forking"
"""What forks workers, which have its command line."""
_PERIOD_SECONDS: Final = 0.1
HOG: Final = "while True: pass"
_WRITES: Final = """
import os, sys
with open(sys.argv[1], "wb") as file:
    while True:
        file.seek(0)
        file.write(bytes(32 << 20))
        file.flush()
        os.fsync(file.fileno())
"""
Way = Generator[float]
"""Does something to the workers, and yields for how many seconds; closed, it undoes it."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is starved, and with what luck."""

    workers: Sequence[psutil.Process]
    draw: random.Random
    folder: Path
    """Where the workers write their rows."""


def _hog(target: Target) -> Way:
    """Other processes want the cores."""
    with beside(target.draw.randint(1, 3), HOG):
        yield from _for_ever()


def _same_core(target: Target) -> Way:
    """A worker shares one core with a process that never waits."""
    worker, core = target.draw.choice(target.workers), target.draw.choice(psutil.Process().cpu_affinity())
    before = worker.cpu_affinity()
    with beside(1, HOG) as hogs:
        hogs[0].cpu_affinity([core])
        worker.cpu_affinity([core])
        try:
            yield from _for_ever()
        finally:
            _quietly(lambda: worker.cpu_affinity(before))


def _nice(target: Target) -> Way:
    """Workers have a low priority, beside processes that want all cores."""
    for worker in target.workers:
        worker.nice(target.draw.randint(3, 12))
    with beside(2, HOG):
        yield from _for_ever()


def _quota(target: Target) -> Way:
    """All workers stand still for a part of every 100 ms, as a CPU quota makes them."""
    stopped = target.draw.uniform(0.1, 0.6) * _PERIOD_SECONDS
    while True:
        yield from _stand(target.workers, stopped)
        yield _PERIOD_SECONDS - stopped


def _stops(target: Target) -> Way:
    """One worker at a time is stopped, now and then."""
    while True:
        yield target.draw.uniform(0.2, 2.0)
        yield from _stand([target.draw.choice(target.workers)], target.draw.uniform(0.05, 0.5))


def _slow_disk(target: Target) -> Way:
    """The disk that takes the rows is busy."""
    with beside(2, _WRITES, str(target.folder / "busy")):
        yield from _for_ever()


WAYS: Final[Mapping[str, Callable[[Target], Way]]] = {
    "hog": _hog,
    "same core": _same_core,
    "nice": _nice,
    "quota": _quota,
    "stops": _stops,
    "slow disk": _slow_disk,
}


def drawn(draw: random.Random) -> tuple[str, ...]:
    """One way, or two or three at once."""
    return tuple(sorted(draw.sample(sorted(WAYS), draw.choice((1, 1, 1, 2, 2, 3)))))


@contextlib.contextmanager
def starved(ways: Sequence[str], draw: random.Random, seconds: float, folder: Path) -> Iterator[None]:
    """Starve the workers that this process starts in the block, in some or all of so many seconds."""
    over = threading.Event()
    # Each with luck of its own: threads would share it in another order each time.
    drivers = [
        threading.Thread(target=_drive, args=(WAYS[way], random.Random(draw.random()), seconds, folder, over))
        for way in ways
    ]
    for driver in drivers:
        driver.start()
    try:
        yield
    finally:
        over.set()
        for driver in drivers:
            driver.join()


def _drive(
    way: Callable[[Target], Way], draw: random.Random, seconds: float, folder: Path, over: threading.Event
) -> None:
    while not (workers := _workers()):
        if over.wait(0.05):
            return
    lasts = seconds if draw.random() < 0.5 else draw.uniform(0.1, 0.6) * seconds
    if over.wait(draw.uniform(0.0, seconds - lasts)):
        return
    end_ns = monotonic_ns() + int(lasts * NS_PER_SECOND)
    with contextlib.closing(way(Target(workers, draw, folder))) as steps, contextlib.suppress(psutil.Error):
        for pause in steps:
            left = (end_ns - monotonic_ns()) / NS_PER_SECOND
            if left <= 0 or over.wait(min(pause, left)):
                return


def _workers() -> list[psutil.Process]:
    """The producers and consumers of the run that goes on."""
    found = []
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if each.ppid() != os.getpid() and _SERVER in " ".join(each.cmdline()):
                found.append(each)
    return found


def _stand(workers: Sequence[psutil.Process], seconds: float) -> Way:
    """Workers stand still for so long."""
    try:
        for worker in workers:
            worker.suspend()
        yield seconds
    finally:
        for worker in workers:
            _quietly(worker.resume)


def _for_ever() -> Way:
    while True:
        yield 60.0


@contextlib.contextmanager
def beside(count: int, code: str, *arguments: str) -> Iterator[list[psutil.Process]]:
    """Some processes that run this code until the block ends."""
    command = [sys.executable, "-c", code, *arguments]
    begun = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield [psutil.Process(each.pid) for each in begun]
    finally:
        for each in begun:
            each.kill()
            each.wait()


def _quietly(undo: Callable[[], object]) -> None:
    """Undo something, if what it was done to is still there."""
    with contextlib.suppress(psutil.Error):
        undo()
