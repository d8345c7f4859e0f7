"""The jobs by their names, and how each is asked for its output."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from pyspark.sql import DataFrame

from streamgauge.domain.query import QuerySpec
from streamgauge.jobs.shipped import function
from streamgauge.jobs.shipped.count import count
from streamgauge.jobs.shipped.dedup import dedup
from streamgauge.jobs.shipped.enrich import enrich
from streamgauge.jobs.shipped.feature_store import feature_store
from streamgauge.jobs.shipped.keep import keep
from streamgauge.jobs.shipped.log_alert import log_alert
from streamgauge.jobs.shipped.pass_through import pass_through
from streamgauge.scenario.model.pipeline import REAL_TIME

OutputMode = Literal["append", "update"]
ShippedJob = Callable[[DataFrame, Mapping[str, Any]], DataFrame]
JOBS: Final[Mapping[str, ShippedJob]] = MappingProxyType(
    {
        "pass": pass_through,
        "filter": keep,
        "count": count,
        "enrich": enrich,
        "dedup": dedup,
        "log-alert": log_alert,
        "feature-store": feature_store,
    }
)


def made_by(spec: QuerySpec, messages: DataFrame) -> DataFrame:
    """What the job of the specification makes of the messages; raises WorkerError where a user's function cannot."""
    if spec.job == "function":
        return function.call(spec.options["call"], spec.folder, messages)
    return JOBS[spec.job](messages, spec.options)


def output_mode(spec: QuerySpec) -> OutputMode:
    """How the query gives its output: a table only grows, and real-time mode knows nothing but updates.

    Counts are told as they change; alerts and features when their window is over.
    """
    if spec.table is not None:
        return "append"
    if spec.engine == REAL_TIME or spec.job == "count":
        return "update"
    return "update" if spec.options.get("output_mode") == "update" else "append"
