"""Figures of the machine: CPU and waits for a core by role and by process, pauses of the brokers' collectors."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from streamgauge.report.figures.drawing.figure import (
    Figure,
    FigureSource,
    Row,
    faded,
    legend_selects,
    over_phases,
    phases_of,
    rounded,
    seconds_axis,
    series_color,
    tip,
)
from streamgauge.report.figures.drawing.grid import TimeGrid, ValueOf, summed
from streamgauge.report.figures.drawing.sampled import Line, present, sampled
from streamgauge.report.figures.drawing.theme import FEW_TICKS, PANEL_HEIGHT, color_of

MOST_POINTS: Final = 600
"""Spans of time over which a figure has means."""
MOST_WORKERS: Final = 12
"""More lines than these cannot be told apart; the busiest are shown."""
OTHERS, STEAL, MACHINE = "other processes", "steal", "machine"
OURS: Final[Mapping[str, str]] = {
    "broker": "broker", "producer": "producers", "consumer": "consumers", "query": "query", "driver": "query",
    "executor": "query", "python": "query",
}  # fmt: skip
"""What the roles of processes are called together; all others watch and decide."""
_OBSERVERS: Final = "sampler, controller"
_ROLES: Final = ("broker", "producers", "consumers", "query", _OBSERVERS, OTHERS, STEAL)
"""From the bottom of the stack to its top."""
_STOLEN: Final = 0.005
"""Steal of less than this share of the machine is not shown apart."""
_LITTLE: Final = 0.01
"""Waits of less than this share of the time are nothing to look at."""
_NOT_RECORDED: Final = "no resources were recorded"


def cpu(source: FigureSource) -> Figure:
    """Cores used by each role, stacked; what is left of the machine was idle."""
    name, title = "cpu", "CPU by role"
    cores = source.result.run.machine.get("cores")
    about = "Cores used, one role on top of the other."
    about += f" What is left of the {cores} cores was idle." if cores else ""
    looks = _looks(source)
    grid = TimeGrid.over(looks, MOST_POINTS)
    if grid is None:
        return Figure(name, title, about, missing=_NOT_RECORDED, section="overview")
    roles = _used(looks, grid, cores)
    rows = [
        {"s": rounded(second), "series": role, "value": rounded(value)}
        for role, values in roles.items()
        for second, value in zip(grid.middles, _gaps_of_all(values, roles), strict=True)
    ]
    chosen = legend_selects()
    scale = alt.Scale(domain=[0, cores], nice=False) if cores else alt.Scale(zero=True)
    areas = (
        alt.Chart(alt.NamedData(name))
        .mark_area(opacity=0.9, line=False)
        .encode(
            seconds_axis(),
            alt.Y("value:Q", title="cores", stack="zero", scale=scale),
            series_color(list(roles), [color_of(role) for role in roles], _SQUARES),
            order=alt.Order("at:Q"),
            opacity=faded(chosen),
            tooltip=[tip("s", "second"), tip("series"), tip("value", "cores")],
        )
        .transform_calculate(at=f"indexof({list(roles)}, datum.series)")
        .add_params(chosen)
    )
    chart = over_phases(source, areas).properties(height=PANEL_HEIGHT)
    return Figure(name, title, about, chart, {name: rows, **phases_of(source)}, section="overview")


_SIGNS: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_SQUARES: Final = alt.Legend(orient="top", symbolType="square", columns=4)


def _used(looks: Sequence[Row], grid: TimeGrid, cores: float | None) -> dict[str, list[float | None]]:
    """Cores of each role that used any, in the order of the stack."""
    found = {role: summed(parts) for role, parts in _by_role(looks, grid, lambda row: row["cpu_cores"]).items()}
    machine = found.pop(MACHINE, None)
    if machine is not None:
        ours = summed(list(found.values())) if found else [0.0] * grid.count
        found[OTHERS] = [
            None if whole is None else max(0.0, whole - (part or 0.0))
            for whole, part in zip(machine, ours, strict=True)
        ]
        host = [row for row in looks if row["role"] == "host"]
        stolen = grid.means(host, lambda row: None if row["steal_share"] is None else row["steal_share"] * (cores or 0))
        if max((value for value in stolen if value is not None), default=0.0) > _STOLEN * (cores or 1):
            found[STEAL] = stolen
    return {role: found[role] for role in _ROLES if role in found}


def _gaps_of_all(values: Sequence[float | None], roles: Mapping[str, Sequence[float | None]]) -> list[float | None]:
    """What is not known of one role while others are known is nothing: the process had not begun, or had ended."""
    known = [any(value is not None for value in at) for at in zip(*roles.values(), strict=True)]
    return [0.0 if value is None and is_known else value for value, is_known in zip(values, known, strict=True)]


def cpu_by_process(source: FigureSource) -> Figure:
    """Cores used by each process and by the machine, a line each."""
    about = "Cores used by each process, and by the machine. A gap is time that was not sampled."
    figure = Figure("cpu-processes", "CPU by process", about, missing=_NOT_RECORDED)
    looks = _looks(source)
    grid = TimeGrid.over(looks, MOST_POINTS)
    if grid is None:
        return figure
    used = {process: grid.means(rows, lambda row: row["cpu_cores"]) for process, rows in _by_process(looks).items()}
    busiest = sorted(used, key=lambda process: -sum(value or 0.0 for value in used[process]))[:MOST_WORKERS]
    lines = present(
        Line(process, color, list(zip(grid.middles, used[process], strict=True)), dash)
        for process, (color, dash) in _styles(busiest, looks).items()
    )
    chart, data = sampled(
        source, "cpu_processes", lines, alt.Y("value:Q", title="cores", scale=alt.Scale(zero=True, nice=FEW_TICKS))
    )
    cut = f" The {MOST_WORKERS} busiest of {len(used)} are shown." if len(used) > MOST_WORKERS else ""
    return Figure(figure.name, figure.title, about + cut, chart.properties(height=PANEL_HEIGHT), data)


def _styles(processes: Sequence[str], looks: Sequence[Row]) -> dict[str, tuple[str, int]]:
    """Of each process its colour, which is that of its role, and its dash, which tells it from others of the role."""
    roles = {_name(row): _role(row["role"]) for row in looks}
    seen: dict[str, int] = {}
    styles = {}
    for process in sorted(processes):
        role = roles[process]
        styles[process] = (color_of(role), seen.get(role, 0))
        seen[role] = seen.get(role, 0) + 1
    return styles


def waiting(source: FigureSource) -> Figure:
    """How long processes of each role waited for a core, and how much of the time anything did."""
    name, title = "waiting", "Waiting for a core"
    about = (
        "Time that threads were ready to run and had no core, as a share of the elapsed time; summed over threads, so "
        "possibly above 1. For the machine: the share of the time in which at least one task waited. Waiting "
        "for a core delays messages: compare with latency peaks."
    )
    looks = _looks(source)
    grid = TimeGrid.over(looks, MOST_POINTS)
    waits = _by_role(looks, grid, _waited) if grid else {}
    middles = grid.middles if grid else []
    lines = present(
        Line(role, color_of(role), list(zip(middles, summed(parts), strict=True))) for role, parts in waits.items()
    )
    if not lines:
        return Figure(name, title, about, missing="it was not recorded how long processes waited")
    y = alt.Y(
        "value:Q", title="waiting, share of time", scale=alt.Scale(zero=True, domainMax=_top(lines), nice=FEW_TICKS)
    )
    chart, data = sampled(source, name, lines, y)
    few = max(line.highest or 0.0 for line in lines) < _LITTLE
    nothing = f"No role waited for more than {_LITTLE:.0%} of the time." if few else None
    return Figure(name, title, about, chart.properties(height=PANEL_HEIGHT), data, nothing_new=nothing)


def _top(lines: Sequence[Line]) -> float:
    """Where the axis ends: what is little should look so."""
    return max(0.1, *(line.highest or 0.0 for line in lines))


def _waited(row: Row) -> float | None:
    shares = [row.get(name) for name in ("run_delay_share", "client_run_delay_share", "cpu_pressure_share")]
    known = [share for share in shares if share is not None]
    return sum(known) if known else None


def pauses(source: FigureSource) -> Figure:
    """Each pause of a collector."""
    name, title = "gc", "GC pauses of the brokers"
    about = "A broker does not respond during a GC pause: compare with latency peaks."
    found = [row for row in source.rows("gc") if row["second"] is not None]
    if not found:
        embedded = source.result.run.broker.embedded
        missing = "there was no pause" if embedded else "GC pauses are known for embedded brokers only"
        return Figure(name, title, about, missing=missing, section="overview")
    rows = [
        {"s": rounded(row["second"]), "value": rounded(row["pause_ms"]), "kind": row["kind"], "series": row["process"]}
        for row in found
    ]
    series = list(dict.fromkeys(row["series"] for row in rows))
    legend = _SQUARES if len(series) == 1 else alt.Legend(orient="top", columns=4)
    base = alt.Chart(alt.NamedData(name)).encode(
        seconds_axis(),
        alt.Y("value:Q", title="pause, ms", stack=None),
        series_color(series, [color_of("broker")] * len(series), legend),
        tooltip=[tip("s", "second"), tip("series"), tip("kind"), tip("value", "ms")],
    )
    marks = [base.mark_bar(width=3)]
    if len(series) > 1:
        # All have the colour of their role: signs tell them apart.
        shapes = alt.Scale(domain=series, range=[_SIGNS[at % len(_SIGNS)] for at in range(len(series))])
        shape = alt.Shape("series:N", scale=shapes, title=None, legend=legend)
        marks.append(base.mark_point(filled=True, size=60, opacity=1).encode(shape))
    chart = over_phases(source, *marks).properties(height=PANEL_HEIGHT)
    return Figure(name, title, about, chart, {name: rows, **phases_of(source)}, section="overview")


def _looks(source: FigureSource) -> list[Row]:
    """The looks at processes whose time is known."""
    return [row for row in source.rows("resources", scope="interval") if row["second"] is not None]


def _name(row: Row) -> str:
    return MACHINE if row["role"] == "host" else str(row["process"])


def _role(role: str) -> str:
    return MACHINE if role == "host" else OURS.get(role, _OBSERVERS)


def _by_process(looks: Sequence[Row]) -> dict[str, list[Row]]:
    """The looks at each process; the machine is one of them."""
    found: dict[str, list[Row]] = {}
    for row in looks:
        found.setdefault(_name(row), []).append(row)
    return found


def _by_role(looks: Sequence[Row], grid: TimeGrid, value: ValueOf) -> dict[str, list[list[float | None]]]:
    """The means of each process that has any, by its role."""
    found: dict[str, list[Any]] = {}
    for rows in _by_process(looks).values():
        means = grid.means(rows, value)
        if any(each is not None for each in means):
            found.setdefault(_role(rows[0]["role"]), []).append(means)
    return found
