"""Make docs/images/report.webp, a picture of a report down to its second figure: `python -m tools.picture [RUN]`.

Without RUN, a run folder, it is of a run of `make demo`, which is carried out first.
"""

import base64
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page

from streamgauge.domain.folder.facts import RunFolder
from tools.browser import browser

PICTURE: Final = Path(__file__).parents[1] / "docs" / "images" / "report.webp"
WIDTH: Final = 1100
MOST_BYTES: Final = 250_000
MARGIN: Final = 16
DEMO: Final = ("run", "baseline", "--set", "phases.warmup=3s", "--set", "phases.measure=10s")
"""As in the Makefile."""

POLL_MS: Final = 20
_END: Final = """() => document.querySelectorAll("figure")[1].getBoundingClientRect().bottom + scrollY"""
"""Returns the bottom of the second figure."""
_AS_WEBP: Final = """async source => {
    const image = new Image();
    image.src = source;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.85);
}"""
"""Returns a picture of any format as WebP, which needs a third of the bytes of PNG for a page of text and curves."""


def picture(folder: RunFolder, to: Path) -> None:
    """Draw the report of a run, and save its top."""
    with browser() as started:
        save(started, opened(started, folder.report, WIDTH), _END, to, MOST_BYTES)


def opened(started: Browser, report: Path, width: int) -> Page:
    """A page with all its figures drawn, in light colours."""
    page = started.new_page(viewport={"width": width, "height": 2_000}, color_scheme="light")
    page.goto(report.resolve().as_uri())
    # Playwright's own way to wait needs `eval`, which the page forbids.
    while not page.evaluate("document.documentElement.dataset.figures"):
        page.wait_for_timeout(POLL_MS)
    return page


def save(started: Browser, page: Page, end: str, to: Path, most_bytes: int) -> None:
    """Save a page as WebP, down to where a script says that it ends; refuse a picture of more bytes."""
    width, height = page.evaluate("innerWidth"), page.evaluate(end) + MARGIN
    png = page.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height})
    canvas = started.new_page()
    webp = canvas.evaluate(_AS_WEBP, f"data:image/png;base64,{base64.b64encode(png).decode()}")
    canvas.close()
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(base64.b64decode(webp.partition(",")[2]))
    if (taken := to.stat().st_size) > most_bytes:
        raise SystemExit(f"{to.name} has {taken:,} bytes, more than {most_bytes:,}")


def main(arguments: list[str]) -> None:
    """Make the picture of the given run, or of a new one."""
    if len(arguments) > 1 or (arguments and not RunFolder(Path(arguments[0])).report.exists()):
        raise SystemExit("usage: python -m tools.picture [RUN], where RUN is a run folder with report.html")
    with tempfile.TemporaryDirectory(prefix="streamgauge-picture-") as folder:
        picture(RunFolder(Path(arguments[0]) if arguments else _new_run(Path(folder))), PICTURE)


def _new_run(folder: Path) -> Path:
    done = subprocess.run([sys.executable, "-m", "streamgauge", *DEMO, "--out", str(folder)], check=False)
    if done.returncode:
        raise SystemExit(f"the run ended with exit code {done.returncode}; try again while the machine is quiet")
    return next(folder.iterdir())


if __name__ == "__main__":
    main(sys.argv[1:])
