"""The locale of a JVM follows how Python spells the names of files."""

import sys

import pytest

from streamgauge.processes.jvm.environment import locale


@pytest.mark.parametrize(("encoding", "is_set"), [("utf-8", True), ("iso8859-1", False)])
def test_a_jvm_spells_names_of_files_as_python_does(
    monkeypatch: pytest.MonkeyPatch, encoding: str, is_set: bool
) -> None:
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: encoding)
    assert [value.endswith(".UTF-8") for value in locale().values()] == [True] * is_set
