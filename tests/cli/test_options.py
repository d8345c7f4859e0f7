"""Options of the program itself, and those that it has not."""

from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from streamgauge.cli.commands import one_run
from streamgauge.cli.main import app
from streamgauge.cli.options import keys_as_options
from streamgauge.domain.errors import BadInput
from streamgauge.runs.request.percentiles import figures_of

runner = CliRunner()


def test_the_version_is_printed() -> None:
    done = runner.invoke(app, ["--version"])

    assert (done.exit_code, done.output) == (0, f"streamgauge {version('streamgauge')}\n")


def test_analyze_is_analyse_and_is_not_listed() -> None:
    """The same command, for those who spell it so."""
    registered = one_run.app.registered_commands
    commands = {each.name or each.callback.__name__: each for each in registered if each.callback}

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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("p50", ("p50",)),
        ("p50,p99.99,max", ("p50", "p99_99", "max")),
        (" P99.9 , p99_9,mean,min", ("p99_9", "mean", "min")),
    ],
)
def test_figures_are_chosen_by_name(text: str | None, expected: tuple[str, ...] | None) -> None:
    """Each once, in the order in which they are asked for."""
    assert figures_of(text) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [("p98", "`p98`"), ("p50,p98,median", "`p98` and `median`"), ("", "``"), ("p50,", "``"), ("p50_ms", "`p50_ms`")],
)
def test_figures_that_no_result_holds_are_refused(text: str, named: str) -> None:
    """All of them at once, with those that there are."""
    with pytest.raises(BadInput) as caught:
        figures_of(text)

    assert str(caught.value) == (
        f"--percentiles: {named}: not in a result. "
        "Choose from p50, p75, p90, p95, p99, p99.5, p99.9, p99.99, min, mean, max; RUN/hlog has the others"
    )


@pytest.mark.parametrize("command", [["report", "x"], ["analyse", "x"], ["runs"], ["run", "baseline"]])
def test_commands_refuse_them_before_anything_else(command: list[str]) -> None:
    with pytest.raises(BadInput, match="--percentiles"):
        runner.invoke(app, [*command, "--percentiles", "p98"], catch_exceptions=False)
