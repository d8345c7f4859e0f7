"""A browser, to take pictures of reports and to measure how long they take to render."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, sync_playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium or Chrome; it ends with the block."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        raise SystemExit("no chromium or chrome found. On Debian or Ubuntu: apt-get install chromium")
    with sync_playwright() as playwright:
        # The sandbox of the browser does not work for root; what is opened here is our own page.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        started = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield started
        finally:
            started.close()
