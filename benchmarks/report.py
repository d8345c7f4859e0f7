"""The report of half an hour: time to write it and its figures, its size, and time to render it in a browser."""

import argparse
import sys
import tempfile
from pathlib import Path

from tools.browser import browser

from benchmarks.common import call, heading, idle_share, spread
from benchmarks.gold import Long, make
from streamgauge.domain.folder.facts import RunFolder

MB = 1e6
BARS = "at most 15 s for the report, 5 s more with --figures, 4 MB of report.html, 2 s in the browser"

WATCH = """new MutationObserver(() => requestAnimationFrame(() => setTimeout(() => {
  window.drawnAfterMs = performance.now();
}))).observe(document, {attributes: true, subtree: true, attributeFilter: ["data-figures"]})"""
"""Notes when the page says that all figures are drawn, and has been painted."""


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
        "| rendered, s |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    for rate in chosen.rates:
        with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as place:
            folder = RunFolder(Path(place) / "run")
            rows = make(folder, Long(chosen.seconds, rate))
            rounds = [_round(folder) for _ in range(chosen.rounds)]
            size = folder.report.stat().st_size / MB
        seconds, cpus, more, drawn = zip(*rounds, strict=True)
        cells = [*(spread(values, digits=1) for values in (seconds, cpus, more)), f"{size:.2f}", spread(drawn)]
        print(f"| {rate:,} | {rows:,} | {' | '.join(cells)} |", flush=True)


def _round(folder: RunFolder) -> tuple[float, float, float, float]:
    """Seconds and CPU seconds of `report`, seconds that `--figures` takes more, seconds until a browser has drawn."""
    command = [sys.executable, "-m", "streamgauge", "report", str(folder.root)]
    plain, with_figures = call(command), call([*command, "--figures"])
    return plain.wall_seconds, plain.cpu_seconds, with_figures.wall_seconds - plain.wall_seconds, _drawn(folder.report)


def _drawn(report: Path) -> float:
    """From the beginning of the navigation until all figures are on the screen, in a browser of its own."""
    with browser() as started:
        page = started.new_page(viewport={"width": 1100, "height": 900})
        page.add_init_script(WATCH)
        page.goto(report.as_uri())
        page.wait_for_function("window.drawnAfterMs")
        if page.evaluate("document.documentElement.dataset.figures") != "drawn":
            raise SystemExit("a figure could not be drawn")
        return float(page.evaluate("window.drawnAfterMs")) / 1e3


if __name__ == "__main__":
    main()
