"""From an experiment file or the options of a sweep to a checked request: every fault of every variant at once."""

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from streamgauge.domain.errors import BadInput, Fault, Faults
from streamgauge.domain.text.secrets import masked
from streamgauge.domain.text.shown import one_line
from streamgauge.experiments.alike import differences
from streamgauge.experiments.expect import ExpectedOfVariant
from streamgauge.experiments.model import ExperimentFile
from streamgauge.experiments.order import PlannedRun, planned_runs
from streamgauge.experiments.parse import examine_experiment
from streamgauge.experiments.record import ExperimentRecord, RecordedVariant
from streamgauge.experiments.variants import GROUPS, ZIP, PlannedVariant
from streamgauge.result.schema import figure_faults
from streamgauge.runs.experiment.search.shipped import shipped_documents, shipped_search
from streamgauge.runs.request.options import RunOptions, Surroundings, request_in, surroundings_of
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.scenario_file import (
    SUFFIXES,
    check_runs_once,
    home_of_scenario,
    mapping_of,
    mapping_with,
    setting_text,
    shipped,
)
from streamgauge.runs.request.spec_files import is_inline
from streamgauge.scenario.written.paths import keys_of, put
from streamgauge.scenario.written.yaml_text import YamlError, read_yaml

_MOST_FAULTS: Final = 20
"""Faults of variants that are shown; of thousands of variants, one mistake makes thousands."""
_VARY: Final = "Write e.g. --vary load.size=64,256,1KiB, or --vary 'load.size={from: 64, to: 16KiB, times: 4}'"


@dataclass(frozen=True, slots=True)
class ExperimentRequest:
    """An experiment that may start."""

    experiment: ExperimentFile
    variants: tuple[PlannedVariant, ...]
    expected: tuple[ExpectedOfVariant, ...]
    requests: tuple[Request, ...]
    """Of one run of each variant."""
    asked: Mapping[str, Any]
    """The experiment with its base scenario written out, secrets masked."""
    options: RunOptions

    @property
    def plan(self) -> list[PlannedRun]:
        """All runs, in their order."""
        asked = self.experiment
        return list(planned_runs(len(self.variants), asked.repeat, asked.order, asked.seed))


@dataclass(frozen=True, slots=True)
class _BaseScenario:
    """What all runs of an experiment have in common."""

    scenario: str | Mapping[str, Any]
    home: Path | None
    """Folder whose files the scenario may read."""
    typed: bool
    """Whether the variants were typed on the command line, and are the word of the one who typed them."""


def experiment_of(
    source: str | Mapping[str, Any], options: RunOptions, changes: Mapping[str, Any], vary: Sequence[str] = ()
) -> ExperimentRequest:
    """The experiment of a shipped name or a YAML file, or what one would say; `changes` replace some of its keys, and
    `vary` some of what it varies.

    Raises BadInput with all faults.
    """
    document, home = _document(source)
    scenario = document.get("scenario")
    base, faults = _BaseScenario("", home, typed=False), Faults()
    if vary and isinstance(document.get("vary", {}), Mapping):
        document["vary"] = {**document.get("vary", {}), **_varied_once(vary, faults)}
    if isinstance(scenario, str):
        base = faults.of(_named_base, scenario, home) or base
    elif isinstance(scenario, Mapping):
        base = _BaseScenario(scenario, home, typed=False)
    place = one_line(source) if isinstance(source, str) else "experiment"
    return _requested({**document, **changes}, base, options, place, faults)


def sweep_of(scenario: str, vary: Sequence[str], options: RunOptions, changes: Mapping[str, Any]) -> ExperimentRequest:
    """The experiment that `--vary path=value,value` makes of a scenario; raises BadInput with all faults."""
    faults = Faults()
    read = _varied_once(vary, faults)
    if not vary:
        faults.append(Fault("--vary", "nothing is varied", _VARY))
    base = faults.of(_named_base, scenario, None)
    name = f"sweep-{_name_of(base.scenario)}" if base else "sweep"
    document = {"name": name, "scenario": scenario, "vary": read, **changes}
    typed = replace(base, scenario=scenario, typed=True) if base else _BaseScenario("", None, typed=True)
    return _requested(document, typed, options, "sweep", faults)


