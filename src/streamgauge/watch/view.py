"""The live view of a terminal: how far the run is, rates, latency of the last second, warnings, and a small curve."""

from collections import deque
from typing import Final, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from streamgauge.domain.look import Look
from streamgauge.domain.text.numbers import UNKNOWN, milliseconds, per_second, percent, significant, whole
from streamgauge.watch.progress import RunProgress, held_in_words, progress

CURVE_SECONDS: Final = 60
"""How many looks back the curve reaches."""
_STEPS: Final = " ▁▂▃▄▅▆▇█"
_PLAIN_STEPS: Final = " .:-=+*#"
_BAR_WIDTH: Final = 30
_LABEL: Final = 13
_ROLES: Final = ("producer", "consumer", "broker", "supervisor")


class View:
    """A table that is drawn again at every look, below what was said."""

    def __init__(self, target_rate: float | None, console: Console) -> None:
        self._target_rate = target_rate
        self._console = console
        # Drawn when there is something new, never by a thread of its own.
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._look: Look | None = None
        self._said: RunProgress | None = None
        self._rates: deque[float] = deque(maxlen=CURVE_SECONDS)
        self._shown = False

    def say(self, text: str) -> None:
        """A line above the table, which stays."""
        self._console.print(Text(text, style="dim"), soft_wrap=True)

    def show(self, look: Look) -> None:
        """The table as it is now."""
        said = progress(self._target_rate, self._look, look, self._said)
        self._look, self._said = look, said
        rate = said.received if said.received is not None else said.acked
        if rate is not None and look.stage in {"warmup", "measure", "drain"}:
            self._rates.append(max(0.0, rate))
        if look.stage == "starting":
            return
        if not self._shown:
            self._shown = True
            self._live.start()
        self._live.update(table(said, list(self._rates), ascii_only=self._console.options.ascii_only), refresh=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """The table goes; what was said stays."""
        if self._shown:
            self._live.stop()


def table(said: RunProgress, rates: list[float], *, ascii_only: bool = False) -> RenderableType:
    """The progress as a table of at most 80 columns."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="bold", width=_LABEL)
    grid.add_column()
    grid.add_row(said.stage, _how_far(said))
    names = {"target": said.target_rate, "sent": said.sent, "acked": said.acked, "received": said.received}
    stages = [f"{name} {per_second(max(0.0, rate))}" for name, rate in names.items() if rate is not None]
    grid.add_row("rate", Text("  ".join(stages) or UNKNOWN))
    grid.add_row("", Text(curve(rates, ascii_only=ascii_only), style="green"))
    grid.add_row("p50, p99 now", Text("  ".join(_latencies(said)) or UNKNOWN))
    if said.outstanding is not None:
        grid.add_row("outstanding", Text(whole(said.outstanding)))
    if said.lag is not None:
        grid.add_row("committed lag", Text(whole(said.lag)))
    if said.held is not None:
        grid.add_row("backpressure", Text(held_in_words(said.held), style="yellow" if said.held.paused else ""))
    if said.failed:
        grid.add_row("failed", Text(whole(said.failed), style="bold red"))
    used = [f"{role} {said.cores[role]:.2f}" for role in _ROLES if role in said.cores]
    idle = [] if said.idle is None else [f"machine {percent(max(0.0, said.idle))} idle"]
    grid.add_row("cores", Text("   ".join([*used, *idle]) or UNKNOWN))
    return Group(grid, *(Text(f"  ! {warning}", style="yellow") for warning in said.warnings))


def _how_far(said: RunProgress) -> RenderableType:
    """A bar and the time left, where the end is known."""
    if not said.seconds_of:
        return Text(f"{said.seconds:.0f} s")
    row = Table.grid(padding=(0, 1))
    row.add_column(width=_BAR_WIDTH)
    row.add_column()
    done = min(said.seconds, said.seconds_of)
    left = f"{done:.0f} of {said.seconds_of:.0f} s, {said.seconds_of - done:.0f} s left"
    row.add_row(ProgressBar(total=said.seconds_of, completed=done, width=_BAR_WIDTH), Text(left))
    return row


def _latencies(said: RunProgress) -> list[str]:
    paths = {"ack": said.ack_ms, "end-to-end": said.end_to_end_ms}
    return [f"{path} {significant(p50)}, {milliseconds(p99)}" for path, (p50, p99) in paths.items() if p99 is not None]


def curve(rates: list[float], *, ascii_only: bool = False) -> str:
    """The rates as a row of bars; the highest one fills its cell, and none stays empty that is not zero."""
    steps = _PLAIN_STEPS if ascii_only else _STEPS
    highest = max(rates, default=0.0)
    if highest <= 0:
        return ""
    top = len(steps) - 1
    return "".join(steps[max(1, round(rate / highest * top)) if rate > 0 else 0] for rate in rates)
