"""How long each partition could not be written or read around faults: a lane for each partition, over the run."""

from collections.abc import Sequence
from typing import Any, Final

import altair as alt

from streamgauge.domain.text.numbers import significant
from streamgauge.report.figures.drawing.figure import (
    Figure,
    FigureSource,
    Row,
    over_phases,
    phases_of,
    seconds_axis,
    series_color,
    tip,
)
from streamgauge.report.figures.drawing.names import apart
from streamgauge.report.figures.drawing.theme import COLORS, PANEL_HEIGHT

MOST_PARTITIONS: Final = 30
"""More lanes would be too thin to be read; those that were held up for longest are shown."""
LANE_HEIGHT: Final = 18
LEAST_SECONDS: Final = 0.1
"""Shorter times are as any run has them, and would be too narrow to be seen."""
_DATA: Final = "outages"
_NAMES: Final = " "
_SERIES: Final = {"unwritable": COLORS["red"], "unreadable": COLORS["orange"]}


def outages(source: FigureSource) -> Figure:
    """The longest time of each partition without acknowledgement, and without delivery, around each fault."""
    name, title = "outages", "Partitions held up by faults"
    about = "The longest time around each fault in which messages of a partition waited and none was acknowledged "
    about += "(unwritable), and in which acknowledged messages waited and none was delivered (unreadable)."
    found = source.rows("fault_partitions")
    if not found:
        return Figure(name, title, about, missing="no fault was over", section="lag")
    rows = [lane for row in found for lane in _lanes(source, row)]
    if not rows:
        nothing = f"No partition was held up for {significant(LEAST_SECONDS)} s or longer by a fault."
        return Figure(name, title, about, missing=nothing, section="lag")
    shown = _longest(rows)
    partitions = {row["partition"] for row in rows}
    cut = f" The {MOST_PARTITIONS} of {len(partitions)} that were held up for longest are shown."
    about += cut if len(partitions) > len(shown) else ""
    lanes = (
        alt.Chart(alt.NamedData(_DATA))
        .mark_bar()
        .encode(
            seconds_axis(),
            alt.X2("to:Q"),
            # The names of faults stand in an empty lane above all.
            alt.Y("partition:N", title="partition", scale=alt.Scale(domain=[_NAMES, *shown])),
            alt.YOffset("series:N", sort=list(_SERIES)),
            series_color(list(_SERIES), list(_SERIES.values()), alt.Legend(orient="top", symbolType="square")),
            tooltip=[tip("fault"), tip("partition"), tip("series"), tip("s", "from second"), tip("lasted")],
        )
    )
    height = max(PANEL_HEIGHT, LANE_HEIGHT * (1 + len(shown)))
    data = {_DATA: [row for row in rows if row["partition"] in shown], **phases_of(source)}
    return Figure(name, title, about, over_phases(source, lanes).properties(height=height), data, section="lag")


def _lanes(source: FigureSource, row: Row) -> list[dict[str, Any]]:
    """What one fault did to one partition, as far as it can be seen."""
    times = {name: (row[f"{name}_second"], row[f"{name}_s"]) for name in _SERIES}
    return [
        {
            "s": round(begin, 3),
            "to": round(begin + seconds, 3),
            "partition": _place(source, row),
            "series": name,
            "fault": _fault(source, row["fault"]),
            "lasted": f"{significant(seconds)} s",
            "seconds": seconds,
        }
        for name, (begin, seconds) in times.items()
        if begin is not None and seconds >= LEAST_SECONDS
    ]


def _fault(source: FigureSource, number: int) -> str:
    row = next((each for each in source.rows("fault_scores") if each["fault"] == number), None)
    return str(number) if row is None else f"{row['kind']} of {row['target']}"


def _place(source: FigureSource, row: Row) -> str:
    """A partition in words: its number, with its topic where there are several."""
    topics = apart({topic.id: topic.name for topic in source.result.run.topics})
    topic = f"{topics.get(row['topic'], row['topic'])} " if len(topics) > 1 else ""
    return f"{topic}{row['partition']}"


def _longest(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The partitions that were held up for longest, in the order in which they came."""
    longest: dict[str, float] = {}
    for row in rows:
        longest[row["partition"]] = max(longest.get(row["partition"], 0.0), row.pop("seconds"))
    chosen = set(sorted(longest, key=lambda place: -longest[place])[:MOST_PARTITIONS])
    return [place for place in longest if place in chosen]
