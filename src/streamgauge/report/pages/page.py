"""Tables as text: at most 100 columns, in colour where standard output is a terminal that wants it."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.text import Text

from streamgauge.report.pages.belief import Doubted

MIN_WIDTH: Final = 80
MAX_WIDTH: Final = 100
UNBROKEN: Final = len("2026-01-01 12:00:00 UTC")


def page(*parts: RenderableType, colour: bool | None = None, width: int | None = None) -> str:
    """The parts one below the other, as wide as the terminal within limits, and as wide as may be in a pipe.

    Strings are shown as they stand, without markup, and never broken: they are there to be copied. `colour` and `width`
    override what the terminal says.
    """
    wide = None if Console().is_terminal else MAX_WIDTH
    console = console_of(colour, width or wide)
    with console.capture() as captured:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str))
    return "\n".join(line.rstrip() for line in captured.get().rstrip().split("\n"))


def console_of(colour: bool | None, width: int | None) -> Console:
    """A console that only captures: in colour and as wide as standard output, within limits, unless told otherwise."""
    terminal = Console()
    return Console(
        file=io.StringIO(),
        force_terminal=terminal.is_terminal if colour is None else colour,
        width=width or max(MIN_WIDTH, min(MAX_WIDTH, terminal.width)),
        highlight=False,
        emoji=False,
        markup=False,
    )


@dataclass(frozen=True, slots=True)
class Unbroken:
    """Texts side by side, as many on a line as have room; none is broken unless it is longer than a date."""

    parts: Sequence[Text]
    gap: str

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        line = Text(overflow="fold")
        for part in self.parts:
            if line and len(line) + len(self.gap) + len(part) > options.max_width:
                yield line
                line = Text(overflow="fold")
            line = line.append(self.gap if line else "").append_text(part)
        yield line

    def __rich_measure__(self, _console: Console, _options: ConsoleOptions) -> Measurement:
        lengths = [len(part) for part in self.parts]
        return Measurement(min(UNBROKEN, max(lengths)), sum(lengths) + len(self.gap) * (len(lengths) - 1))


def struck(shown: str) -> Text:
    """A figure; what is not believed stands in brackets, and is struck out."""
    return Text(f"({shown})", style="strike dim") if isinstance(shown, Doubted) else Text(shown)


def plain(text: str) -> str:
    """Text from outside, fit for a terminal: whatever would move its cursor or change its colours is a `?`."""
    return "".join(character if character.isprintable() else "?" for character in text)
