"""The runs of a page as they were found, and those of them that were measured alike."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamgauge.report.compare.variants import MOST_NAMED, differing, setting_names, shown
from streamgauge.report.runs import RunRow
from streamgauge.report.site.categories import categories
from streamgauge.report.site.moving import MovingLatency
from streamgauge.result import Result
from streamgauge.result.model.run import RunSection
from streamgauge.scenario.comparing import as_text, settings_of
from streamgauge.scenario.written.paths import short


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run below the folder of a page."""

    path: str
    """Its folder, from that of the page, with `/`."""
    row: RunRow
    result: Result | None = None
    """None where it was not analysed, or cannot be read."""
    has_report: bool = False
    csv: tuple[str, ...] = ()
    """Names of its CSV files that the page has."""
    moving: MovingLatency | None = None


@dataclass(frozen=True, slots=True)
class FoundMany:
    """An experiment or a search below the folder of a page."""

    path: str
    """Its folder, from that of the page, with `/`."""
    kind: str
    """`experiment` or `search`."""
    runs: tuple[str, ...]
    """The paths of its runs."""
    files: tuple[str, ...]
    """Names of its files that the page has."""


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Runs of one scenario with equal settings on one machine, the oldest first."""

    scenario: str
    setting: str
    """What sets it apart from other runs of the scenario; empty where all have the same settings."""
    machine: str
    category: str
    runs: tuple[FoundRun, ...]

    @property
    def results(self) -> list[Result]:
        """Of its runs."""
        return [run.result for run in self.runs if run.result]


def groups_of(runs: Sequence[FoundRun]) -> list[RunGroup]:
    """The analysed runs that were measured alike, by scenario, then in the order in which their first run was made."""
    known = [(run, run.result) for run in runs if run.result]
    known.sort(key=lambda each: (each[1].run.name, each[1].run.created, each[0].path))
    settings = {run.path: settings_of(result.run.scenario) for run, result in known}
    names = _setting_names([(result.run.name, settings[run.path]) for run, result in known])
    kinds = categories([result.run for _, result in known])
    alike: defaultdict[tuple[str, str, str], list[tuple[FoundRun, str, str]]] = defaultdict(list)
    for (run, result), name, kind in zip(known, names, kinds, strict=True):
        key = result.run.name, as_text(settings[run.path]), machine_text(result.run)
        alike[key].append((run, name, kind))
    return [
        RunGroup(
            scenario, each[0][1], machine, _most_frequent([kind for _, _, kind in each]), tuple(r for r, _, _ in each)
        )
        for (scenario, _, machine), each in alike.items()
    ]


def _setting_names(given: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """What each run's settings are called among those of its scenario."""
    found: dict[tuple[str, str], str] = {}
    by_scenario: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for scenario, settings in given:
        by_scenario[scenario].append(settings)
    for scenario, all_settings in by_scenario.items():
        distinct = list({as_text(each): each for each in all_settings}.values())
        names = setting_names(distinct)
        names = names if any(names) else _apart_from_most(distinct)
        found |= {(scenario, as_text(each)): name for each, name in zip(distinct, names, strict=True)}
    return [found[scenario, as_text(settings)] for scenario, settings in given]


def _apart_from_most(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each by the values that most of the others do not have, where too many settings differ to name them all."""
    paths = differing(settings)
    usual = {path: _most_frequent([as_text(each.get(path)) for each in settings]) for path in paths}
    names = []
    for each in settings:
        own = [path for path in paths if as_text(each.get(path)) != usual[path]]
        told = [f"{short(path, paths)}={shown(each.get(path))}" for path in own[:MOST_NAMED]]
        more = [f"{len(own) - MOST_NAMED} more"] if len(own) > MOST_NAMED else []
        names.append(", ".join([*told, *more]) or ("usual settings" if paths else ""))
    return names


def _most_frequent(values: Sequence[str]) -> str:
    """The first of those that come most often."""
    return Counter(values).most_common(1)[0][0]


def machine_text(run: RunSection) -> str:
    """The machine of a run, and its cluster where that is no embedded broker: runs elsewhere have another level."""
    facts = run.machine
    quota = facts.get("cpu_quota_cores")
    parts = [
        facts.get("processor") or facts.get("architecture"),
        f"{facts.get('usable_cores') or facts.get('cores') or '?'} cores",
        f"quota {quota:g}" if isinstance(quota, int | float) else None,
        facts.get("system"),
        None if run.broker.embedded else "modelled broker" if run.broker.modelled else run.broker.bootstrap,
    ]
    return ", ".join(str(part) for part in parts if part)


def versions_of(run: RunSection) -> dict[str, str]:
    """The versions of Streamgauge and of the broker, as far as they are known."""
    known = {"Streamgauge": run.versions.get("streamgauge"), "Kafka": run.broker.version}
    return {name: version for name, version in known.items() if version}
