"""The verdict in parts: which figures are used, and what that makes of a run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from streamgauge.result.formats import current_path
from streamgauge.result.model.trust import FigureTrust
from streamgauge.verdict.trust.judged import named as is_named
from streamgauge.verdict.trust.judged import unmatched

State = Literal["valid", "in_part", "not_valid"]

ALWAYS: Final = (
    "throughput.sent_per_second", "throughput.acked_per_second", "throughput.received_per_second",
    "throughput.processed_per_second",
)  # fmt: skip
DELIVERY: Final = "delivery."
MAIN: Final = (
    "latency.end_to_end.response", "latency.end_to_end.service", "latency.ack.response", "latency.ack.service",
    "latency.since_record_time",
)  # fmt: skip
"""The latency that is used is the first of these that a run has."""
MAIN_FIGURES: Final = ("p50_ms", "p99_ms")
CONNECTIONS: Final = "connections."
CONNECTION_FIGURES: Final = (".per_second", ".made", ".failed", ".p50_ms", ".p99_ms")
"""What is used of connections in a run that has no latency of messages: nothing is sent there."""


def main_of(figures: Iterable[str]) -> str | None:
    """The latency that is used; None of a run that has none of messages."""
    paths = list(figures)
    return next((main for main in MAIN if any(path.startswith(f"{main}.") for path in paths)), None)


def used(figures: Mapping[str, FigureTrust], named: Iterable[str], judge_by: Sequence[str]) -> list[str]:
    """The paths of the figures that the verdict is about, in the order of the result.

    Always rates, delivery, and p50 and p99 of the main latency, or rates and latencies of connections where there is
    none, and what expectations name (`named`). Only `judge_by` of the scenario narrows this: paths, or how they begin.
    """
    main = main_of(figures)
    wanted = {*ALWAYS, *map(current_path, named), *(f"{main}.{name}" for name in MAIN_FIGURES)}
    if judge_by:
        return [path for path in figures if is_named(path, judge_by)]
    wanted |= {path for path in figures if path.startswith(DELIVERY)}
    if main is None:
        wanted |= {path for path in figures if path.startswith(CONNECTIONS) and path.endswith(CONNECTION_FIGURES)}
    return [path for path in figures if path in wanted]


def is_nothing_believed(trusts: Mapping[str, str], used: Iterable[str]) -> bool:
    """Whether none of the figures is believed or bounded: of those that the verdict is about, or else of all.

    `trusts` has the trust of each figure by its path.
    """
    judged = [trusts[path] for path in used if path in trusts] or [*trusts.values()]
    return bool(judged) and all(each == "not_believed" for each in judged)


def state(figures: Mapping[str, FigureTrust], used: Sequence[str], judge_by: Sequence[str] = ()) -> State:
    """What may be believed of a run: all, all that is used, or not even that.

    Where a figure that is to be used is not there, nobody knows whether it could be believed: then no run is valid.
    """
    if not used or unmatched(figures, judge_by) or any(figures[path].trust == "not_believed" for path in used):
        return "not_valid"
    return "in_part" if any(each.trust == "not_believed" for each in figures.values()) else "valid"
