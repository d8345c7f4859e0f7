"""The pages of what is recorded and what is answered: columns of events and of gold tables."""

from collections.abc import Iterable

from streamgauge.domain.events import EVENTS
from streamgauge.domain.tables.latency import METRICS
from streamgauge.domain.tables.schema import Schema
from streamgauge.domain.tables.schemas import TABLES
from tools.reference.markdown import code, document, sentence, table

EVENTS_INTRO = """\
Everything that happens in a run is a row in `RUN/events/<kind>/worker=<name>/part-<n>.parquet`. Columns ending in `_ns`
are nanoseconds of the monotonic clock of the run's host; `RUN/run.json` says what it and the wall clock showed at the
same moment. What is not known is null. Columns stay what they are; new ones may come."""

TABLES_INTRO = """\
What `analyse` answers from the rows, in `RUN/tables/<name>.parquet`. `scope` says what a row covers: `run` (everything,
warm-up and drain included), `measure` (the measure phase), `window` (one second; `second` counts from the start of the
measure phase, so that warm-up is negative) or `partition` (one partition within the measure phase). Times are in the
unit of their name. What is not known is null. Columns stay what they are; new ones may come."""


def events_page() -> str:
    """Every kind of event."""
    return document("Events", EVENTS_INTRO, *_sections(EVENTS.values()))


def tables_page() -> str:
    """Every gold table, and the metrics that some of them speak of."""
    metrics = table(("metric", "is"), ((code(name), code(is_)) for name, is_ in METRICS.items()))
    return document("Tables", TABLES_INTRO, "## Metrics", metrics, *_sections(TABLES.values()))


def _sections(schemas: Iterable[Schema]) -> Iterable[str]:
    for schema in schemas:
        yield f"## {schema.name}"
        yield sentence(schema.about)
        yield table(
            ("column", "type", "null", "meaning"),
            (
                (code(each.name), each.type.value, "may be" if each.nullable else "", sentence(each.about))
                for each in schema.columns
            ),
        )
