"""Habits of a command line: colour only on a terminal that wants it, completion, nothing on the way when quiet."""

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = [sys.executable, "-m", "streamgauge"]
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
    piped = subprocess.run([*PROGRAM, *WRONG], capture_output=True, text=True, timeout=60, check=False)
    assert piped.returncode == 2
    assert piped.stderr.startswith("error: no-such-folder")
    assert "\x1b" not in piped.stdout + piped.stderr


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
        [program], capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **asked}
    )
    for command in ("run", "report", "runs"):
        assert command in done.stdout
    assert "broker" not in done.stdout.split()
