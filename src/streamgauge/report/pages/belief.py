"""What of a result may be believed, in words: the verdict, and its parts."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final, Self

from streamgauge.domain.text.numbers import listed, significant
from streamgauge.result import Result
from streamgauge.result.imported import ImportedPoint
from streamgauge.result.model.trust import FigureTrust
from streamgauge.result.model.verdict import VerdictSection
from streamgauge.verdict.trust.judged import unmatched

_JUDGEMENTS: Final = {True: "VALID", False: "NOT VALID", None: "NOT JUDGED"}
IMPORTED: Final = "IMPORTED, NOT JUDGED"
_FAMILIES: Final = {
    "throughput": "rates",
    "latency.end_to_end.response": "end-to-end response",
    "latency.end_to_end.service": "end-to-end service",
    "latency.ack.response": "ack response",
    "latency.ack.service": "ack service",
    "latency.processing.response": "processing response",
    "latency.processing.service": "processing service",
    "latency.since_record_time": "latency since record time",
    "latency.poll": "polls",
    "latency.batch": "batches",
    "latency.flush_wait": "flush waits",
    "latency.throttle": "throttle delays",
    "latency.own_schedule_delay": "own schedule delay",
    "schedule_delay": "schedule delay",
    "pipeline.stages.0": "stage schedule",
    "pipeline.stages.1": "stage produce",
    "pipeline.stages.2": "stage wait for the batch",
    "pipeline.stages.3": "stage process",
    "pipeline.stages.4": "stage deliver",
    "pipeline.stages.5": "all stages together",
    "delivery": "delivery",
    "connections": "connections",
    "lag": "lag",
    "recovery": "recovery",
    "steps.rates": "step rates",
    "steps.response": "step response",
    "steps.service": "step service",
    "redelivery": "redelivery",
}
"""Figures that are told together, by how their paths begin."""
_PARTS: Final = re.compile(r"^(delivery|lag|recovery|steps)\.(?:measure|groups\.\d+|\d+)\.")
"""Figures of the measure phase and of groups are told with those of the run, and those of all recoveries together."""
_STEP_RATES: Final = re.compile(r"^steps\.(?=\w+_per_second$)")
_POLLS: Final = ("latency.poll_per_record.", "latency.poll.")
"""Polls by message are told with polls."""
_SHOWN_PERCENTS: Final = frozenset({50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.99, 99.999})
_MOST_DEFECTS: Final = 6
"""All are in result.json."""
_UNITS: Final = re.compile(r"(_ms)?(_per_second|_s|_ms|_ms2)?$")
_TAIL: Final = ("p50", "p75", "p90", "p95", "p99", "p99_5", "p99_9", "p99_99", "max")


def judgement(result: Result) -> str:
    """The verdict in capitals; of a run that another tool measured, that nobody judged it."""
    verdict = result.verdict
    if result.run.imported and verdict.valid is None:
        return IMPORTED
    return "VALID IN PART" if verdict.valid and verdict.state == "in_part" else _JUDGEMENTS[verdict.valid]


def is_good(verdict: VerdictSection) -> bool | None:
    """Whether all is believed, or what is used is not; None in between, and where nobody judged."""
    return None if verdict.state == "in_part" else verdict.valid


def parts(result: Result) -> dict[str, str]:
    """What to believe, what not, and why; and what the scenario narrows the verdict to.

    Nothing is said where all is believed; where nothing is, the checks say why.
    """
    here = {"This machine": result.verdict.place} if result.verdict.place else {}
    lacking = {"Calibration": result.verdict.calibration} if result.verdict.calibration else {}
    return _origin(result) | _narrowed(result) | _divided(result.trust, result.verdict.place or "") | here | lacking


def _narrowed(result: Result) -> dict[str, str]:
    """What the scenario narrows the verdict to, and what of that the run does not have: then it is not valid."""
    judge_by = result.verdict.judge_by
    lacking = unmatched(result.trust, judge_by) if result.trust else []
    what = "figure of this name, so it is" if len(lacking) == 1 else "figures of these names, so it is"
    missing = [f"the run has no {what} not valid: {listed(lacking)}"] if lacking else []
    return {"Judged by": "; ".join([listed(judge_by), *missing])} if judge_by else {}


def _origin(result: Result) -> dict[str, str]:
    """Where imported figures come from, and what is wrong with them."""
    found = result.imported
    if found is None:
        return {}
    percentiles = {
        f"Percentiles of {each.name}": ", ".join(
            f"p{point.percent:g} {_between(point)}" for point in each.points if point.percent in _SHOWN_PERCENTS
        )
        for each in found.latencies
        if not each.exact
    }
    defects = [f"{each.figure}: {each.defect} ({each.action.replace('_', ' ')})" for each in found.defects]
    told = {
        "Imported": f"measured by {found.tool}; {found.format} {found.source}; no check of this tool has judged it",
        **percentiles,
        "Known defects": "; ".join(defects[:_MOST_DEFECTS]),
        "Also": "; ".join(found.notes),
    }
    return {label: text for label, text in told.items() if text}


def _between(point: ImportedPoint) -> str:
    """A percentile as it can have been."""
    if point.high_ms is None:
        return f">= {significant(point.low_ms)} ms"
    low, high = significant(point.low_ms), significant(point.high_ms)
    return f"{low} ms" if low == high else f"{low} to {high} ms"


def _divided(trust: Mapping[str, FigureTrust], place: str) -> dict[str, str]:
    if not any(each.trust == "not_believed" for each in trust.values()):
        return {}
    families = [_family(name, trust) for name in _FAMILIES]
    believe, doubt = _together(good for good, _ in families), _together(bad for _, bad in families)
    return {"Believe": believe, "Not": doubt, "Because": _because(trust, place)} if believe else {}


def doubted(trust: Mapping[str, FigureTrust], pattern: re.Pattern[str]) -> str:
    """What of the figures whose paths match is not believed; empty where all of it is."""
    here = {path: each for path, each in trust.items() if pattern.fullmatch(_shared_path(path))}
    return _together(_family(name, here)[1] for name in _FAMILIES)


def _shared_path(path: str) -> str:
    """The path that a figure is told by: one for all parts of the run that have such a figure."""
    return _STEP_RATES.sub("steps.rates.", _PARTS.sub(r"\1.", path))


class Doubted(str):
    """A figure that is not believed, as text: every report strikes it out."""

    __slots__ = ("because",)
    because: str

    def __new__(cls, text: str, because: Sequence[str]) -> Self:
        """The text of the figure, and the reasons."""
        made = super().__new__(cls, text)
        made.because = "; ".join(because)
        return made


def cell(
    value: float | None, figure: FigureTrust | None, shown: Callable[[float | None], str] = significant, mark: str = ""
) -> str:
    """A figure as text, after a mark; with its interval where it is bounded, Doubted where it is not believed.

    `shown` makes texts of the figure and of the ends.
    """
    if figure is not None and figure.trust == "not_believed":
        return Doubted(mark + shown(value), figure.because)
    if figure is None or figure.trust == "believed" or figure.low is None:
        return mark + shown(value)
    if figure.high is None:
        return f"{mark}>= {shown(figure.low)}"
    low, high = shown(figure.low), shown(figure.high)
    # A unit that both ends have is told once.
    number, _, unit = low.partition(" ")
    return f"{mark}{number if unit and high.endswith(f' {unit}') else low} to {high}"


def in_words(shown: str) -> str:
    """A cell as part of a sentence, which cannot be struck out."""
    return f"({shown}, not believed)" if isinstance(shown, Doubted) else shown


_Told = tuple[str, str] | None
"""A family in words, and which of its figures: empty where all of them. None where none of them."""


def _together(families: Iterable[_Told]) -> str:
    """Families with their figures; latencies are told together where the same figures of both their times are."""
    told = [family for family in families if family]
    alike: dict[str, list[str]] = {}
    for words, figures in told:
        path = words.removesuffix(" response")
        if path != words and (f"{path} service", figures) in told:
            alike.setdefault(figures, []).append(path)
    texts = []
    for words, figures in told:
        paths = alike.get(figures, [])
        is_alike = words.removesuffix(" response").removesuffix(" service") in paths
        texts.append(f"{listed(paths)} latency {figures}" if is_alike else f"{words} {figures}")
    return "; ".join(dict.fromkeys(text.strip() for text in texts))


def _family(name: str, trust: Mapping[str, FigureTrust]) -> tuple[_Told, _Told]:
    """What of a family is believed, and what is not."""
    mine: dict[str, bool] = {}
    for path, each in trust.items():
        told = _shared_path(path).replace(*_POLLS)
        if told.startswith(f"{name}."):
            short = told.removeprefix(f"{name}.")
            mine[short] = mine.get(short, False) or each.trust == "not_believed"
    words = _FAMILIES[name]
    bad = [path for path, is_bad in mine.items() if is_bad]
    if not mine:
        return None, None
    if not bad:
        return (words, ""), None
    if len(bad) == len(mine):
        return None, (words, "")
    good = [path for path in mine if path not in bad]
    known = [_UNITS.sub("", path) for path in mine]
    return (words, _short(good, known)), (words, _short(bad, known))


def _short(paths: Sequence[str], known: Sequence[str]) -> str:
    """Figures of one family: percentiles that follow each other as a range, figures of one thing by its name."""
    names = [_UNITS.sub("", path) for path in paths]
    order = [name for name in _TAIL if name in known]
    tail = [name for name in order if name in names]
    others = [name for name in names if name not in _TAIL]
    things = {name.partition(".")[0] for name in others if "." in name}
    whole = {thing for thing in things if all(name in names for name in known if name.startswith(f"{thing}."))}
    short = dict.fromkeys(thing if (thing := name.partition(".")[0]) in whole else name for name in others)
    return listed([*_range(tail, order), *(re.sub(r"[_.]", " ", name) for name in short)])


def _range(tail: Sequence[str], order: Sequence[str]) -> list[str]:
    """Percentiles in words; more than two that follow each other from the first to the last of them."""
    told: list[str] = []
    # The distance from the place in the tail is the same until one lacks.
    for _, run in groupby(enumerate(tail), key=lambda each: order.index(each[1]) - each[0]):
        names = [name.replace("_", ".") for _, name in run]
        told += [f"{names[0]} to {names[-1]}"] if len(names) > 2 else names
    return told


def _because(trust: Mapping[str, FigureTrust], place: str) -> str:
    """Each reason once, that of most figures first, and none whose fact is told of this machine."""
    reasons: dict[str, int] = {}
    for figure in trust.values():
        if figure.trust == "not_believed":
            for reason in figure.because:
                reasons[reason] = reasons.get(reason, 0) + 1
    first = sorted(reasons, key=lambda reason: -reasons[reason])[:3]
    return "; ".join(reason for reason in first if reason.partition(": ")[0] not in place)
