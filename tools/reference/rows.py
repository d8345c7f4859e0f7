"""The pages of events and gold tables, with their columns."""

from collections.abc import Iterable

from streamgauge.domain.events import EVENTS
from streamgauge.domain.tables.latency import METRICS
from streamgauge.domain.tables.schema import Schema
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.experiments.tables import EXPERIMENT_TABLES
from tools.reference.markdown import code, document, sentence, table

EVENTS_INTRO = """\
Every event of a run is a row in `RUN/events/<kind>/worker=<name>/part-<n>.parquet`. Columns ending in `_ns` are
nanoseconds of the monotonic clock of the run's host; `RUN/run.json` has a reading of this clock and of the wall clock
at the same moment. A producer *claims* a message before it hands it to the client. Unknown values are null. Columns do
not change; later versions may add some."""

TABLES_INTRO = """\
Results of `analyse`, in `RUN/tables/<name>.parquet`. `scope` is what a row covers: `run` (everything, including warm-up
and drain), `measure` (the measure phase), `window` (one second; `second` counts from the start of the measure phase, so
warm-up is negative) or `partition` (one partition, measure phase). Times are in the unit of their name. Unknown values
are null. Columns do not change; later versions may add some."""

EXPERIMENT_INTRO = """\
Answers over all runs of an experiment, in `DIR/tables/<name>.parquet`. Beside these columns, `runs`, `metrics` and
`variants` have one for each varied setting, named by its path, as text."""


def events_page() -> str:
    """Every kind of event."""
    return document("Events", EVENTS_INTRO, *_sections(EVENTS.values()))


def tables_page() -> str:
    """Every gold table, and the latency metrics."""
    metrics = table(("metric", "formula"), ((code(name), code(is_)) for name, is_ in METRICS.items()))
    return document(
        "Tables",
        TABLES_INTRO,
        "## Metrics",
        metrics,
        *_sections(TABLES.values()),
        "## Tables of an experiment",
        EXPERIMENT_INTRO,
        *_sections(EXPERIMENT_TABLES.values(), "###"),
    )


def _sections(schemas: Iterable[Schema], level: str = "##") -> Iterable[str]:
    for schema in schemas:
        yield f"{level} {schema.name}"
        yield sentence(schema.about)
        yield table(
            ("column", "type", "nullable", "description"),
            (
                (code(each.name), each.type.value, "yes" if each.nullable else "", sentence(each.about))
                for each in schema.columns
            ),
        )
