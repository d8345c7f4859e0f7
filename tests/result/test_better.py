"""Whether more of a figure is better, or less."""

from fnmatch import fnmatchcase

import pytest
from tests.verdict.test_companions import companions

from streamgauge.result.better import RULES, more_is_better

MORE = {
    "throughput": {
        "sent_per_second", "acked_per_second", "received_per_second", "processed_per_second", "sent_mb_per_second",
        "received_mb_per_second",
    },
    "steps": {"sent_per_second", "acked_per_second", "received_per_second"},
    "connections": {"made", "held", "per_second"},
    "delivery": {"sent", "acked", "received", "delivered_once", "delivered_share"},
    "recovery": {"drain_rate_per_second", "peak_slope_per_second"},
}  # fmt: skip
"""By section and last name."""
TARGETS = ("throughput.target_per_second", "steps.0.target_per_second")
"""What the scenario says."""
COSTS = {
    "resources.cpu_us_per_message.brokers", "resources.garbage_collection.pauses",
    "resources.garbage_collection.total_ms",
}  # fmt: skip
"""Figures that the verdict does not judge, and of which less is better all the same."""
NEITHER = {
    "delivery": {"checked", "checked_share", "unread", "aborted", "fate_unknown_received", "seen_elsewhere"},
    "recovery": {"detected_s"},
}
ALL = sorted(companions() | companions(known=False) | COSTS)


@pytest.mark.parametrize("path", ALL)
def test_every_figure_has_its_direction(path: str) -> None:
    """Of all others less is better: latencies, lag, times, and counts of what went wrong."""
    section, *between, name = path.split(".")
    expected: bool | None = name in MORE.get(section, ())
    if name in NEITHER.get(section, ()) or (section == "latency" and between[0].startswith("poll")):
        expected = None
    assert more_is_better(path) is expected


@pytest.mark.parametrize(
    "path",
    [*TARGETS, "throughput.measured_seconds", "latency.ack.response.count", "run.seed",
     "resources.host.cpu_cores", "lag.samples", "pipeline.committed", "expectations", ""],
)  # fmt: skip
def test_of_anything_else_nobody_knows(path: str) -> None:
    assert more_is_better(path) is None


def test_every_rule_is_needed() -> None:
    """Each is the first that fits some figure, or keeps what the scenario says from being one."""
    first = {next(rule for rule in RULES if fnmatchcase(path, rule)) for path in [*ALL, *TARGETS]}
    assert first == set(RULES)