def _varied_once(vary: Sequence[str], faults: Faults) -> dict[str, Any]:
    """Values by path of all `--vary`; those that are wrong, or given twice, are added to the faults."""
    read = [pair for text in vary if (pair := faults.of(varied, text)) is not None]
    for path in dict.fromkeys(path for path, _ in read if sum(path == other for other, _ in read) > 1):
        faults.append(Fault(f"--vary {one_line(path)}", "is given twice", "Write all of its values into one"))
    return dict(read)


def varied(text: str) -> tuple[str, Any]:
    """Path and values of a `--vary`: a list of values or a range. Raises BadInput."""
    path, equals, given = text.partition("=")
    where = f"--vary {one_line(text)}"
    if not equals or not path.strip() or path.strip() in {GROUPS, ZIP} or not given.strip():
        raise BadInput.single(where, "not of the form path=value,value", _VARY)
    try:
        values = read_yaml(f"[{given}]")
    except YamlError as error:
        what = f"the values are not valid YAML: {one_line(error.flaws[0].what)}"
        raise BadInput.single(where, what, "Quote them") from error
    alone = values[0] if len(values) == 1 else None
    return path.strip(), alone if isinstance(alone, Mapping) and "from" in alone else values


def shipped_experiments() -> dict[str, dict[str, Any]]:
    """Name and document of every experiment that comes with the package."""
    return shipped_documents(searches=False)


def _document(source: str | Mapping[str, Any]) -> tuple[dict[str, Any], Path | None]:
    """What an experiment says, and the folder of its file; no folder for one that is shipped, or in no file.

    Raises BadInput for what cannot be read.
    """
    if isinstance(source, Mapping):
        return deepcopy(dict(source)), None
    known = shipped_experiments()
    if source in known:
        return known[source], None
    if shipped_search(source):
        raise BadInput.single(source, "is a search", f"Use streamgauge search {source}")
    if Path(source).suffix not in SUFFIXES and not is_inline(source) and not os.path.lexists(source):
        close = difflib.get_close_matches(source, known, n=1)
        hint = (
            f"Did you mean `{close[0]}`?" if close else f"Shipped experiments: {', '.join(known)}; or name a YAML file"
        )
        raise BadInput.single(one_line(source) or "FILE", "no experiment of this name", hint)
    return mapping_of(source, "experiment"), home_of_scenario(source)


def _named_base(scenario: str, home: Path | None) -> _BaseScenario:
    """A base that is shipped, or a file beside that of the experiment; BadInput for one that asks for a search."""
    is_file = home is not None and Path(scenario).suffix in SUFFIXES and scenario not in shipped()
    path = str(home / scenario) if home is not None and is_file else scenario
    check_runs_once(path)
    return _BaseScenario(mapping_of(path), home_of_scenario(path) or home, typed=False)


def _name_of(scenario: object) -> str:
    name = scenario.get("name") if isinstance(scenario, Mapping) else None
    return name if isinstance(name, str) else "scenario"


