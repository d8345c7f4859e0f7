"""Runs to be compared: results with labels, which of them differ in one setting only, what figures take from them."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.text.numbers import listed, significant
from streamgauge.report.figures.drawing.figure import Row, rounded
from streamgauge.report.figures.drawing.timeline import KINDS
from streamgauge.result import Result
from streamgauge.result.model.latency import LatencyFigures, LatencyPair
from streamgauge.scenario.comparing import apart, apart_from_policy
from streamgauge.scenario.profile.model import BURST, LoadProfile


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """One run: what it is called in the figures, and its result.json."""

    label: str
    result: Result

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The scenario as it was carried out."""
        return self.result.run.scenario

    @property
    def load(self) -> LoadProfile | None:
        """What producers sent; None where there are none."""
        return self.result.run.profile.load

    @property
    def measured_seconds(self) -> float:
        """How long was measured, as it was meant: a phase may end some microseconds late."""
        return round(self.result.throughput.measured_seconds or 0.0, 2)


@dataclass(frozen=True, slots=True)
class BurstSeen:
    """One burst, in seconds since the start of the measure phase; `next_begins` is where its period ends."""

    begins: float
    ends: float
    next_begins: float


def checked(results: Sequence[LabelledRun]) -> Sequence[LabelledRun]:
    """The same results; ValueError where there are none, or two have the same label."""
    if not results:
        raise ValueError("there is no result to compare; give at least one")
    labels = [run.label for run in results]
    if twice := [label for label in dict.fromkeys(labels) if labels.count(label) > 1]:
        raise ValueError(f"more than one result is called {listed(twice)}; give each its own label")
    return results


def differing(results: Sequence[LabelledRun], setting: str) -> list[LabelledRun]:
    """The runs whose scenarios differ in this setting and in nothing else; none where all have the same."""
    return _most_different([(*apart(run.scenario, setting), run) for run in results if run.load])


def by_policy(results: Sequence[LabelledRun]) -> list[LabelledRun]:
    """The runs whose scenarios differ in their backpressure and in nothing else; none where all have the same."""
    return _most_different([(*apart_from_policy(run.scenario), run) for run in results])


def _most_different(keyed: Sequence[tuple[str, str, LabelledRun]]) -> list[LabelledRun]:
    """Of runs {what they share, their value, run} those that share the same and have the most values."""
    alike: defaultdict[str, list[tuple[str, LabelledRun]]] = defaultdict(list)
    for rest, value, run in keyed:
        alike[rest].append((value, run))
    most = max(alike.values(), key=_values, default=[])
    return [run for _, run in most] if _values(most) > 1 else []


def _values(runs: Sequence[tuple[str, LabelledRun]]) -> int:
    return len({value for value, _ in runs})


def kind_of(results: Sequence[LabelledRun], *paths: str) -> str:
    """Response time where every run that has such a latency has it, else service time: no figure mixes them."""
    having = [pair for run in results for path in paths if any(map(_has, (pair := _pair(run, path)).kinds.values()))]
    return KINDS[0] if all(_has(pair.response) for pair in having) else KINDS[1]


def _pair(run: LabelledRun, path: str) -> LatencyPair:
    pair: LatencyPair = getattr(run.result.latency, path)
    return pair


def _has(figures: LatencyFigures | None) -> bool:
    return figures is not None and figures.p50_ms is not None


def percentile(run: LabelledRun, path: str, kind: str, name: str) -> Row | None:
    """One percentile of a run in ms: `value`, where the uncertainty ends (`top`), and as text; None where it is null.

    Messages that never came make a percentile an interval; one without end is drawn up to twice its begin.
    """
    figures = _pair(run, path).kinds[kind]
    ms = figures.ms(name) if figures else None
    # What is zero has no place on a logarithmic scale.
    if figures is None or ms is None or ms <= 0:
        return None
    censored = figures.is_least(name)
    top = (figures.high_ms(name) or 2 * ms) if censored else ms
    return {"value": rounded(ms), "top": rounded(top), "shown": ("> " if censored else "") + significant(ms)}


def bursts(run: LabelledRun) -> list[BurstSeen]:
    """The bursts within the measure phase, from `run.profile.load.pace`; the last may end after it."""
    pace = run.result.run.profile.pace
    if pace is None or pace.kind != BURST:
        return []
    lasts, rest = (segment.for_ns / NS_PER_SECOND for segment in pace.then)
    every = lasts + rest
    count = math.ceil(round(run.measured_seconds / every, 3))
    return [BurstSeen(number * every, number * every + lasts, (number + 1) * every) for number in range(count)]
