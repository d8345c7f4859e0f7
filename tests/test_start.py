"""Ctrl-C at every moment of a command: one exit code, and never a traceback."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from streamgauge.domain.errors import CtrlC, Interrupted
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.engine.supervise.local import not_for_children
from streamgauge.engine.worker.main import TOLD_TO_ALL
from streamgauge.runs.analysis import analyse

GOLDEN = Path(__file__).parent / "report" / "golden" / "format-1"
# Who starts the tests may have a closed terminal ignored, as `nohup` does.
BEGIN = """import os, signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from streamgauge.__main__ import interruptible, loading
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("with loading(): os.kill(os.getpid(), signal.SIGINT)", ""),
        ("with loading(): pass\nwith interruptible(): os.kill(os.getpid(), signal.SIGINT)", "interrupted\n"),
        (
            "with loading(): pass\nwith interruptible(): signal.raise_signal(signal.SIGINT)\nprint('on')",
            "interrupted\n",
        ),
        ("with loading(): pass\nwith interruptible(): os.kill(os.getpid(), signal.SIGTERM)", "interrupted\n"),
        ("with loading(): pass\nwith interruptible(): os.kill(os.getpid(), signal.SIGHUP)", "interrupted\n"),
    ],
)
@pytest.mark.slow
def test_an_interruption_ends_it_with_its_own_exit_code(program: str, said: str) -> None:
    """While modules are loaded, and afterwards; SIGTERM and a closed terminal end it like Ctrl-C."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program], capture_output=True, text=True, timeout=120, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)


def test_impatience_at_the_end_does_not_change_the_exit_code() -> None:
    """The second Ctrl-C may come when the first has ended the run, and the interpreter is about to end."""
    end = "import atexit, sys\natexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
    program = f"{BEGIN}{end}with loading(): pass\nwith interruptible(): sys.exit(130)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)

    assert (done.returncode, done.stderr) == (130, "")


def test_a_terminal_that_nobody_hears_of_ends_nothing() -> None:
    """`nohup` has the signal ignored."""
    program = f"{BEGIN}signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    program += "with loading(): pass\nwith interruptible(): os.kill(os.getpid(), signal.SIGHUP)\nprint('on')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)

    assert (done.returncode, done.stdout) == (0, "on\n")


@pytest.mark.slow
def test_a_command_that_notes_no_signals_is_interrupted_too() -> None:
    """The library of the command line would call it aborted."""
    program = f"""{BEGIN}
import sys, typer
from streamgauge.cli import main
typer.echo = lambda _: os.kill(os.getpid(), signal.SIGINT)
sys.argv = ["streamgauge", "scenarios"]
with loading(): pass
with interruptible(): main.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)

    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_what_a_terminal_tells_everyone_is_for_the_parent_alone() -> None:
    """From the first moment of a worker on, when it could not ignore anything yet."""
    program = "import signal; print(*sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))))"
    with not_for_children():
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    said, _ = child.communicate(timeout=120)

    assert said.split() == [str(int(number)) for number in sorted(TOLD_TO_ALL)]
    assert subprocess.check_output([sys.executable, "-c", program], text=True, timeout=120) == "\n"


@pytest.mark.parametrize("error", [CtrlC, KeyboardInterrupt])
def test_an_analysis_that_is_interrupted_says_how_to_go_on(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are kept; from a notebook as well as from the command line."""

    def interrupted(*_: object, **__: object) -> None:
        raise error

    shutil.copytree(GOLDEN, tmp_path / "run")
    monkeypatch.setattr("streamgauge.pipeline.run.analyse", interrupted)
    with pytest.raises(Interrupted, match=f"^analysis interrupted; the recorded events are kept: .* {tmp_path}/run$"):
        analyse(RunFolder(tmp_path / "run"), lambda _: None)


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("streamgauge.cli.main", {"numpy", "pydantic", "pyarrow", "altair", "confluent_kafka"}),
        ("streamgauge.cli.loads.programs", {"altair"}),
    ],
)
def test_a_command_waits_for_nothing_that_it_does_not_need(module: str, heavy: set[str]) -> None:
    """Each call, and each completion, loads the options; each run looks for programs in its specification."""
    program = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)

    assert heavy & set(done.stdout.split()) == set()
