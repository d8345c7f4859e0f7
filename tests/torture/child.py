"""The program as a process on a terminal: what it says, who belongs to it, and how it ended."""

import os
import pty
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

import psutil
from tests.marked import marked
from tests.waiting import until

HERE: Final = Path(__file__).parent


class Child:
    """One call of the program; every process that comes of it has a mark in its environment."""

    def __init__(self, words: list[str], environ: dict[str, str]) -> None:
        ours, theirs = pty.openpty()
        self._terminal: int | None = ours
        self._said = b""
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "program.py"), *words], stdin=theirs, stdout=theirs, stderr=theirs,
            env={**os.environ, **environ}, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def text(self) -> str:
        """What it has said so far."""
        return self._said.decode(errors="replace")

    def await_words(self, words: str, seconds: float, meanwhile: Callable[[], object]) -> bool:
        """Whether it said so before it ended; fails when it does neither in time. `meanwhile` is called all along."""
        until(lambda: (meanwhile(), words in self.text or self.process.poll() is not None)[1], seconds)
        return words in self.text

    def type(self, keys: bytes) -> None:
        """Type on its terminal."""
        if self._terminal is not None:
            os.write(self._terminal, keys)

    def hang_up(self) -> None:
        """Close its terminal."""
        terminal, self._terminal = self._terminal, None
        self._reader.join(5)
        if terminal is not None:
            os.close(terminal)

    def family(self) -> list[psutil.Process]:
        """The program's process and all that came of it and live."""
        try:
            program = psutil.Process(self.process.pid)
            return [program, *program.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def found(self, mark: str) -> psutil.Process | None:
        """The process of the family whose command line has a mark; None where there is none."""
        for each in self.family()[1:]:
            try:
                if any(mark in word for word in each.cmdline()):
                    return each
            except psutil.NoSuchProcess:
                continue
        return None

    def _read(self) -> None:
        while (terminal := self._terminal) is not None:
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(terminal, 65536)
            except OSError:
                return
            if not data:
                return
            self._said += data


def left_of(mark: dict[str, str], besides: Collection[int] = ()) -> list[str]:
    """Command lines of the processes whose environment has a mark, `besides` some."""
    living = (each.info for each in marked(mark))
    return [
        " ".join(each["cmdline"] or [])[:200]
        for each in living
        if each["status"] != psutil.STATUS_ZOMBIE and each["pid"] not in besides
    ]
