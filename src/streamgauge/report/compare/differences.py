"""In what variants differ, apart from their figures: what was varied, and what should not have been."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streamgauge.domain.text.numbers import listed
from streamgauge.report.compare.variants import Alike, differing, shown
from streamgauge.result import Result
from streamgauge.result.comparing import archives_differ
from streamgauge.scenario.comparing import settings_of
from streamgauge.verdict.calibration import MACHINE

_MACHINE: Final = (*MACHINE, "release", "memory_bytes")
"""What a machine is; not how it was doing."""
_MOST_VALUES: Final = 3


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that is not the same in all variants."""

    about: str
    """`setting`, `machine`, `version` or `broker`."""
    name: str
    values: tuple[str, ...]
    """Of each variant, in their order; several where its runs differ."""


def differences(variants: Sequence[Alike]) -> list[Difference]:
    """What is not the same in all runs: settings first, then machine, versions and brokers."""
    kinds = {"setting": _settings, "machine": _machine, "version": _versions, "broker": _broker}
    found: list[Difference] = []
    for about, facts in kinds.items():
        each = [[facts(run) for run in variant.runs] for variant in variants]
        names = differing([run for runs in each for run in runs])
        found += [Difference(about, name, tuple(_values(runs, name) for runs in each)) for name in names]
    return found


def warnings(variants: Sequence[Alike], found: Sequence[Difference], varied: Collection[str] = ()) -> Iterator[str]:
    """Why a difference of figures may come from something else than what was varied, on purpose or by itself."""
    settings = [each.name for each in found if each.about == "setting"]
    if not varied and len(settings) > 1:
        yield f"The variants differ in {len(settings)} settings. No figure tells which of them made a difference."
    if varied and (besides := [name for name in settings if not any(is_below(name, path) for path in varied)]):
        yield f"The variants also differ in what was not varied: {listed(besides)}."
    others = [each for each in found if each.about != "setting"]
    if others and (settings or len(others) > 1):
        named = listed([f"{each.about} {each.name}" for each in others])
        yield f"These are not the same everywhere, and may have made the difference: {named}."
    if tools := sorted({run.run.imported for variant in variants for run in variant.runs if run.run.imported}):
        about = "nothing has judged them, and their latencies may be defined otherwise"
        yield f"Results of {listed(tools)} were imported: {about}."
    if old := sum(not run.trust and not run.run.imported for variant in variants for run in variant.runs):
        yield f"{old} of the runs have figures without intervals: an older version analysed them. Analyse them again."
    archives = {run.run.id: run.run.broker.class_archive for variant in variants for run in variant.runs}
    if warning := archives_differ(archives):
        yield warning


def is_below(name: str, path: str) -> bool:
    """Whether a setting is this one, or a part of it."""
    return name == path or name.startswith(f"{path}.")


def _settings(result: Result) -> Mapping[str, Any]:
    return settings_of(result.run.scenario)


def _machine(result: Result) -> Mapping[str, Any]:
    return {name: result.run.machine.get(name) for name in _MACHINE}


def _versions(result: Result) -> Mapping[str, Any]:
    return {**result.run.versions, "kafka": result.run.broker.version}


def _broker(result: Result) -> Mapping[str, Any]:
    return {"embedded": result.run.broker.embedded, "modelled": result.run.broker.modelled}


def _values(runs: Sequence[Mapping[str, Any]], name: str) -> str:
    values = list(dict.fromkeys(shown(run.get(name)) for run in runs))
    more = f" and {len(values) - _MOST_VALUES} more" if len(values) > _MOST_VALUES else ""
    return ", ".join(values[:_MOST_VALUES]) + more
