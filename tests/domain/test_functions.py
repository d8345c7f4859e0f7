"""Functions that users bring."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge.domain.errors import WorkerError
from streamgauge.domain.functions import load_function

PAIR = ("value", "key")


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module of a user's own, in the present directory."""
    (tmp_path / "handlers_of_mine.py").write_text(
        "def handle(value, key): return value\ndef alone(value): return value\n"
        "class Other:\n    number = 5\n    handle = staticmethod(handle)\n"
    )
    (tmp_path / "breaks_at_import.py").write_text("1 / 0\n")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("handlers_of_mine", None)


@pytest.mark.parametrize("name", ["handlers_of_mine:handle", "handlers_of_mine:Other.handle"])
def test_a_function_of_the_present_directory(name: str) -> None:
    """In a module, or in a class of one."""
    assert load_function(name, PAIR)(b"v", None) == b"v"


def test_a_function_that_does_not_tell_what_it_takes_is_tried() -> None:
    assert load_function("builtins:max", PAIR)(2, 3) == 3


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no_such_module:handle", "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"),
        ("handlers_of_mine:handel", "module 'handlers_of_mine' has no attribute 'handel'"),
        ("handlers_of_mine:Other.number", "a value of type int, not a function"),
        ("handlers_of_mine:alone", "cannot be called with (value, key): too many positional arguments"),
        ("breaks_at_import:handle", "cannot be imported: ZeroDivisionError: division by zero"),
    ],
)
def test_what_is_wrong_is_said(name: str, why: str) -> None:
    with pytest.raises(WorkerError) as caught:
        load_function(name, PAIR)

    assert str(caught.value).startswith(f"{name}: ")
    assert why in str(caught.value)
