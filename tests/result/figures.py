"""Two results compared figure by figure."""

from typing import Any

Differences = dict[str, tuple[Any, Any]]
"""By path, like `timeline.2.outstanding`: what a figure was, and what it is."""


def other_figures(old: Any, new: Any, place: str = "") -> Differences:
    """Where a number of an old document is another, or gone; texts may be better, and keys may have come."""
    if isinstance(old, dict):
        found = [(key, value, new.get(key) if isinstance(new, dict) else None) for key, value in old.items()]
    elif isinstance(old, list):
        rows = new if isinstance(new, list) else []
        found = [(str(at), value, rows[at] if at < len(rows) else None) for at, value in enumerate(old)]
    else:
        return {place: (old, new)} if isinstance(old, int | float) and old != new else {}
    below = f"{place}." if place else ""
    return {
        where: figures
        for key, was, value in found
        for where, figures in other_figures(was, value, f"{below}{key}").items()
    }
