"""A figure that compares what carries a pipeline out: the percentile curve of each engine, at each rate."""

from collections.abc import Sequence
from typing import Final

import altair as alt

from streamgauge.domain.latency.percentiles import PERCENTILES
from streamgauge.domain.text.numbers import UNKNOWN
from streamgauge.domain.text.quantities import format_duration
from streamgauge.report.figures.compare.runs import LabelledRun, checked, kind_of, percentile
from streamgauge.report.figures.drawing.figure import LEGEND, Figure, Row, series_color, tip
from streamgauge.report.figures.drawing.theme import PALETTE
from streamgauge.scenario.profile.model import CONSTANT

HEIGHT, WIDTH = 260, 240
_NAMES: Final = (*PERCENTILES, "max")


def _by_engine(results: Sequence[LabelledRun]) -> list[LabelledRun]:
    """The runs with a pipeline and one rate, if they have several engines; none otherwise."""
    piped = [run for run in results if run.result.pipeline and run.load and run.load.pace.kind == CONSTANT]
    return piped if len({_engine_of(run) for run in piped}) > 1 else []


def _engine_of(run: LabelledRun) -> str:
    """The engine of a run in a few words, like `micro-batch, every 1s`."""
    pipeline = run.result.run.profile.pipeline
    if pipeline is None:
        return UNKNOWN
    return f"{pipeline.engine}, every {format_duration(pipeline.every_ns)}" if pipeline.every_ns else pipeline.engine


def engines(results: Sequence[LabelledRun]) -> Figure:
    """Percentiles of the end-to-end latency: a panel for each rate, a line for each engine.

    From `latency.end_to_end.KIND.pNN_ms` and `max_ms`, KIND as in `codecs`. Of runs with the same engine and rate the
    first is shown. ValueError where there is no result.
    """
    name, title = "engines", "Engines of a pipeline compared"
    about = "End-to-end latency through a pipeline by percentile, on a logarithmic scale."
    runs = _by_engine(checked(results))
    kind = kind_of(runs, "end_to_end")
    rows: dict[tuple[float, str, str], Row] = {}
    for run in runs:
        rate, engine = (run.load and run.load.pace.per_second) or 0.0, _engine_of(run)
        for each in _NAMES:
            found = percentile(run, "end_to_end", kind, each)
            if found is not None:
                row = {"panel": f"{rate:,g} messages/s", "series": engine, "percentile": _shown(each)}
                rows.setdefault((rate, engine, each), row | {"ms": found["value"], "shown": found["shown"]})
    if not rows:
        return Figure(name, title, about, missing="the runs have no pipelines with several engines")
    ordered = [row for _, row in sorted(rows.items(), key=lambda item: item[0][0])]
    series = list(dict.fromkeys(row["series"] for row in rows.values()))
    percentiles = [_shown(each) for each in _NAMES]
    x = alt.X("percentile:N", sort=percentiles, title=None, axis=alt.Axis(labelAngle=0))
    y = alt.Y("ms:Q", title="latency, ms", scale=alt.Scale(type="log"))
    tips = [tip("panel", "rate"), tip("series", "engine"), tip("percentile"), tip("shown", "ms")]
    lines = alt.Chart(alt.NamedData(name)).mark_line(point=True)
    drawn = lines.encode(x, y, series_color(series, PALETTE[: len(series)], LEGEND), tooltip=tips)
    panels = [
        drawn.transform_filter(alt.datum.panel == panel).properties(title=panel, width=WIDTH, height=HEIGHT)
        for panel in dict.fromkeys(row["panel"] for row in ordered)
    ]
    chart = alt.concat(*panels, columns=len(panels)).resolve_scale(y="shared", color="shared")
    return Figure(name, title, about, chart, {name: ordered})


def _shown(percentile_name: str) -> str:
    return percentile_name.replace("_", ".")
