"""All that a run folder has for people and their programs, written from result and tables; no broker, no Spark."""

from collections.abc import Callable, Sequence
from pathlib import Path

from streamgauge.domain.errors import BadInput, StreamgaugeError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.tables.latency import LATENCY_BUCKETS
from streamgauge.processes.patience import Progress
from streamgauge.report.assemble.result import assemble, keep_result
from streamgauge.report.exports.csv_files import write_csv
from streamgauge.report.exports.hlog import write_hlog
from streamgauge.report.figures import catalogue
from streamgauge.report.figures.diagnostics.lives import LIVES
from streamgauge.report.figures.drawing.figure import Row
from streamgauge.report.figures.drawing.timeline import METRICS
from streamgauge.report.figures.over_time import MOVING, MOVING_FIGURES
from streamgauge.report.files import Unwritten, rows_of, table_file, whole
from streamgauge.report.ledger.chosen import drawn_lives
from streamgauge.report.moving import moving_percentiles
from streamgauge.report.pages.html import to_html
from streamgauge.report.pages.markdown import write_markdown
from streamgauge.report.pages.words import FIGURES
from streamgauge.result import Result
from streamgauge.result.reading import NotAResultError, TooNewError, parse_result


def result_of(folder: RunFolder, progress: Progress) -> Result:
    """The result of a run folder: from its tables, or as it was written where they cannot tell it any more.

    Raises BadInput where the folder has neither, and what is wrong with the tables where there is no result.json;
    AnalysisError where result.json cannot be written.
    """
    where, again = str(folder.root), f"Use: {folder.analyse_again}"
    if _is_there(folder.facts) and _is_there(folder.table("verdict")):
        try:
            result = assemble(folder)
        except StreamgaugeError as error:
            if not folder.result.exists():
                raise BadInput.single(where, str(error), again) from error
            progress(f"{error}\nshowing the existing result.json")
        else:
            keep_result(folder, result)
            return result
    if _is_there(folder.result):
        return read_result(folder.result)
    if not _is_there(folder.facts):
        raise BadInput.single(where, "not a run folder: it has no run.json", "Name a folder made by `streamgauge run`")
    raise BadInput.single(where, "this run has not been analysed", again)


def _is_there(path: Path) -> bool:
    """Whether a file can be found; a name that no file can have is none."""
    try:
        return path.exists()
    except OSError:
        return False


def read_result(path: Path) -> Result:
    """A result.json that is there; raises BadInput where it cannot be shown."""
    where = str(path)
    try:
        return parse_result(path.read_bytes())
    except TooNewError as error:
        raise BadInput.single(where, str(error), "Use a newer version of streamgauge") from error
    except NotAResultError as error:
        raise BadInput.single(where, f"is not a result of streamgauge: {error}", "Analyse the run again") from error
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput.single(where, f"cannot be read: {error}", "Analyse the run again") from error


def publish(
    folder: RunFolder,
    result: Result,
    progress: Progress,
    *,
    figures: bool = False,
    percentiles: Sequence[str] | None = None,
) -> list[Path]:
    """Write report.html, summary.md, csv/ and hlog/, and with `figures` also figures/; returns the files.

    summary.md has these `percentiles`, or those that it has by default.

    A table that cannot be read is told and left out: whatever does not need it is still written. Raises Unwritten where
    a file cannot be written.
    """
    progress("writing the report")
    progress = _once(progress)
    drawn = catalogue.figures(result, tables_of(folder, progress))
    with whole(folder.report) as unfinished:
        unfinished.write_text(to_html(result, drawn), encoding="utf-8")
    written = [folder.report, write_markdown(folder, result, percentiles or FIGURES)]
    for write in (write_csv, write_hlog):
        try:
            written += write(folder)
        except Unwritten:
            raise
        except StreamgaugeError as error:
            progress(str(error))
    if figures:
        progress("writing the figures as files")
        written += catalogue.save(drawn, folder.figures)
    return written


def _once(progress: Progress) -> Progress:
    """Tells each thing once: what is wrong with all tables would be told for each of them."""
    told: set[str] = set()

    def say(text: str) -> None:
        if text not in told:
            told.add(text)
            progress(text)

    return say


def tables_of(folder: RunFolder, progress: Progress) -> dict[str, list[Row]]:
    """The tables that figures are drawn from; one that cannot be read is told and left out."""
    found: dict[str, list[Row]] = {}
    for name, wanted in catalogue.TABLES.items():
        if table_file(folder, name).exists():
            try:
                found[name] = rows_of(folder, name, **wanted)
            except StreamgaugeError as error:
                progress(str(error))
    made: dict[str, Callable[[], list[Row]]] = {LIVES: lambda: drawn_lives(folder, found.get("latency", []))}
    if table_file(folder, LATENCY_BUCKETS.name).exists():
        made[MOVING] = lambda: moving_rows_of(folder)
    for name, make in made.items():
        try:
            found[name] = make()
        except StreamgaugeError as error:
            progress(str(error))
    return found


def moving_rows_of(folder: RunFolder) -> list[Row]:
    """Percentiles in a moving window, of the first latency that has any.

    Raises AnalysisError where the table cannot be read.
    """
    of_metrics = ((metric, moving_percentiles(folder, metric, MOVING_FIGURES)) for metric in METRICS)
    return next(([{"metric": metric, **row} for row in rows] for metric, rows in of_metrics if rows), [])
