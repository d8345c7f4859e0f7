"""PromQL expressions of rules and dashboard: rates, quantiles and totals of each run."""

from typing import Final

from streamgauge.watch.metrics.names import RUN_LABELS, STAGE, Name

BY_RUN: Final = ", ".join(RUN_LABELS)
CHOSEN: Final = ", ".join(f'{label}=~"${label}"' for label in RUN_LABELS)
"""Selects what is chosen by the variables of the dashboard, which are named like the labels."""

STEP: Final = "5s"
"""How often the values of an expression are looked at, over the time range of the dashboard."""


def series(name: Name, select: str = "", suffix: str = "") -> str:
    """The series of a metric with these labels."""
    return f"{name}{suffix}{{{select}}}" if select else f"{name}{suffix}"


def summed(name: Name, select: str = "", by: str = BY_RUN) -> str:
    """The sum of a metric over the workers of each run."""
    return f"sum by ({by}) ({series(name, select)})"


def rate(name: Name, window: str, select: str = "", by: str = BY_RUN) -> str:
    """How fast a counter rises over a window, a second, summed over the workers of each run."""
    return f"sum by ({by}) (rate({series(name, select)}[{window}]))"


def quantile(share: float, name: Name, window: str, select: str = "") -> str:
    """A quantile of the latencies of a window."""
    buckets = f"sum by ({BY_RUN}, le) (rate({series(name, select, '_bucket')}[{window}]))"
    return f"histogram_quantile({share:g}, {buckets})"


def mean(name: Name, window: str, select: str = "") -> str:
    """The mean latency of a window."""
    total, count = (
        f"sum by ({BY_RUN}) (rate({series(name, select, suffix)}[{window}]))" for suffix in ("_sum", "_count")
    )
    return share(total, count)


def share(part: str, whole: str) -> str:
    """One sum as a share of another one."""
    return f"{part} / {whole}"


def in_stage(stage: str, select: str = "") -> str:
    """What follows `and` or `unless`: the runs that are in this stage."""
    chosen = ", ".join(filter(None, (select, f'stage="{stage}"')))
    return f"on ({BY_RUN}) {series(STAGE, chosen)} == 1"


def final(name: Name, select: str = "") -> str:
    """The last value in the time range of the dashboard, also after the run."""
    return f"sum by ({BY_RUN}) (last_over_time({series(name, select)}[$__range]))"


def over_range(function: str, expression: str) -> str:
    """A function like `max_over_time` of an expression over the time range of the dashboard."""
    return f"{function}({_over_range(expression)})"


def quantile_over_range(share: float, expression: str) -> str:
    """A quantile of the values of an expression over the time range of the dashboard."""
    return f"quantile_over_time({share:g}, {_over_range(expression)})"


def _over_range(expression: str) -> str:
    # Without a step Prometheus would look once in a minute, at full minutes of the clock, and a run may have only one.
    return f"({expression})[$__range:{STEP}]"
