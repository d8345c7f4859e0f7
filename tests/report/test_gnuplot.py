"""The files of KafkaBench are drawn by gnuplot, as the guide shows it."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from tests.report.test_kafkabench import MS, TEST, S

from streamgauge.report.exports.kafkabench.formulas import PartitionRow, levels
from streamgauge.report.exports.kafkabench.written import CSV_HEADER, csv_lines

GUIDE: Final = Path(__file__).parents[2] / "docs" / "how-to" / "kafkabench.md"
CLUSTERS: Final = ("confluent", "msk")
PARTITIONS: Final = (1, 2, 4, 8)
OF_KAFKABENCH: Final = r"""
set datafile separator ","
set logscale y
set yrange [0.1:]
set style fill solid
plot 'confluent.csv' using ($2 - 0.2):6 with boxes title 'sixth confluent', \
     'msk.csv' using ($2 + 0.2):7 with boxes title 'seventh msk', \
     'confluent.csv' using 2:8 with boxes title 'eighth confluent', \
     'msk.csv' using 2:9 with linespoints axes x1y2 title 'ninth msk', \
     'confluent.csv' using 2:10 with linespoints axes x1y2 title 'tenth confluent'
"""
"""Columns by number, as in the recipe of its README, which counts from one column further right."""


def recipe_of_the_guide() -> str:
    """The only one that starts with how columns are separated."""
    (recipe,) = re.findall(r"```text\n(set datafile separator.*?)```", GUIDE.read_text(), re.DOTALL)
    return str(recipe)


def titles_of_the_guide() -> list[str]:
    whats = ("min", "avg", "max", "KiB/s", "messages/s")
    return [f"{what} {cluster}" for what in whats for cluster in CLUSTERS]


@pytest.mark.parametrize(
    ("recipe", "titles"),
    [
        pytest.param(recipe_of_the_guide(), titles_of_the_guide(), id="of the guide"),
        pytest.param(
            OF_KAFKABENCH,
            ["sixth confluent", "seventh msk", "eighth confluent", "ninth msk", "tenth confluent"],
            id="of KafkaBench",
        ),
    ],
)
def test_gnuplot_draws_each_column_of_two_clusters(recipe: str, titles: list[str], tmp_path: Path) -> None:
    for slower, cluster in enumerate(CLUSTERS, 1):
        (tmp_path / f"{cluster}.csv").write_text("".join(_summary(each, slower) for each in PARTITIONS))
    text = f'set terminal svg\nset output "chart.svg"\n{recipe}'

    done = subprocess.run(
        ["gnuplot"], input=text, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )

    assert (done.returncode, done.stderr) == (0, "")
    chart = (tmp_path / "chart.svg").read_text()
    series = [part.partition("</title>") for part in re.split(r'<g id="gnuplot_plot_\d+" ><title>', chart)[1:]]
    marks = {title: body.count("<polygon") or body.count("<use") for title, _, body in series}
    # One in the legend, and one for each number of partitions.
    assert marks == dict.fromkeys(titles, 1 + len(PARTITIONS))


def _summary(partitions: int, slower: int) -> str:
    """The file of a test of so many partitions, as it is written for each."""
    rows = tuple(
        PartitionRow(0, each, 16, 5 * slower * MS, 90 * slower * MS, 400 * slower * MS, 0, slower * S)
        for each in range(partitions)
    )
    test = replace(TEST, topics=1, partitions=partitions, rows=rows)
    return CSV_HEADER + csv_lines(dict(levels(test))["summary"])
