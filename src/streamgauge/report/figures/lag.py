"""Figures of lag: three lags that are never mixed, the partition that is furthest behind, and the age of what waits."""

from collections.abc import Callable, Sequence
from typing import Final

import altair as alt

from streamgauge.report.figures.drawing.figure import SECONDS, Figure, FigureSource, Row, over_phases, phases_of, tip
from streamgauge.report.figures.drawing.names import apart, group_names
from streamgauge.report.figures.drawing.sampled import DECADES, Line, count_axis, limits_of, present, sampled, thinned
from streamgauge.report.figures.drawing.theme import FEW_TICKS, HEAT_LEGEND, HEAT_SCALE, PALETTE, PANEL_HEIGHT, color_of
from streamgauge.report.figures.drawing.thresholds import thresholds

COMMITTED, POSITION, OUTSTANDING = "committed lag", "position lag", "outstanding"
LAGS: Final = {
    COMMITTED: ("lag", "committed_lag"),
    POSITION: ("lag", "position_lag"),
    OUTSTANDING: ("outstanding", "outstanding"),
}
"""Of each lag the table and the column that it is in."""
_EXPECTED: Final = {f"lag.{key}.{figure}": words for key, words in (
    ("committed", COMMITTED), ("position", POSITION), ("outstanding", OUTSTANDING)
) for figure in ("max", "final")}  # fmt: skip
"""Paths of the result that bound a lag."""
LEAST_TIME_MS: Final = 100.0
"""The axis of the time lag ends at so much at least: a jitter of some milliseconds should look small."""
HEAT: Final = "lag_heat"
MOST_PARTITIONS: Final = 48
"""Rows of the heat map; of more partitions, those that were furthest behind are shown."""
PARTITION_HEIGHT: Final = 14
LITTLE_LAG: Final = 10
"""Messages that no partition has to be ashamed of."""
_NOT_SAMPLED: Final = "lag was neither sampled nor computed"


def lag(source: FigureSource) -> Figure:
    """Committed lag, position lag and messages outstanding, with the limits of the policy."""
    name, title = "lag", "Lag over time"
    about = "Committed lag: log end minus committed offset. Position lag: log end minus the next offset to read. Both "
    about += "are sampled. Outstanding: sent and not processed, computed from the events. Committed lag rises between "
    about += "two commits even if consumers keep up."
    lines = [line for of in _groups(source) for line in _lags(source, of)]
    if not lines:
        return Figure(name, title, about, missing=_NOT_SAMPLED, section="overview")
    limits = [*limits_of(source), *thresholds(source, _EXPECTED)]
    y, scale = count_axis(lines, limits, "lag, messages")
    chart, data = sampled(
        source, name, lines, y, limits=[{name: row[name] for name in ("limit", "what")} for row in limits]
    )
    chart = chart.properties(height=PANEL_HEIGHT)
    return Figure(name, title, about + scale + thinned(lines), chart, data, section="overview")


def worst_partition(source: FigureSource) -> Figure:
    """Committed lag of the partition that is furthest behind, beside what an even spread would be."""
    name, title = "partition-lag", "Lag of the worst partition"
    about = "Committed lag of the worst partition at each sample, and the mean of the partitions that are read. Where "
    about += "they differ, load or consumers are not balanced."
    lines = []
    for at, (group, suffix) in enumerate(_groups(source)):
        partitions = _partitions(source, group)
        rows = source.rows("lag", scope="group", group=group) if partitions > 1 else []
        worst = _points(rows, lambda row: row["worst_committed_lag"])
        together = _points(rows, lambda row: row["committed_lag"])
        even = [(second, _share(lag_of_all, partitions)) for second, lag_of_all in together]
        color = PALETTE[at % len(PALETTE)]
        lines += [Line(f"worst{suffix}", color, worst), Line(f"mean{suffix}", color, even, dash=1)]
    lines = present(lines)
    if not lines:
        return Figure(name, title, about, missing="no lag of several partitions was sampled", section="lag")
    y, scale = count_axis(lines, (), "committed lag, messages")
    chart, data = sampled(source, "partition_lag", lines, y)
    chart = chart.properties(height=PANEL_HEIGHT)
    return Figure(name, title, about + scale + thinned(lines), chart, data, section="lag")


def _partitions(source: FigureSource, group: int | None) -> int:
    """Of how many partitions the lag of a group is the sum; older runs say only how many there are."""
    sampled_ones = {(row["topic"], row["partition"]) for row in source.rows(HEAT, group=group)}
    return len(sampled_ones) or sum(topic.partitions or 0 for topic in source.result.run.topics)


