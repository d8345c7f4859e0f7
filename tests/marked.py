"""The processes that came of a test, known by what it put into their environment."""

from collections.abc import Iterator, Mapping

import psutil


def marked(mark: Mapping[str, str]) -> Iterator[psutil.Process]:
    """The processes whose environment has a mark. What `info` has of each: pid, cmdline, environ and status."""
    for each in psutil.process_iter(["pid", "cmdline", "environ", "status"]):
        if mark.items() <= (each.info["environ"] or {}).items():
            yield each


def left_of(mark: Mapping[str, str]) -> list[list[str]]:
    """Their command lines."""
    return [each.info["cmdline"] or [] for each in marked(mark)]
