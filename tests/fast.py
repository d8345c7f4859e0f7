"""Whose tests `make check` runs: rules, which are pure functions, and what holds for the house as a whole.

All other tests are marked `slow`, and run in `make test`. Prints the paths.
"""

from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
FAST: Final = tuple(
    _HERE / name
    for name in (
        "control", "delivery", "domain", "experiments", "foreign/specs", "result", "scenario", "statistics", "verdict",
        "watch", "workload", "test_beside.py", "test_house.py", "test_names.py",
    )
)  # fmt: skip


def is_fast(path: Path) -> bool:
    """Whether the tests of a file are among them."""
    return any(path.is_relative_to(each) for each in FAST)


if __name__ == "__main__":
    print(*(path.relative_to(_HERE.parent) for path in FAST))
