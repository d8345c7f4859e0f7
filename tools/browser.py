"""A browser, to take pictures of reports and to measure how long they take to render."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, sync_playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium or Chrome; it ends with the block."""
    with sync_playwright() as playwright:
        path = executable(playwright.chromium.executable_path)
        # The sandbox of the browser does not work for root; what is opened here is our own page.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        started = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield started
        finally:
            started.close()


def executable(own: str, which: Callable[[str], str | None] = shutil.which) -> str:
    """A browser of this machine, else Playwright's `own` if it is there; raises SystemExit where there is none."""
    path = next(filter(None, map(which, (*NAMES, own))), None)
    if path is None:
        other = "elsewhere: playwright install --with-deps chromium"
        raise SystemExit(f"no chromium or chrome found. On Debian: apt-get install chromium; {other}")
    return path


def main() -> None:
    """End with an error where there is no browser."""
    with sync_playwright() as playwright:
        executable(playwright.chromium.executable_path)


if __name__ == "__main__":
    main()
