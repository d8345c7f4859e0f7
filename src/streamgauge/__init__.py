"""Streamgauge measures what an event stream on Apache Kafka really delivers.

`run` runs a scenario, `open` opens a run that was recorded before; both return a `Run`. `broker` starts a broker that
many runs share. `experiment` and `sweep` carry out many runs and compare them, `search` finds the highest rate at which
objectives hold. `sql` answers a query about runs and experiments.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamgauge.runs.api import Run, broker, open, run  # noqa: A004 - as in `gzip.open`
    from streamgauge.runs.experiment.api import Experiment, Search, experiment, search, sweep
    from streamgauge.runs.results.sql import sql

__all__ = ["Experiment", "Run", "Search", "broker", "experiment", "open", "run", "search", "sql", "sweep"]
_OF_EXPERIMENTS = {"Experiment", "Search", "experiment", "search", "sweep"}


def __getattr__(name: str) -> Any:
    """Load the API when it is used: worker processes import this package, too, and start without it."""
    if name not in __all__:
        raise AttributeError(f"module 'streamgauge' has no attribute {name!r}")
    if name in _OF_EXPERIMENTS:
        from streamgauge.runs.experiment import api as of_experiments

        return getattr(of_experiments, name)
    if name == "sql":
        from streamgauge.runs.results.sql import sql

        return sql
    from streamgauge.runs import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
