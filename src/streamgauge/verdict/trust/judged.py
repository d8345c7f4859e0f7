"""Which numbers of a result are judged: the others say something else, or are told elsewhere."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from streamgauge.domain.errors import BadValue, Fault
from streamgauge.domain.text.numbers import listed
from streamgauge.domain.text.shown import one_line
from streamgauge.result.model.trust import FigureTrust
from streamgauge.result.schema import numbers_below

SECTIONS: Final = (
    "throughput", "latency", "schedule_delay", "delivery", "connections", "lag", "recovery", "pipeline",
    "steps",
)  # fmt: skip
NOT_FIGURES: Final[Mapping[str, str]] = {
    "throughput.target_per_second": "the scenario's",
    "throughput.measured_seconds": "read from the clock",
    "latency.topics.*": "told of all topics together",
    "latency.*.count": "as in delivery",
    "latency.*.censored": "as in delivery",
    "latency.*_hi_ms": "an end of an interval",
    "latency.*.cdf.*": "drawn, and read as percentiles",
    "latency.since_record_time.negative": "asked by the check of record timestamps",
    "latency.since_record_time.error_ms": "an end of an interval",
    "schedule_delay.count": "as in delivery",
    "schedule_delay.producers.*": "told of all producers together",
    "connections.*.target_per_second": "the scenario's",
    "lag.every_ms": "the scenario's",
    "lag.samples": "what the sampler did",
    "lag.failed": "what the sampler did",
    "lag.failed_share": "what the sampler did",
    "lag.cpu_cores": "what the sampler used",
    "lag.*.max_second": "when, not how much",
    "recovery.*.began_second": "when, not how much",
    "recovery.*.ended_second": "when, not how much",
    "recovery.*.peak_second": "when, not how much",
    "recovery.*.interval_ms": "the scenario's",
    "recovery.*.tolerance": "what counts as recovered",
    "steps.*.step": "which, not how much",
    "steps.*.from_second": "when, not how much",
    "steps.*.to_second": "when, not how much",
    "steps.*.target_per_second": "the scenario's",
    "steps.*.errors": "as in delivery",
    "steps.*.count": "as in delivery",
    "steps.*.censored": "as in delivery",
    "steps.*_hi_ms": "an end of an interval",
    "steps.*.cdf.*": "drawn, and read as percentiles",
    "pipeline.stages.*.count": "as in delivery",
    "pipeline.stages.*.null_count": "as in delivery",
    "pipeline.stages.*.share": "of the means",
    "pipeline.stages.*.error_ms": "an end of an interval",
    "pipeline.groups.*": "parts of counts of delivery",
    "pipeline.events.*": "when, not how much",
    "pipeline.executors.*": "what Spark says of itself",
    "pipeline.lookups.*": "asked beside the load",
    "pipeline.[!s]*": "what Spark and the source say of themselves",
    "pipeline.sta[!g]*": "what Spark says of itself",
}
"""Numbers of these sections that are not judged, and why. The first pattern that fits counts."""


def exemption(path: str) -> str | None:
    """The pattern that says why the number at a path is not judged; None where it is."""
    return next((pattern for pattern in NOT_FIGURES if fnmatchcase(path, pattern)), None)


def judge_by_faults(judge_by: Sequence[str]) -> list[Fault]:
    """Entries of `judge_by` that name no figure that is judged: by its path in the result, or by how that begins."""
    return [fault for place, path in enumerate(judge_by) if (fault := _fault(f"judge_by.{place}", path))]


def unmatched(figures: Mapping[str, FigureTrust], judge_by: Iterable[str]) -> list[str]:
    """Entries of `judge_by` that name no figure of a run."""
    return [each for each in judge_by if not any(named(path, [each]) for path in figures)]


def named(path: str, judge_by: Sequence[str]) -> bool:
    """Whether `judge_by` names a figure: by its path, or by how that begins."""
    return path in judge_by or path.startswith(tuple(f"{each}." for each in judge_by))


def _fault(where: str, path: str) -> Fault | None:
    try:
        numbers = numbers_below(path)
    except BadValue as error:
        return Fault(where, f"{one_line(path)}: {error.what}", error.mend)
    section = path.partition(".")[0]
    if section not in SECTIONS:
        close = difflib.get_close_matches(section, SECTIONS, n=1)
        mend = f"Did you mean `{close[0]}`?" if close else f"Write one of {listed([*SECTIONS])}, or a path below it"
        return Fault(where, f"{one_line(path)}: has no interval to judge by", mend)
    if any(exemption(each) is None for each in numbers):
        return None
    why = next((NOT_FIGURES[pattern] for each in numbers if (pattern := exemption(each))), "it holds no number")
    return Fault(where, f"{one_line(path)}: is not judged: {why}", f"Name another figure of {section}")
