"""When archives of Java classes are made: after a result that somebody waited for, or where `doctor` is told to."""

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from streamgauge.cli.main import app
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.processes.jvm.java import Java
from streamgauge.runs import run as running
from streamgauge.runs.machine import archives
from streamgauge.runs.request import options as request
from streamgauge.runs.request.request import Request
from streamgauge.scenario import parse
from streamgauge.verdict.exits import Exit


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What is done, in order, with everything that takes long left out."""
    done: list[str] = []

    def noting(name: str, result: Any = None) -> Any:
        def note(*_: object, **__: object) -> Any:
            done.append(name)
            return result

        return note

    conduct = noting("conduct", RunFolder(tmp_path))
    monkeypatch.setattr(running, "conducted", contextlib.contextmanager(lambda *_: iter([conduct()])))
    monkeypatch.setattr(running, "analyse", noting("analyse", Exit.DONE))
    monkeypatch.setattr(archives, "make_way", noting("make way"))
    monkeypatch.setattr(archives, "are_made", noting("look", result=False))
    monkeypatch.setattr(archives, "make", noting("make", result=True))
    monkeypatch.setattr(request, "find_java", lambda _: SimpleNamespace(path=tmp_path / "bin" / "java"))
    monkeypatch.setenv("JAVA_HOME", "")
    return done


@pytest.mark.parametrize("prepare", [True, False])
def test_they_are_made_after_the_result(calls: list[str], prepare: bool, tmp_path: Path) -> None:
    """And a run waits until nobody makes any."""
    scenario = parse({"name": "x", "topic": {"name": "x"}, "load": {"rate": "1/s", "producers": 1, "size": 64}})
    asked = Request(scenario, tmp_path, [], Java(Path("/jdk/bin/java"), "17", 17))

    ended = running.run(asked, prepare=prepare)

    assert (ended.folder.root, ended.code) == (tmp_path, Exit.DONE)
    assert calls == ["make way", "conduct", "analyse", *(["look", "make"] if prepare else [])]


@pytest.mark.slow
def test_doctor_makes_them_when_it_is_told_to(calls: list[str]) -> None:
    CliRunner().invoke(app, ["doctor"])
    assert calls == []
    CliRunner().invoke(app, ["doctor", "--prepare"])
    assert calls == ["look", "make"]
