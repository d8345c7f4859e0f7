"""Options of the program itself, and those that it has not."""

from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from streamgauge.cli.main import app
from streamgauge.cli.options import keys_as_options

runner = CliRunner()


def test_the_version_is_printed() -> None:
    done = runner.invoke(app, ["--version"])

    assert (done.exit_code, done.output) == (0, f"streamgauge {version('streamgauge')}\n")


def test_analyze_is_analyse_and_is_not_listed() -> None:
    """The same command, for those who spell it so."""
    commands = {each.name or each.callback.__name__: each for each in app.registered_commands if each.callback}

    assert commands["analyze"].callback is commands["analyse"].callback
    assert "analyze" not in runner.invoke(app, ["--help"]).output


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--rate", "5k/s"], ["--set load.rate=5k/s"]),
        (["--rate=5k/s", "--duration", "-q"], ["--set load.rate=5k/s", "--set phases.measure=..."]),
        (["baseline", "--throughput"], ["--set load.rate=..."]),
        (["--size", "5", "-h"], []),
        (["-r", "rate", "duration"], []),
        (["--", "--rate"], []),
    ],
)
def test_options_that_are_keys(args: list[str], said: list[str]) -> None:
    """Not those that there are, nor what follows two dashes."""
    found = keys_as_options(args, {"--size"})

    assert [fault.mend for fault in found] == [f"Use {each}" for each in said]
