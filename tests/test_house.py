"""Limits that DESIGN.md sets for the source code, so that it stays easy to find one's way in it."""

import re
from pathlib import Path
from typing import Final

import pytest
from tests.fast import FAST, is_fast

import streamgauge

TESTS: Final = Path(__file__).parent
SOURCE: Final = Path(streamgauge.__file__).parent
MOST_ENTRIES: Final = 12
"""Modules and packages of a package, besides `__init__.py`."""
MOST_DOMAIN_LINES: Final = 3_500
LONG_LINES: Final = 300
MOST_LONG_FILES: Final = 8
RECORDED: Final = re.compile(r"\b(facts|run)\.scenario\b")
READERS: Final = {"facts": ("recorded_profile",), "run": ("settings_of", "apart", "apart_from_policy", "has_load")}
"""What a recorded scenario may be given to: what makes its profile, and `scenario/comparing.py`."""
ARGUED: Final = {
    # A page shows it as it was written.
    ("pages/html/__init__.py", "scenario=yaml.safe_dump(result.run.scenario, sort_keys=False, allow_unicode=True),"),
    # Figures of several runs give it to `apart`.
    ("figures/compare/runs.py", "return self.result.run.scenario"),
    # What the file of another tool says; its run has no profile yet.
    ("assemble/imports/folder.py",
     'partitions=run.scenario.get("topic", {}).get("partitions"), start_at=None, verify_every=None, expect={},'),
    ("assemble/imports/folder.py",
     '{"name": run.name, **run.scenario, "imported": {"tool": run.tool, **masked(_scalars(run.settings))}}'),
}  # fmt: skip
"""Other places that read a recorded scenario."""


def entries(folder: Path) -> list[str]:
    """Names of the modules and packages in a folder; folders of data are none."""
    found = [path for path in folder.iterdir() if path.suffix == ".py" or (path.is_dir() and any(path.rglob("*.py")))]
    return [path.name for path in found if path.name not in {"__init__.py", "__pycache__"}]


def test_no_package_has_more_than_twelve_entries() -> None:
    """The packages themselves are in the layers of DESIGN.md, and may be more."""
    folders = [path for path in SOURCE.rglob("*") if path.is_dir()]
    crowded = {str(path.relative_to(SOURCE)): found for path in folders if len(found := entries(path)) > MOST_ENTRIES}

    assert crowded == {}


def test_the_domain_stays_small() -> None:
    """Everything may import it: what only one package needs belongs there."""
    assert sum(len(path.read_text().splitlines()) for path in (SOURCE / "domain").rglob("*.py")) <= MOST_DOMAIN_LINES


def test_few_files_are_long() -> None:
    """Loops whose parts are measured together, and lists."""
    long = [path.name for path in SOURCE.rglob("*.py") if len(path.read_text().splitlines()) > LONG_LINES]

    assert len(long) <= MOST_LONG_FILES, long


@pytest.mark.parametrize("room", ["verdict", "pipeline", "report"])
def test_the_recorded_scenario_is_read_by_its_profile_alone(room: str) -> None:
    """Its shorthands and defaults are interpreted in one place; to compare settings is another thing."""
    places = [
        (path.relative_to(SOURCE / room).as_posix(), line.strip(), found.group(1))
        for path in (SOURCE / room).rglob("*.py")
        for line in path.read_text().splitlines()
        for found in RECORDED.finditer(line)
    ]
    reading = [
        (path, line)
        for path, line, whose in places
        if not any(re.search(rf"\b{name}\(", line) for name in READERS[whose]) and (path, line) not in ARGUED
    ]

    assert reading == []


def test_the_fast_checks_have_the_folders_that_they_name() -> None:
    """And what is in none of them is slow: `make test` takes its tests by this mark."""
    assert all(path.exists() for path in FAST)
    assert is_fast(TESTS / "verdict" / "test_verdict.py")
    assert not is_fast(TESTS / "report" / "test_html.py")
