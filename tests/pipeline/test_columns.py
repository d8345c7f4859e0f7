"""Constants of columns are the names that rows of events have."""

from streamgauge.domain.events import EVENTS
from streamgauge.pipeline import columns

OF_FRAMES = {columns.DONE_NS}
"""Columns that frames have and no event: when a group was done with a message."""


def test_times_are_columns_of_events() -> None:
    times = {value for name, value in vars(columns).items() if name.endswith("_NS")}
    recorded = {column.name for schema in EVENTS.values() for column in schema.columns}

    assert len(times) > 5
    assert times - recorded == OF_FRAMES