def _requested(
    document: Mapping[str, Any], base: _BaseScenario, options: RunOptions, place: str, faults: Faults
) -> ExperimentRequest:
    of_options = Faults()
    around = surroundings_of(options, of_options)
    examined = faults.of(examine_experiment, document, place)
    requests: list[Request] = []
    if examined and not faults:
        experiment, variants, expects = examined
        named = {"metric": experiment.metric, **{f"expect.{place}": each.path for place, each in enumerate(expects)}}
        faults += [fault for where, path in named.items() if path for fault in figure_faults(where, path)]
        faults += _set_twice(options.settings, variants)
        asked = [_asked(each, experiment, base) for each in variants]
        found = [_of_variant(each, around, base) for each in asked]
        faults += _of_variants([each.name for each in variants], [wrong for _, wrong in found])
        requests = [each for each, _ in found if each is not None]
        faults += _unfit(requests)
    if faults or of_options or examined is None:
        raise BadInput([*faults, *of_options])
    experiment, variants, expects = examined
    written = {**document, "scenario": mapping_with(base.scenario, options.settings)}
    return ExperimentRequest(experiment, tuple(variants), tuple(expects), tuple(requests), masked(written), options)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A variant as a scenario, and what of it was typed."""

    scenario: str | Mapping[str, Any]
    settings: tuple[str, ...]
    faults: tuple[Fault, ...]


def _asked(variant: PlannedVariant, experiment: ExperimentFile, base: _BaseScenario) -> _Asked:
    if base.typed:
        settings = tuple(setting_text(path, value) for path, value in variant.settings.items())
        return _Asked(base.scenario, settings, ())
    scenario, faults = deepcopy(dict(base.scenario)), Faults()  # type: ignore[arg-type]
    for key, values in (("set", experiment.set), ("vary", variant.settings)):
        for path, value in values.items():
            faults.of(put, scenario, keys_of(path), deepcopy(value), f"{key}.{path}")
    return _Asked(scenario, (), tuple(faults))


def _of_variant(asked: _Asked, around: Surroundings, base: _BaseScenario) -> tuple[Request | None, list[Fault]]:
    if asked.faults:
        return None, list(asked.faults)
    return request_in(around, asked.scenario, asked.settings, base.home)


def _of_variants(names: Sequence[str], faults: Sequence[Sequence[Fault]]) -> Iterator[Fault]:
    """Faults that all variants have, once; others with the first variant that has them."""
    of_all = [fault for fault in faults[0] if all(fault in each for each in faults)]
    yield from of_all
    seen = set(map(str, of_all))
    others: list[Fault] = []
    for name, each in zip(names, faults, strict=True):
        for fault in each:
            if str(fault) not in seen:
                seen.add(str(fault))
                others.append(Fault(f"variant {name}: {fault.where}", fault.what, fault.mend))
    yield from others[:_MOST_FAULTS]
    if len(others) > _MOST_FAULTS:
        yield Fault("vary", f"{len(others) - _MOST_FAULTS} more faults of other variants", "Correct those above first")


def _set_twice(settings: Sequence[str], variants: Sequence[PlannedVariant]) -> Iterator[Fault]:
    """Settings of the command line that would undo what is varied."""
    paths = {tuple(keys_of(path)): path for variant in variants for path in variant.settings}
    for setting in settings:
        keys = tuple(keys_of(setting.partition("=")[0]))
        for varied_keys, path in paths.items():
            if keys[: len(varied_keys)] == varied_keys or varied_keys[: len(keys)] == keys:
                value = setting.partition("=")[2] if keys == varied_keys else "..."
                mend = f"Write --vary {one_line(f'{path}={value}')} instead, or leave one of them out"
                yield Fault(f"--set {one_line('.'.join(keys))}", f"the experiment varies {path}", mend)


def _unfit(requests: Iterable[Request]) -> Iterator[Fault]:
    if any(each.scenario.phases.start_at is not None for each in requests):
        yield Fault(
            "phases.start_at", "has no place in an experiment: its runs begin one after another", "Leave it out"
        )


def resumed(
    record: ExperimentRecord,
    source: str | Mapping[str, Any] | None,
    options: RunOptions,
    changes: Mapping[str, Any],
) -> ExperimentRequest:
    """The request of an experiment that goes on, from its file or else from what was recorded of it.

    More rounds may be asked for; raises BadInput where anything else that its runs depend on differs.
    """
    of_record = {"repeat": record.repeat, "order": record.order, "seed": record.seed}
    if options.bootstrap is None and options.client_config is None:
        options = replace(options, bootstrap=record.cluster)
    request = experiment_of(record.asked if source is None else source, options, {**of_record, **changes})
    place = one_line(source) if isinstance(source, str) else "experiment"
    variants, cluster = recorded_variants(request.variants), request.requests[0].bootstrap
    if faults := list(differences(record, request.experiment, request.asked, variants, cluster, place)):
        raise BadInput(faults)
    return request


def given_keys(**given: object) -> dict[str, object]:
    """Keys of an experiment that options replace: those that were given."""
    return {key: value for key, value in given.items() if value is not None}


def recorded_variants(variants: Sequence[PlannedVariant]) -> list[RecordedVariant]:
    """The variants as experiment.json has them."""
    return [
        RecordedVariant(
            name=each.name,
            settings={path: masked(value, keys_of(path)[-1]) for path, value in each.settings.items()},
        )
        for each in variants
    ]
