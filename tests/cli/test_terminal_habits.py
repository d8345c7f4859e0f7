"""Habits of a command line: colour only on a terminal that wants it, completion, nothing on the way when quiet."""

import io
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from streamgauge.cli.display import shown_as
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.publish import read_result

PROGRAM = [sys.executable, "-m", "streamgauge"]
GOLDEN = RunFolder(Path(__file__).parents[1] / "report" / "golden" / "format-1")
WRONG = ["analyse", "no-such-folder"]


def on_a_terminal(arguments: list[str], **environment: str) -> str:
    """What a terminal would be sent."""
    ours, theirs = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "CI", "FORCE_COLOR"}}
    process = subprocess.Popen(
        [*PROGRAM, *arguments], stdin=theirs, stdout=theirs, stderr=theirs,
        env={**clean, "TERM": "xterm-256color", **environment},
    )  # fmt: skip
    os.close(theirs)
    text = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            text += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    process.wait(60)
    return text.decode()


@pytest.mark.e2e
def test_errors_are_coloured_on_a_terminal_only() -> None:
    """And not where NO_COLOR is set."""
    red = "\x1b[1;31merror: "
    assert red in on_a_terminal(WRONG)
    assert "\x1b[" not in on_a_terminal(WRONG, NO_COLOR="1").replace("\x1b[1m", "").replace("\x1b[0m", "")
    piped = subprocess.run([*PROGRAM, *WRONG], capture_output=True, text=True, timeout=120, check=False)
    assert piped.returncode == 2
    assert piped.stderr.startswith("error: no-such-folder")
    assert "\x1b" not in piped.stdout + piped.stderr


class Screen(io.TextIOWrapper):
    """Standard output that is a terminal, or not."""

    def __init__(self, encoding: str, *, terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("terminal", "term", "encoding", "drawn"),
    [
        (True, "xterm", "utf-8", "█"),
        (True, "xterm", "ascii", "#"),
        (True, "dumb", "utf-8", ""),
        (False, "xterm", "utf-8", ""),
    ],
)
def test_only_a_terminal_is_drawn_on(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool, term: str, encoding: str, drawn: str
) -> None:
    """In characters that it has; colours that are forced into a pipe bring no drawings with them."""
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", Screen(encoding, terminal=terminal))
    said: list[str] = []

    shown_as(said.append, as_json=False)(GOLDEN, read_result(GOLDEN.result))

    signs = {sign for sign in "█#" if sign in said[0]}
    assert signs == set(drawn)
    assert ("Histogram" in said[0]) == bool(drawn)


@pytest.mark.e2e
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_the_commands(shell: str) -> None:
    """As the completion that `--show-completion` prints would ask for them."""
    asked = {
        "_STREAMGAUGE_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": "streamgauge r",
        "COMP_WORDS": "streamgauge r",
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    program = Path(sys.executable).with_name("streamgauge")
    done = subprocess.run(
        [program], capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **asked}
    )
    for command in ("run", "report", "runs"):
        assert command in done.stdout
    assert "broker" not in done.stdout.split()
