"""Functions that users bring."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge.domain.errors import WorkerError
from streamgauge.engine.functions import load_function


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module of a user's own, in the present directory."""
    (tmp_path / "handlers_of_mine.py").write_text(
        "def handle(value, key): return value\nclass Other:\n    number = 5\n"
    )
    (tmp_path / "breaks_at_import.py").write_text("1 / 0\n")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("handlers_of_mine", None)


@pytest.mark.usefixtures("module")
def test_a_function_of_the_present_directory() -> None:
    assert load_function("handlers_of_mine:handle")(b"v", None) == b"v"


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no_such_module:handle", "no_such_module:handle: the module cannot be imported"),
        ("handlers_of_mine:handel", "has no attribute 'handel'. Check the name of the function"),
        ("handlers_of_mine:Other.number", "is no function but int"),
        ("breaks_at_import:handle", "fails when imported: ZeroDivisionError: division by zero"),
    ],
)
def test_what_is_wrong_is_said(name: str, why: str) -> None:
    with pytest.raises(WorkerError) as caught:
        load_function(name)

    assert why in str(caught.value)
