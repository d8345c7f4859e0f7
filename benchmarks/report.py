"""The report of half an hour: time to write it and its figures, its size, and time to render and to use it."""

import argparse
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page
from tools.browser import browser

from benchmarks.common import call, heading, idle_share, spread
from benchmarks.gold import Long, make
from streamgauge.domain.folder.facts import RunFolder

MB = 1e6
BARS = "at most 15 s for the report, 5 s more with --figures, 4 MB of report.html, 2 s in the browser, 50 ms a move"
MOVES = 100
SETTLED_MS = 500

WATCH = """new MutationObserver(() => requestAnimationFrame(() => setTimeout(() => {
  window.drawnAfterMs = performance.now();
}))).observe(document, {attributes: true, subtree: true, attributeFilter: ["data-figures"]})"""
"""Notes when the page says that all figures are drawn, and has been painted."""

LISTEN = """() => {
  window.answeredAfterMs = [];
  const channel = new MessageChannel();
  const begun = [];
  channel.port1.onmessage = () => window.answeredAfterMs.push(performance.now() - begun.shift());
  addEventListener("pointermove", event => {
    begun.push(event.timeStamp);
    requestAnimationFrame(() => channel.port2.postMessage(null));
  });
}"""
"""Notes how long after each move of the pointer what it shows has been painted: a message that is sent before a frame
is painted arrives after that."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=int, default=1_800)
    options.add_argument("--rates", type=int, nargs="+", default=[250, 10_000], help="messages a second")
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    heading(f"Report: tables of {chosen.seconds:,} s, all metrics, twelve partitions, eight processes, to all exports")
    print(f"The machine was {idle_share():.0%} idle before. Bars: {BARS}.\n")
    print(
        "| messages/s | rows of latency_buckets | report, s | CPU s | --figures more, s | report.html, MB "
        "| rendered, s | pointer move p95, ms |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for rate in chosen.rates:
        with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as place:
            folder = RunFolder(Path(place) / "run")
            rows = make(folder, Long(chosen.seconds, rate))
            rounds = [_round(folder) for _ in range(chosen.rounds)]
            size = folder.report.stat().st_size / MB
        seconds, cpus, more, drawn, moves = zip(*rounds, strict=True)
        cells = [*(spread(values, digits=1) for values in (seconds, cpus, more)), f"{size:.2f}", spread(drawn)]
        cells.append(spread(moves, digits=1))
        print(f"| {rate:,} | {rows:,} | {' | '.join(cells)} |", flush=True)


def _round(folder: RunFolder) -> tuple[float, float, float, float, float]:
    """Seconds and CPU seconds of `report`, seconds that `--figures` takes more, and what a browser takes."""
    command = [sys.executable, "-m", "streamgauge", "report", str(folder.root)]
    plain, with_figures = call(command), call([*command, "--figures"])
    drawn, moved = in_browser(folder.report)
    more = with_figures.wall_seconds - plain.wall_seconds
    return plain.wall_seconds, plain.cpu_seconds, more, drawn, moved


def in_browser(report: Path) -> tuple[float, float]:
    """Seconds until all figures are on the screen, and the milliseconds in which 95 % of pointer moves are answered.

    From the beginning of the navigation, in a browser of its own; from the event to the painted text.
    """
    with browser() as started:
        page, seconds = painted(started, report)
        if page.evaluate("document.documentElement.dataset.figures") != "drawn":
            raise SystemExit("a figure could not be drawn")
        return seconds, _moved(page)


def painted(started: Browser, file: Path) -> tuple[Page, float]:
    """A page in a browser once all of it has been painted, and the seconds from the beginning of the navigation."""
    page = started.new_page(viewport={"width": 1400, "height": 900})
    page.add_init_script(WATCH)
    page.goto(file.as_uri())
    while not page.evaluate("window.drawnAfterMs"):
        page.wait_for_timeout(50)
    return page, float(page.evaluate("window.drawnAfterMs")) / 1e3


def _moved(page: Page) -> float:
    """The 95th percentile over moves through the figure of the latency."""
    place = page.locator("#latency .chart")
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    if box is None:
        raise SystemExit("the figure of the latency is not there")
    # Nobody points at a figure before the page has come to rest where they scrolled to.
    page.wait_for_timeout(SETTLED_MS)
    page.evaluate(LISTEN)
    for move in range(MOVES):
        page.mouse.move(box["x"] + box["width"] * (0.1 + 0.8 * move / MOVES), box["y"] + box["height"] / 2)
    while page.evaluate("window.answeredAfterMs.length") < MOVES:
        page.wait_for_timeout(50)
    found: list[float] = sorted(page.evaluate("window.answeredAfterMs"))
    return found[MOVES * 95 // 100 - 1]


if __name__ == "__main__":
    main()
