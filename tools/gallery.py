"""Make docs/images/gallery: pictures of reports of shipped scenarios. `python -m tools.gallery RUNS [--only NAME ...]`.

Runs and pages go to the folder RUNS; what is there is not measured again. Needs chromium. docs/gallery.md shows them.
"""

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser

from tools.browser import browser
from tools.picture import opened, save

FOLDER: Final = Path(__file__).parents[1] / "docs" / "images" / "gallery"
WIDTH: Final = 1120
MOST_BYTES: Final = 100_000
SHOW: Final = """wanted => {
    const keep = element => wanted.some(name => element.id === name || element.querySelector(`[id="${name}"]`));
    for (const section of document.querySelectorAll("main > section:not(.cards)"))
        if (!keep(section)) section.remove();
    for (const section of document.querySelectorAll("main > section:not(.cards)"))
        for (const part of section.querySelectorAll("h2, .wide, section > p, .pair, dl, .figures > *"))
            if (!keep(part)) part.remove();
    // Of many variants, each has a sentence of its own.
    for (const line of [...document.querySelectorAll("#verdict > p > b")].slice(3)) line.parentElement.remove();
    const beside = ".side, .parts, .checks, .skip, .saving, .switches, .anchor, noscript";
    for (const part of document.querySelectorAll(beside)) part.remove();
    document.body.style.display = "block";
    for (const part of document.querySelectorAll(".figures")) {
        part.style.gridTemplateColumns = "1fr";
        part.style.marginTop = "1.5rem";
    }
    dispatchEvent(new Event("resize"));
}"""
"""Leaves the verdict, as far as it is short, the key figures and these figures of a page."""
END: Final = """() => {
    const bottoms = [...document.querySelectorAll("main > *")].map(part => part.getBoundingClientRect().bottom);
    return Math.max(...bottoms) + scrollY;
}"""


@dataclass(frozen=True, slots=True)
class Shown:
    """One picture: the runs that it is of, with their settings, and the figures that it shows.

    Several runs are compared; those of an experiment are its variants, those of a search its steps.
    """

    name: str
    figures: tuple[str, ...]
    runs: tuple[tuple[str, ...], ...] = ()
    experiment: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    """The scenario, and options."""


SHORT: Final = ("phases.warmup=3s", "phases.measure=20s")
ENGINES: Final = ("spark-pass-realtime", "spark-pass-microbatch")
STEPS: Final = (
    "load.rate={steps: {from: 40k/s, to: 400k/s, steps: 10, each: 5s}}",
    "phases.warmup=8s",
    "phases.measure=50s",
)
GALLERY: Final = (
    Shown("baseline", ("rates", "latency"), runs=(("baseline", *SHORT),)),
    Shown("burst", ("rates", "lag"), runs=(("bursty-heavy", "phases.measure=30s"),)),
    Shown("hysteresis-and-credit", ("lag-timeline",), runs=(("bp-tight",), ("credit-5000",))),
    Shown("slow-consumer", ("lag", "time-lag"), runs=(("slow-aggr",),)),
    Shown("broker-killed", ("latency", "outages"), runs=(("rf3-acks-all-leader-kill",),)),
    Shown("spark-engines", ("engines",), runs=tuple((name, "phases.measure=40s") for name in ENGINES)),
    Shown("compression", ("codecs",), experiment=("sweep-compression", "phases.measure=15s")),
    Shown("carriers", ("carriers-cost",), experiment=("carriers",)),
    Shown("saturation", ("latency-by-step", "rates"), runs=(("ramp", *STEPS),)),
    Shown("search", ("search-objective-1", "search-way"), search=("baseline", "--objective", "p99 <= 100 ms")),
)


def pages(folder: Path, shown: Shown) -> Path:
    """The page of a picture; its runs are carried out where they are not there yet."""
    if shown.search:
        return _report(folder / shown.name, "search", *shown.search)
    if shown.experiment:
        name, *settings = shown.experiment
        return _report(folder / shown.name, "experiment", name, *_set(settings), "--repeat", "1")
    reports = [
        _report(folder / shown.name / str(number), "run", name, *_set(settings))
        for number, (name, *settings) in enumerate(shown.runs)
    ]
    if len(reports) == 1:
        return reports[0]
    page = folder / shown.name / "comparison.html"
    _call("compare", *(str(report.parent) for report in reports), "--html", str(page))
    return page


def _report(folder: Path, *call: str) -> Path:
    """The report of what this call of the program does, which is done where there is none yet."""
    if not any(folder.glob("*/report.html")):
        _call(*call, "--out", str(folder))
    return next(folder.glob("*/report.html"))


def _set(settings: Sequence[str]) -> Iterator[str]:
    for setting in settings:
        yield from ("--set", setting)


def _call(*arguments: str) -> None:
    """Call the program. What it judges of a run, by its exit code, is part of the picture."""
    sys.stderr.write(f"streamgauge {shlex.join(arguments)}\n")
    done = subprocess.run([sys.executable, "-m", "streamgauge", *arguments], check=False, stdout=subprocess.DEVNULL)
    if done.returncode not in {0, 3, 4}:
        raise SystemExit(f"it ended with exit code {done.returncode}")


def picture(started: Browser, page_file: Path, shown: Shown) -> Path:
    """Take the picture: verdict, key figures and the chosen figures."""
    page = opened(started, page_file, WIDTH)
    page.evaluate(SHOW, list(shown.figures))
    lacking = [name for name in shown.figures if page.locator(f'[id="{name}"]').count() == 0]
    if lacking:
        raise SystemExit(f"{page_file} has no figure {', '.join(lacking)}")
    # Charts follow their new width.
    page.wait_for_timeout(500)
    to = FOLDER / f"{shown.name}.webp"
    save(started, page, END, to, MOST_BYTES)
    return to


def main() -> None:
    """Carry out the runs that are not there yet, and take the pictures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("runs", type=Path, help="folder of runs and pages")
    options.add_argument("--only", nargs="+", default=[], metavar="NAME", help="make only these pictures")
    given = options.parse_args()
    chosen = [shown for shown in GALLERY if not given.only or shown.name in given.only]
    found = [(shown, pages(given.runs, shown)) for shown in chosen]
    with browser() as started:
        for shown, page_file in found:
            sys.stdout.write(f"{picture(started, page_file, shown)}\n")


if __name__ == "__main__":
    main()
