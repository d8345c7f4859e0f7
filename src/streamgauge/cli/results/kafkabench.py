"""The command `kafkabench`: the table and the files of KafkaBench, from recorded runs."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from streamgauge.domain.text.numbers import UNKNOWN, significant
from streamgauge.report.exports.kafkabench.formulas import BenchTest, levels
from streamgauge.report.exports.kafkabench.read import ReadTest, append, read_test
from streamgauge.report.exports.kafkabench.written import console, file_name
from streamgauge.report.pages.page import plain
from streamgauge.runs.results.sql import questioned

_FIGURES: Final = {"p50": "p50", "p99": "p99", "p99.9": "p99_9", "max": "max"}


def kafkabench(
    folders: Sequence[Path],
    *,
    by_partition: bool,
    csv_folder: Path | None,
    figures: Path | None,
    as_json: bool,
    out: Callable[[str], None],
) -> None:
    """Print each run as a test of KafkaBench, and append it to its files; raises BadInput where one was no test.

    In figures, the runs of each folder are those of a cluster that has its name.
    """
    of_clusters = [(path, [read_test(run) for run in questioned([path]).runs]) for path in dict.fromkeys(folders)]
    found = [each for _, tests in of_clusters for each in tests]
    files = list(dict.fromkeys(path for each in found for path in append(each, csv_folder))) if csv_folder else []
    if figures:
        # Figures need a library of their own, which takes long to load.
        from streamgauge.report.figures.catalogue import save
        from streamgauge.report.figures.compare.clusters import clusters

        drawn = clusters((path.absolute().name, each.test) for path, tests in of_clusters for each in tests)
        files += save(drawn, figures)
    if as_json:
        out(json.dumps([_document(each) for each in found], indent=2))
        return
    seen: Counter[str] = Counter()
    for each in found:
        seen[_same(each.test)] += 1
        out("\n".join(console(each.test, seen[_same(each.test)], by_partition=by_partition)))
        out("\n".join(_said(each)))
    for path in files:
        out(f"written: {plain(str(path))}")


def _same(test: BenchTest) -> str:
    """What iterations of a test have in common."""
    return f"{file_name(test, '')} {test.transactional}"


def _said(found: ReadTest) -> Iterator[str]:
    """What we say instead of the summary."""
    row = found.ours["summary"][0]
    yield f"Streamgauge: {plain(found.run)}"
    yield (
        f"  {row['messages']:,} messages in {significant(row['wall_seconds'])} s of wall time: "
        f"{row['received_per_second']:,.0f}/s, {significant(row['received_mb_per_second'])} MB/s"
    )
    for kind, since in (("service", "the send"), ("response", "the due time")):
        if row[f"end_to_end_{kind}_p50_ms"] is not None:
            figures = (f"{words} {_ms(row[f'end_to_end_{kind}_{name}_ms'])}" for words, name in _FIGURES.items())
            yield f"  end to end from {since}, ms: {', '.join(figures)}"
    yield ""


def _ms(value: float | None) -> str:
    return UNKNOWN if value is None else significant(value)


def _document(found: ReadTest) -> dict[str, object]:
    about = {name: value for name, value in asdict(found.test).items() if name != "rows"}
    theirs = {level: [asdict(line) for line in lines] for level, lines in levels(found.test)}
    return {"run": found.run, "test": about, "kafkabench": theirs, "streamgauge": found.ours}
