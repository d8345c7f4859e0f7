"""How the deciding figure of runs that were measured alike went over time, and where it changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import altair as alt

from streamgauge.domain.text.numbers import listed, moment, plural, significant
from streamgauge.report.compare.answers import ComparedMetric, metric_at, primaries, values_at
from streamgauge.report.figures.drawing.figure import SMALLEST_TEXT, Figure, Row, rounded, tip
from streamgauge.report.figures.drawing.theme import COLORS
from streamgauge.report.site.found import RunGroup, versions_of
from streamgauge.result import Result
from streamgauge.statistics import limits
from streamgauge.statistics.changes import RunLevel, levels

_HEIGHT = 220


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """A run of a trend."""

    result: Result
    value: float
    counts: bool
    """Whether it takes part: it finished, and its figure is believed or bounded."""


@dataclass(frozen=True, slots=True)
class TrendChange:
    """A change of level, between two runs that take part."""

    before: RunLevel
    after: RunLevel
    last: Result
    """The last run before it."""
    first: Result
    """The first run after it."""


@dataclass(frozen=True, slots=True)
class Trend:
    """One figure of a group of runs, in the order in which they were made."""

    group: RunGroup
    metric: ComparedMetric
    points: tuple[TrendPoint, ...]
    levels: tuple[RunLevel, ...] | None
    """Of the points that take part, numbered among these; None where there are too few."""

    @property
    def taking_part(self) -> list[int]:
        """The places of the points that take part."""
        return [place for place, point in enumerate(self.points) if point.counts]

    @property
    def changes(self) -> list[TrendChange]:
        """In their order."""
        taking_part = [self.points[place].result for place in self.taking_part]
        return [
            TrendChange(before, after, taking_part[after.begin - 1], taking_part[after.begin])
            for before, after in pairwise(self.levels or ())
        ]


def trend_of(group: RunGroup, metric: str | None = None) -> Trend | None:
    """The trend of a figure, by default of the first that decides and that a run has; None where no run has it."""
    for path in [metric] if metric else primaries(group.results):
        points = [TrendPoint(*each) for each in values_at(group.results, path)]
        if points:
            found = levels([each.value for each in points if each.counts])
            return Trend(group, metric_at(path), tuple(points), None if found is None else tuple(found))
    return None


def name_of(group: RunGroup) -> str:
    """What a group is called where its machine is named elsewhere."""
    return f"{group.scenario}, {group.setting}" if group.setting else group.scenario


def counted_of(count: int, what: str) -> str:
    """So many of something: `1 run`, `12 runs`."""
    return f"{count} {plural(count, what)}"


def change_sentence(trend: Trend, change: TrendChange) -> str:
    """Where it changed, by how much, and which versions were others then."""
    unit = f" {trend.metric.unit}" if trend.metric.unit == "ms" else trend.metric.unit
    before, after = change.before.mean, change.after.mean
    ratio = f", {significant(after / before)} times as much" if before > 0 and after > 0 else ""
    said = (
        f"{name_of(trend.group)}: {trend.metric.label} from {significant(before)} to {significant(after)}{unit}{ratio}"
    )
    news = _news(change.last, change.first)
    versions = f"; new since the run before: {listed(news)}" if news else ""
    return f"{said}, from {moment(change.first.run.created)} on{versions}"


def _news(before: Result, now: Result) -> list[str]:
    """Versions that are not those of the run before."""
    known = versions_of(before.run)
    return [f"{name} {version}" for name, version in versions_of(now.run).items() if known.get(name) != version]


def trend_figure(trend: Trend, name: str) -> Figure:
    """Every run as a point, the levels as lines, and lines where a version was new."""
    metric, points = trend.metric, trend.points
    out = len(points) - len(trend.taking_part)
    title = ", ".join(filter(None, (trend.group.scenario, trend.group.setting, trend.group.machine)))
    about = f"{metric.label} of {counted_of(len(points), 'run')}, the oldest first. "
    about += f"{out} hollow: not believed or not finished; they take no part. " if out else ""
    about += " ".join(f"{change_sentence(trend, change)}." for change in trend.changes)
    if len(points) == 1:
        return Figure(name, title, about.strip(), missing=_nothing_new(trend))
    return Figure(name, title, about.strip(), _chart(trend, name), _data(trend, name), nothing_new=_nothing_new(trend))


def _nothing_new(trend: Trend) -> str | None:
    count, total = len(trend.taking_part), counted_of(len(trend.points), "run")
    said = total if count == len(trend.points) else f"{count} of {total} to go by"
    if trend.levels is None:
        return f"{said}; a change is looked for from {limits.FEWEST_IN_ORDER} on"
    return None if trend.changes else f"no change shown in {said}"


def _data(trend: Trend, name: str) -> dict[str, Sequence[Row]]:
    results = [point.result for point in trend.points]
    rows = [
        {
            "run": place, "id": each.result.run.id, "created": moment(each.result.run.created),
            "value": rounded(each.value), "state": "counts" if each.counts else "left out",
            "versions": ", ".join(f"{key} {value}" for key, value in versions_of(each.result.run).items()),
        }
        for place, each in enumerate(trend.points, 1)
    ]  # fmt: skip
    places = trend.taking_part
    drawn = [
        {"from": places[each.begin] + 0.5, "to": places[each.end - 1] + 1.5, "level": rounded(each.mean)}
        for each in trend.levels or ()
    ]
    news = [(place, _news(*pair)) for place, pair in enumerate(pairwise(results), 1)]
    versions = [{"at": place + 0.5, "version": listed(each)} for place, each in news if each]
    extra: dict[str, Sequence[Row]] = {f"{name}_levels": drawn, f"{name}_versions": versions}
    return {name: rows, **{key: found for key, found in extra.items() if found}}


def _chart(trend: Trend, name: str) -> alt.LayerChart:
    unit = trend.metric.unit
    title = f"{trend.metric.label}, {unit}" if unit else trend.metric.label
    values = [each.value for each in trend.points]
    is_log = 0 < min(values) < max(values)
    scale = alt.Scale(type="log", nice=False, padding=12) if is_log else alt.Scale()
    y = alt.Y("value:Q", title=title, scale=scale)
    x = alt.X(
        "run:Q", title="run", axis=alt.Axis(grid=False, tickMinStep=1),
        scale=alt.Scale(domain=[0.5, len(trend.points) + 0.5], nice=False),
    )  # fmt: skip
    tips = [tip("id", "run"), tip("created"), tip("value"), tip("state"), tip("versions")]
    blue = COLORS["blue"]
    fill = alt.when(alt.FieldEqualPredicate(field="state", equal="counts")).then(alt.value(blue))
    points = alt.Chart(alt.NamedData(name)).mark_point(size=50, color=blue, opacity=1)
    layers = [points.encode(x, y, fill=fill.otherwise(alt.value("transparent")), tooltip=tips)]
    data = _data(trend, name)
    if f"{name}_levels" in data:
        lines = alt.Chart(alt.NamedData(f"{name}_levels")).mark_rule(
            color=COLORS["orange"], strokeWidth=2, tooltip=False
        )
        layers.append(lines.encode(alt.X("from:Q"), alt.X2("to:Q"), alt.Y("level:Q", scale=scale)))
    if f"{name}_versions" in data:
        marks = alt.Chart(alt.NamedData(f"{name}_versions")).encode(alt.X("at:Q"))
        grey = COLORS["grey"]
        layers.append(marks.mark_rule(color=grey, strokeDash=[4, 3], tooltip=False))
        text = marks.mark_text(align="left", baseline="top", dx=3, fontSize=SMALLEST_TEXT, color=grey, tooltip=False)
        layers.append(text.encode(alt.Text("version:N"), y=alt.value(1)))
    return alt.LayerChart(layer=layers).properties(height=_HEIGHT)
