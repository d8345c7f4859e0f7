"""Functions that users bring."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge.domain.errors import WorkerError
from streamgauge.processes.functions import files_of, find_function, home_of, load_function

PAIR = ("value", "key")


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module of a user's own, in the present directory."""
    (tmp_path / "handlers_of_mine.py").write_text(
        "def handle(value, key): return value\ndef alone(value): return value\n"
        "class Other:\n    number = 5\n    handle = staticmethod(handle)\n"
        "class Largest:\n    __call__ = max\n"
        "largest = Largest()\n"
        "import functools, os, operator\n"
        "from builtins import exec\n"
        "run = os.system\n"
        "half = functools.partial(exec)\n"
        "halves = functools.partial(functools.partial(handle))\n"
        "first = operator.itemgetter(0)\n"
        "append = [].append\n"
        "cached = functools.lru_cache(handle)\n"
        "cached_exec = functools.lru_cache(exec)\n"
    )
    package = tmp_path / "package_of_mine"
    (package / "below").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (package / "below" / "deep.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "spaced_of_mine" / "inner").mkdir(parents=True)
    (tmp_path / "spaced_of_mine" / "inner" / "leaf.py").write_text("")
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
    assert load_function("handlers_of_mine:largest", PAIR)(2, 3) == 3


OF_PYTHON = "a function of Python itself, not of yours; define one in a module of your own that calls it"
OF_STREAMGAUGE = "a function of Streamgauge itself; define one in a module of your own"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *[
            (name, OF_PYTHON)
            for name in (
                "builtins:exec",
                "os:system",
                "os.path:join",
                "subprocess:run",
                "posix:system",
                "antigravity:geohash",
                "handlers_of_mine:exec",
                "handlers_of_mine:run",
                "handlers_of_mine:half",
                "handlers_of_mine:first",
                "handlers_of_mine:append",
                "handlers_of_mine:cached_exec",
                "handlers_of_mine:os.system",
                "handlers_of_mine:functools.partial",
                "handlers_of_mine:handle.__call__",
                "handlers_of_mine:Other.__subclasses__",
            )
        ],
        ("streamgauge.processes.functions:load_function", OF_STREAMGAUGE),
        ("streamgauge:anything", OF_STREAMGAUGE),
        ("__main__:main", OF_STREAMGAUGE),
    ],
)
def test_what_is_not_of_users_is_refused_under_any_name(name: str, why: str) -> None:
    with pytest.raises(WorkerError) as caught:
        find_function(name)

    assert str(caught.value) == f"{name}: {why}"


def test_what_is_not_of_users_is_not_imported() -> None:
    """Python's poem is printed where it is imported."""
    sys.modules.pop("this", None)

    with pytest.raises(WorkerError):
        find_function("this:anything")

    assert "this" not in sys.modules


@pytest.mark.parametrize("name", ["handle", "halves", "cached", "Other", "largest"])
def test_what_users_wrap_is_of_users(name: str) -> None:
    assert home_of(find_function(f"handlers_of_mine:{name}")) == "handlers_of_mine"


@pytest.mark.parametrize(
    ("module", "files"),
    [
        ("handlers_of_mine", ["handlers_of_mine.py"]),
        ("package_of_mine", ["package_of_mine/__init__.py"]),
        ("package_of_mine.below.deep", ["package_of_mine/__init__.py", "package_of_mine/below/deep.py"]),
        ("spaced_of_mine.inner.leaf", ["spaced_of_mine/inner/leaf.py"]),
        ("spaced_of_mine", None),
        ("package_of_mine.nothing", None),
        ("handlers_of_mine.nothing", None),
        ("handlers_of_mine.", None),
        ("..", None),
        ("no_such_module", None),
        ("builtins", None),
    ],
)
def test_where_a_module_is_can_be_told_without_importing_it(
    module: str, files: list[str] | None, tmp_path: Path
) -> None:
    """The files of its packages first, since they run as well."""
    assert files_of(module) == (None if files is None else [tmp_path / file for file in files])
    assert not {name for name in sys.modules if name.startswith(("package_of_mine", "spaced_of_mine"))}


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
