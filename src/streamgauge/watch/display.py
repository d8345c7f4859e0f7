"""Who tells the user what goes on: a live view on a terminal, lines in a pipe, or nobody."""

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Final, Protocol, Self

from streamgauge.domain.look import Look
from streamgauge.watch.progress import RunProgress, in_one_line, progress

LINE_SECONDS = 10.0
"""Between two lines of a log; a warning comes at once."""
_NUMBER: Final = re.compile(r"(?<![\w-])\d[\d,.]*")


def is_live(environment: Mapping[str, str], *, terminal: bool) -> bool:
    """Whether a view that is drawn over itself can be read: not in CI, and not on a terminal that cannot do it."""
    return terminal and not environment.get("CI") and environment.get("TERM") not in {"dumb", "unknown"}


class Display(AbstractContextManager["Display"], Protocol):
    """Tells in words what begins, and shows how the run stands. Begins and ends as a context."""

    def say(self, text: str) -> None:
        """What begins or happened, in words."""
        ...

    def show(self, look: Look) -> None:
        """How the run stands now."""
        ...


class Quiet:
    """Says nothing."""

    def say(self, text: str) -> None:
        """Nothing."""

    def show(self, look: Look) -> None:
        """Nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left to do."""


class Lines:
    """One line now and then, and one for each new warning: for pipes, logs and CI."""

    def __init__(self, target_rate: float | None, write: Callable[[str], None], every: float = LINE_SECONDS) -> None:
        self._target_rate = target_rate
        self._write = write
        self._every_ns = round(every * 1e9)
        self._look: Look | None = None
        self._said: RunProgress | None = None
        self._line_ns: int | None = None
        self._warned: set[str] = set()

    def say(self, text: str) -> None:
        """The text as a line."""
        self._write(text)

    def show(self, look: Look) -> None:
        """A line where the last is old enough, and the warnings that are new."""
        said = progress(self._target_rate, self._look, look, self._said)
        self._look, self._said = look, said
        for warning in said.warnings:
            if (kind := _kind(warning)) not in self._warned:
                self._warned.add(kind)
                self._write(f"warning: {warning}")
        if self._line_ns is None:
            # The first look has no rates yet.
            self._line_ns = look.at_ns
        elif look.at_ns - self._line_ns >= self._every_ns and look.stage in {"warmup", "measure", "drain"}:
            self._line_ns = look.at_ns
            self._write(in_one_line(said))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left to do."""


class Unfailing:
    """Shows what another display shows; what cannot be written is dropped, and the run goes on.

    A terminal may be closed, and the signal that tells of it comes later than the first write that fails.
    """

    def __init__(self, display: Display) -> None:
        self._display = display

    def say(self, text: str) -> None:
        """What begins or happened, in words."""
        with suppress(OSError):
            self._display.say(text)

    def show(self, look: Look) -> None:
        """How the run stands now."""
        with suppress(OSError):
            self._display.show(look)

    def __enter__(self) -> Self:
        with suppress(OSError):
            self._display.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Whatever the other display does at the end."""
        with suppress(OSError):
            self._display.__exit__(None, None, None)


def _kind(warning: str) -> str:
    """A warning without its numbers: the same one again is not new. A digit in a name is no number."""
    return _NUMBER.sub("", warning)
