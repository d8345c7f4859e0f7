"""One worker: a process with one role, told by a specification what to do.

A fork server makes it (`engine.worker.forking`). Where there is none, it is started as `python -c "from
streamgauge.engine.worker.main import main; main()" DESCRIPTOR PARENT`, with a pickled `Start` on standard input. It
exchanges with the supervisor nothing but the cells of its board, whose descriptor it inherits.
"""

import logging
import mmap
import os
import pickle
import signal
import sys
import threading
from dataclasses import dataclass
from typing import Final

from streamgauge.domain import clock
from streamgauge.domain.errors import StreamgaugeError
from streamgauge.engine.board import Cells, Order, State, size_of
from streamgauge.engine.ports.workers import Board, WorkerSpec
from streamgauge.engine.worker.context import Context
from streamgauge.processes.linux import set_short_slice, set_timer_slack, when_orphaned

TOLD_TO_ALL: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, SIGTERM and a closed terminal reach the whole group; the parent decides what they mean."""
_ORPHAN_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Start:
    """What a worker process is told."""

    spec: WorkerSpec
    shape: tuple[int, int, int]
    """Clients, partitions and groups of the cells."""


def map_cells(descriptor: int, shape: tuple[int, int, int]) -> Cells:
    """The cells in a file, shared with all who map it."""
    return Cells(mmap.mmap(descriptor, size_of(*shape)), *shape)


def main() -> None:
    """Be the worker that standard input describes; exit code 1, with the reason left for the parent, if it fails."""
    start: Start = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the parent, through its own pipe
    code = work(start, *map(int, sys.argv[1:]))
    sys.stderr.flush()
    # What a client still tries to say to a broker that is gone must not keep the process.
    os._exit(code)


def work(start: Start, descriptor: int, parent_pid: int) -> int:
    """Do the job of a worker whose cells are behind a descriptor; returns its exit code.

    Where it is 1, the reason stands on the board, or the exception goes on.
    """
    for number in TOLD_TO_ALL:
        signal.signal(number, signal.SIG_IGN)
    # They were blocked until here, which children of ours need not inherit.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, TOLD_TO_ALL)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(message)s")
    spec, board = start.spec, map_cells(descriptor, start.shape)
    set_timer_slack()
    set_short_slice()
    # Who is stopped by a fault cannot see that the parent dies.
    when_orphaned(signal.SIGCONT)
    threading.Thread(target=_watch_parent, args=(parent_pid, board), daemon=True).start()
    context = Context(spec.name, spec.rows, spec.run, spec.open_sink, board)
    try:
        spec.job.run(context)
    except StreamgaugeError as error:
        board.say(spec.rows[0], str(error))
        return 1
    except Exception as error:
        board.say(spec.rows[0], f"{type(error).__name__}: {error}")
        raise
    context.tell(State.DONE)
    return 0


def _watch_parent(parent_pid: int, board: Board) -> None:
    """End the run when the parent is gone: nobody else would."""
    while os.getppid() == parent_pid:
        clock.sleep_seconds(_ORPHAN_SECONDS)
    board.give(Order.ABORT)
