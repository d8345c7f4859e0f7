"""Runs that were measured alike are runs of one variant; what sets variants apart gives them their names."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from streamgauge.domain.folder.paths import RunFolder
from streamgauge.domain.text.numbers import UNKNOWN
from streamgauge.result import Result
from streamgauge.scenario.comparing import as_text, setting_text, settings_of
from streamgauge.scenario.written.paths import short

MOST_NAMED: Final = 3
"""Variants that differ in more settings than this are named by their scenarios."""


@dataclass(frozen=True, slots=True)
class GivenRun:
    """A run to be compared."""

    given: str
    """What was given to name it: a run folder, or a folder of runs."""
    result: Result
    folder: RunFolder | None = None
    """Where its tables may be; None where only its result is known."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Runs of one variant, in the order of their creation."""

    name: str
    runs: tuple[Result, ...]
    rounds: tuple[int, ...] | None = None
    """The round of each in its experiment; None outside of one."""
    without_result: int = 0
    """How many more runs failed, and have no result."""
    folders: tuple[RunFolder | None, ...] = field(default=(), compare=False)
    """Of each run, as of `GivenRun`; empty where none is known. Where tables are is no part of what runs say."""
    given: str = ""
    """What was given, where the same settings were given more than once and are variants of their own."""


def variants_of(runs: Sequence[GivenRun]) -> list[Alike]:
    """The runs by their settings, in the order in which these came first.

    If all have the same settings, as before and after an upgrade, the runs of each folder that was given are a variant.
    If two folders hold the same several settings, as an experiment and its repetition, their runs are not mixed.
    """
    found = by_settings(runs)
    if len(found) < 2:
        return [_alike(given, each) for given, each in _by(runs, [run.given for run in runs]).items()]
    if not _is_repeated(runs):
        return found
    folders = {run.given: [each for each in runs if each.given == run.given] for run in runs}
    named = {id(each): one.name for one in found for each in one.runs}
    return [
        replace(one, name=f"{given}: {named[id(one.runs[0])]}", given=given)
        for given, of_folder in folders.items()
        for one in by_settings(of_folder)
    ]


def _is_repeated(runs: Sequence[GivenRun]) -> bool:
    """Whether two of the folders that were given hold several settings each, some of them the same."""
    settings: defaultdict[str, set[str]] = defaultdict(set)
    for run in runs:
        settings[run.given].add(as_text(settings_of(run.result.run.scenario)))
    several = [each for each in settings.values() if len(each) > 1]
    return any(one & other for one, other in combinations(several, 2))


def by_settings(runs: Sequence[GivenRun]) -> list[Alike]:
    """The runs by their settings, in the order in which these came first; each named by the settings that differ."""
    found = list(_by(runs, [as_text(settings_of(run.result.run.scenario)) for run in runs]).values())
    firsts = [each[0].result.run for each in found]
    names = setting_names([settings_of(each.scenario) for each in firsts])
    if len(set(names)) < len(names):
        scenarios = [each.name for each in firsts]
        names = scenarios if len(set(scenarios)) == len(scenarios) else [each.id for each in firsts]
    return [_alike(name, each) for name, each in zip(names, found, strict=True)]


def distinct_names(paths: Sequence[Path]) -> dict[Path, str]:
    """A name for each of these absolute paths: as many of its last parts as no other of them ends with."""

    def ends(path: Path, count: int) -> tuple[str, ...]:
        return path.parts[-count:]

    others = {path: [each for each in paths if each != path] for path in paths}
    counts = {
        path: next(
            count
            for count in range(1, len(path.parts) + 1)
            if count == len(path.parts) or all(ends(each, count) != ends(path, count) for each in others[path])
        )
        for path in paths
    }
    return {path: str(Path(*ends(path, count))) for path, count in counts.items()}


def _by(runs: Sequence[GivenRun], keys: Sequence[str]) -> dict[str, list[GivenRun]]:
    found: defaultdict[str, list[GivenRun]] = defaultdict(list)
    for key, run in zip(keys, runs, strict=True):
        found[key].append(run)
    return {
        key: sorted(each, key=lambda one: (one.result.run.created, one.result.run.id)) for key, each in found.items()
    }


def _alike(name: str, runs: Sequence[GivenRun]) -> Alike:
    return Alike(name, tuple(run.result for run in runs), folders=tuple(run.folder for run in runs))


def setting_names(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each by the values of the settings that differ; all the same where too many do."""
    paths = differing(settings)
    if not paths or len(paths) > MOST_NAMED:
        return [""] * len(settings)
    return [", ".join(f"{short(path, paths)}={shown(each.get(path))}" for path in paths) for each in settings]


def differing(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """The paths whose values are not the same everywhere; a path that is missing has no value."""
    paths = dict.fromkeys(path for each in settings for path in each)
    return [path for path in paths if len({as_text(each.get(path)) for each in settings}) > 1]


def shown(value: Any) -> str:
    """A setting as scenarios have it."""
    return UNKNOWN if value is None else setting_text(value)
