"""Reports in a real browser: how tests make them, open them, and look at what is drawn."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import FloatRect, Page

from streamgauge.domain.clock import monotonic_ns
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.assemble.result import write_result
from streamgauge.report.figures import catalogue
from streamgauge.report.figures.drawing.figure import Figure
from streamgauge.report.pages.html import to_html
from streamgauge.report.publish import tables_of

PLACES: Final[dict[str, Any]] = {
    "rates": "overview", "latency": "overview", "lag": "overview", "cpu": "overview", "ack-latency": "latency",
    "percentiles": "latency", "heat": "latency", "cdf": "latency", "schedule_delay": "diagnostics",
    "partition-load": "diagnostics",
}  # fmt: skip
"""Where figures stand in these tests, whatever their sections are in the product."""
WAIT_NS: Final = 30 * 10**9
POLL_MS: Final = 20


class Seen:
    """A page, and whatever it complained about or asked for."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.set_default_timeout(WAIT_NS / 1e6)
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())
        self.wait("document.documentElement.dataset.figures")

    def ask(self, script: str) -> Any:
        return self.page.evaluate(script)

    def wait(self, condition: str) -> None:
        """Wait until a condition holds. Playwright's own way needs `eval`, which the page forbids."""
        deadline = monotonic_ns() + WAIT_NS
        while not self.ask(condition):
            assert monotonic_ns() < deadline, condition
            self.page.wait_for_timeout(POLL_MS)

    def unfold(self) -> None:
        """Unfold all, and wait for the figures in it."""
        self.ask("document.querySelectorAll('main details').forEach(each => { each.open = true; })")
        self.wait("[...document.querySelectorAll('[data-figure]')].every(each => each.dataset.drawn)")

    def plot(self, name: str) -> FloatRect:
        """Where the plot of a figure is on the screen, which it is brought to."""
        place = self.page.locator(f"#{name} .chart")
        place.scroll_into_view_if_needed()
        box = place.locator("svg.marks .background").first.bounding_box()
        assert box is not None
        return box

    def point(self, name: str, across: float, down: float = 0.5) -> None:
        """Move the pointer to a place of a plot, in shares of its width and height."""
        box = self.plot(name)
        self.page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])

    def drag(self, name: str, begin: float, end: float) -> None:
        """Draw the pressed pointer over a plot."""
        self.point(name, begin)
        self.page.mouse.down()
        self.point(name, (begin + end) / 2)
        self.point(name, end)
        self.page.mouse.up()


See = Callable[..., Seen]


def phased(facts: dict[str, Any], _tables: object, drain_s: int = 0) -> None:
    """A run that lasts from second -2 to second 10, with a warm-up; and with a drain after that."""
    ends = {"warmup": (0, 2), "measure": (2, 12), "drain": (12, 12 + drain_s)}
    facts["phases"] = [
        {"name": name, "from_ns": begin * 10**9, "to_ns": end * 10**9} for name, (begin, end) in ends.items()
    ]


def report(folder: RunFolder, change: Callable[[Figure], Figure] = lambda figure: figure) -> Path:
    """The report of a run, with its figures as `change` makes them."""
    result = write_result(folder)
    figures = catalogue.figures(result, tables_of(folder, print))
    figures = [replace(figure, section=PLACES.get(figure.name, figure.section)) for figure in figures]
    folder.report.write_text(to_html(result, [change(figure) for figure in figures]))
    return folder.report
