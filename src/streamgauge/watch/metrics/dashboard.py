"""The dashboard in Grafana's own model, made by its Foundation SDK."""

from collections.abc import Callable
from string import ascii_uppercase
from typing import Any, Final

from grafana_foundation_sdk.builders import common, heatmap, prometheus, stat, statetimeline, timeseries
from grafana_foundation_sdk.builders import dashboard as building
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as words
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from streamgauge.watch.metrics.names import RUN, RUN_LABELS
from streamgauge.watch.metrics.panels import Panel, PanelQuery, PanelShape
from streamgauge.watch.metrics.sections import sections

UID: Final = "streamgauge"
SOURCE: Final = model.DataSourceRef(type_val="prometheus", uid="${datasource}")
SPANS: Final = ("10s", "30s", "1m", "5m")
_HEIGHTS: Final[dict[PanelShape, int]] = {"number": 4, "states": 6, "lines": 8, "steps": 8, "heatmap": 8}
_ABOUT: Final = {"test": "Name of the scenario.", "run": "Name of the run folder.", "host": "Name of the machine."}


def dashboard() -> str:
    """The dashboard as JSON, for Grafana's import or provisioning."""
    return JSONEncoder(indent=2).encode(_model())


def _model() -> model.Dashboard:
    built = (
        building.Dashboard("Streamgauge")
        .uid(UID)
        .description("Runs of Streamgauge: rates, latency, lag, errors and workers, while they run and afterwards.")
        .tags(["streamgauge", "kafka"])
        .time("now-15m", "now")
        .refresh("5s")
        .timezone("browser")
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
    )
    for variable in (_source(), *_labels(), _span()):
        built.with_variable(variable)
    number = 0
    for section in sections():
        number += 1
        built.with_row(building.Row(section.title).id(number))
        for panel in section.panels:
            number += 1
            built.with_panel(_panel(panel).id(number))
    return built.build()


def _source() -> Any:
    return building.DatasourceVariable("datasource").label("Data source").type("prometheus")


def _labels() -> list[Any]:
    """A variable for each label of a run; each offers what the ones before it leave."""
    found = []
    for at, label in enumerate(RUN_LABELS):
        chosen = ", ".join(f'{each}=~"${each}"' for each in RUN_LABELS[:at])
        everything = model.VariableOption(text="All", value="$__all", selected=True)
        found.append(
            building.QueryVariable(label)
            .label(label.capitalize())
            .description(_ABOUT[label])
            .datasource(SOURCE)
            .query(f"label_values({RUN}{{{chosen}}}, {label})" if chosen else f"label_values({RUN}, {label})")
            .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
            .sort(model.VariableSort.ALPHABETICAL_DESC)
            .multi(True)
            .include_all(True)
            .all_value(".*")
            .current(everything)
        )
    return found


def _span() -> Any:
    return (
        building.IntervalVariable("span")
        .label("Rate window")
        .description("Window of the rates of some panels; at least four times the scrape interval.")
        .values(",".join(SPANS))
        .current(model.VariableOption(text=SPANS[1], value=SPANS[1], selected=True))
    )


def _panel(panel: Panel) -> Any:
    built = _SHAPES[panel.shape]().title(panel.title).description(panel.about).unit(panel.unit).datasource(SOURCE)
    built.span(panel.width).height(_HEIGHTS[panel.shape])
    if panel.shape != "heatmap":
        built.thresholds(building.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(_thresholds(panel)))
    if panel.shape in {"lines", "steps"}:
        bounded = panel.red_from is not None or panel.red_below is not None
        style = words.GraphThresholdsStyleMode.DASHED if bounded else words.GraphThresholdsStyleMode.OFF
        built.thresholds_style(common.GraphThresholdsStyleConfig().mode(style))
    for letter, query in zip(ascii_uppercase, panel.queries, strict=False):
        built.with_target(_target(query, panel.shape).ref_id(letter))
    return built


def _thresholds(panel: Panel) -> list[model.Threshold]:
    if panel.red_below is not None:
        return [model.Threshold(None, "red"), model.Threshold(panel.red_below, "green")]
    bad = [] if panel.red_from is None else [model.Threshold(panel.red_from, "red")]
    return [model.Threshold(None, "green"), *bad]


def _target(query: PanelQuery, shape: PanelShape) -> Any:
    target = prometheus.Dataquery().expr(query.expression).legend_format(query.legend).datasource(SOURCE)
    if shape == "heatmap":
        return target.range().format(PromQueryFormat.HEATMAP)
    return target.instant() if shape == "number" else target.range()


def _number() -> Any:
    last = common.ReduceDataOptions().calcs(["lastNotNull"]).values(False)
    return (
        stat.Panel()
        .reduce_options(last)
        .graph_mode(words.BigValueGraphMode.NONE)
        .color_mode(words.BigValueColorMode.VALUE)
        .text_mode(words.BigValueTextMode.VALUE_AND_NAME)
    )


def _states() -> Any:
    return (
        statetimeline.Panel()
        .legend(common.VizLegendOptions().show_legend(False))
        .show_value(words.VisibilityMode.NEVER)
    )


def _lines() -> Any:
    legend = (
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(words.LegendDisplayMode.TABLE)
        .placement(words.LegendPlacement.BOTTOM)
        .calcs(["lastNotNull", "max"])
    )
    return (
        timeseries.Panel()
        .min(0)
        .legend(legend)
        .tooltip(common.VizTooltipOptions().mode(words.TooltipDisplayMode.MULTI).sort(words.SortOrder.DESCENDING))
    )


def _steps() -> Any:
    return _lines().line_interpolation(words.LineInterpolation.STEP_AFTER)


def _heatmap() -> Any:
    colors = (
        heatmap.HeatmapColorOptions()
        .mode(HeatmapColorMode.SCHEME)
        .scheme("Viridis")
        .fill("dark-orange")
        .exponent(0.5)
        .steps(64)
    )
    # Cells without a message stay empty.
    return (
        heatmap.Panel()
        .calculate(False)
        .color(colors)
        .filter_values(heatmap.FilterValueRange().le(1e-9))
        .y_axis(heatmap.YAxisConfig().unit("s"))
        .show_y_histogram()
        .show_legend()
        .mode(words.TooltipDisplayMode.SINGLE)
    )


_SHAPES: Final[dict[PanelShape, Callable[[], Any]]] = {
    "number": _number,
    "states": _states,
    "lines": _lines,
    "steps": _steps,
    "heatmap": _heatmap,
}
