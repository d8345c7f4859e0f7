"""The command `baseline`: results of runs kept in one file, to compare later runs with."""

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from streamgauge.cli.options import PlainCommand, PlainGroup, RunsArgument
from streamgauge.domain.errors import BadInput
from streamgauge.report.compare.variants import GivenRun
from streamgauge.result import Result
from streamgauge.result.reading import NotAResultError, result_of

BASELINE_FORMAT: Final = 1

app = typer.Typer(cls=PlainGroup, no_args_is_help=True, help="Keep results of runs, to compare later runs with.")


@app.callback()
def baseline() -> None:
    """Keep results of runs, to compare later runs with."""


@app.command(cls=PlainCommand)
def save(
    runs: RunsArgument,
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write.")] = Path("baseline.json"),
) -> None:
    """Write the results of runs into one file.

    `check --baseline FILE` and `compare FILE RUN` take it like a folder of runs, so that only one file has to be kept.

    Example: `streamgauge baseline save runs/before --out baseline.json`
    """
    from streamgauge.cli.results.compare import given_runs

    found = given_runs(runs)
    text = json.dumps(baseline_document([each.result for each in found]), separators=(",", ":"))
    try:
        out.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise BadInput.single(f"--out {out}", f"cannot be written: {error.strerror}", "Name another file") from error
    typer.echo(f"{len(found)} runs written to {out}")


def baseline_document(results: list[Result]) -> dict[str, Any]:
    """The results of runs as one document."""
    return {"baseline": BASELINE_FORMAT, "runs": [each.document() for each in results]}


def runs_of_baseline(path: Path) -> list[GivenRun] | None:
    """The runs of a file that `baseline save` wrote; None for any other file.

    Raises BadInput where one of its runs cannot be read.
    """
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        # Whoever reads it as a result says what is wrong.
        return None
    if not isinstance(document, dict) or "baseline" not in document:
        return None
    if document["baseline"] != BASELINE_FORMAT or not isinstance(document.get("runs"), list):
        raise BadInput.single(str(path), "is not a baseline that this version reads", "Save the baseline again")
    try:
        return [GivenRun(path.name, result_of(each)) for each in document["runs"]]
    except NotAResultError as error:
        raise BadInput.single(str(path), f"has a run that is no result: {error}", "Save the baseline again") from error