def heat_map(source: FigureSource) -> Figure:
    """Committed lag of each partition over time."""
    name, title = "lag-heat", "Lag by partition"
    about = "Largest committed lag of each partition in each span of time. An orange row is a partition that is "
    about += "behind, an orange column a moment at which all were."
    found = [row for row in source.rows(HEAT) if row["committed_lag"] is not None]
    worst: dict[str, int] = {}
    for row in found:
        place = _place(source, row)
        worst[place] = max(worst.get(place, 0), row["committed_lag"])
    if len(worst) < 2:
        missing = "no lag of several partitions was sampled, or the run was analysed by an older version"
        return Figure(name, title, about, missing=missing, section="lag")
    shown = sorted(worst, key=lambda place: -worst[place])[:MOST_PARTITIONS]
    rows = [
        {"from": row["from_second"], "to": row["to_second"], "partition": place, "lag": row["committed_lag"]}
        for row in found
        if (place := _place(source, row)) in shown
    ]
    cells = (
        alt.Chart(alt.NamedData(HEAT))
        .mark_rect()
        .encode(
            alt.X("from:Q", title=SECONDS, axis=alt.Axis(grid=False), scale=alt.Scale(nice=False)),
            alt.X2("to:Q"),
            # Long names leave no room for a title, and say what they are.
            alt.Y(
                "partition:N",
                title="partition" if all(map(str.isdigit, shown)) else None,
                sort=[place for place in worst if place in shown],
            ),
            alt.Color(
                "lag:Q",
                title="committed lag, messages",
                scale=alt.Scale(type="sqrt", **HEAT_SCALE),
                legend=HEAT_LEGEND,
            ),
            tooltip=[tip("partition"), tip("from", "from second"), tip("to", "to second"), tip("lag", "committed lag")],
        )
    )
    chart = over_phases(source, cells).resolve_scale(color="independent")
    cut = (
        f" The {MOST_PARTITIONS} of {len(worst)} that were furthest behind are shown."
        if len(worst) > len(shown)
        else ""
    )
    few = max(worst.values()) <= LITTLE_LAG
    return Figure(
        name, title, about + cut, chart.properties(height=max(PANEL_HEIGHT, PARTITION_HEIGHT * len(shown))),
        {HEAT: rows, **phases_of(source)}, section="lag",
        nothing_new=f"No partition was more than {LITTLE_LAG} messages behind." if few else None,
    )  # fmt: skip


def _place(source: FigureSource, row: Row) -> str:
    """A partition in words: its number, with its topic and its group where there are several."""
    run = source.result.run
    topics = apart({topic.id: topic.name for topic in run.topics})
    groups = group_names(source.result)
    topic = str(topics.get(row["topic"], row["topic"])) if len(topics) > 1 else ""
    group = f"({groups.get(row['group'], row['group'])})" if len(groups) > 1 else ""
    return " ".join(filter(None, (topic, str(row["partition"]), group)))


def time_lag(source: FigureSource) -> Figure:
    """Age of the oldest message that is not processed."""
    name, title = "time-lag", "Time lag"
    about = "Age of the oldest message sent and not processed. A gap means that no message was waiting."
    lines = present(
        Line(f"time lag{suffix}", PALETTE[at % len(PALETTE)], _ages(source.rows("outstanding", group=group)))
        for at, (group, suffix) in enumerate(_groups(source))
    )
    if not lines:
        missing = "no messages were waiting, or it was not computed"
        return Figure(name, title, about, missing=missing, section="lag")
    y, scale = _time_axis(max(line.highest or 0.0 for line in lines))
    chart, data = sampled(source, "time_lag", lines, y)
    chart = chart.properties(height=PANEL_HEIGHT)
    return Figure(name, title, about + scale + thinned(lines), chart, data, section="lag")


def _time_axis(top: float) -> tuple[alt.Y, str]:
    """Linear and never shorter than the least time; where it is far longer, logarithmic above that."""
    if top <= DECADES * LEAST_TIME_MS:
        scale = alt.Scale(zero=True, domainMax=max(LEAST_TIME_MS, top), nice=FEW_TICKS)
        return alt.Y("value:Q", title="time lag, ms", scale=scale), ""
    scale = alt.Scale(type="symlog", constant=LEAST_TIME_MS, domain=[0, 2 * top], nice=False)
    y = alt.Y("value:Q", title="time lag, ms", scale=scale, axis=alt.Axis(values=[0, *_decades(top)]))
    return y, f" The scale is logarithmic, but linear below {LEAST_TIME_MS:.0f} ms."


def _decades(top: float) -> list[int]:
    return [power for power in (10**exponent for exponent in range(2, 12)) if power <= 2 * top]


def _ages(rows: Sequence[Row]) -> list[tuple[float, float | None]]:
    """What is zero is no age: nothing was waiting."""
    return _points(rows, lambda row: row["time_lag_ms"] or None)


def _lags(source: FigureSource, of: tuple[int | None, str]) -> list[Line]:
    """The lags of one group, as far as there are any; colour says which lag it is, the dash whose."""
    group, suffix = of
    dash = [each for each, _ in _groups(source)].index(group)
    return present(
        Line(f"{words}{suffix}", color_of(words), lag_points(source, table, column, group), dash)
        for words, (table, column) in LAGS.items()
    )


def lag_points(source: FigureSource, table: str, column: str, group: int | None) -> list[tuple[float, float | None]]:
    """The values of one lag of a group, by the time of the run."""
    wanted = {"group": group, **({"scope": "group"} if table == "lag" else {})}
    return _points(source.rows(table, **wanted), lambda row: row[column])


def _groups(source: FigureSource) -> list[tuple[int | None, str]]:
    """The groups that have lags, each with what its lines are called by where there are several."""
    found = dict.fromkeys(row["group"] for table in ("lag", "outstanding") for row in source.rows(table))
    names = group_names(source.result)
    several = len(found) > 1
    return [(group, f", {names.get(group, group)}" if several else "") for group in found]


def _points(rows: Sequence[Row], value: Callable[[Row], float | None]) -> list[tuple[float, float | None]]:
    return sorted(((float(row["second"]), value(row)) for row in rows), key=lambda point: point[0])


def _share(value: float | None, parts: int) -> float | None:
    return None if value is None or not parts else value / parts
