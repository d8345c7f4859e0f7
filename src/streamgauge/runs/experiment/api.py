"""Experiments and searches in the Python API."""

import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.domain.errors import BadInput
from streamgauge.experiments.paths import ExperimentFolder, SearchFolder
from streamgauge.experiments.record import ExperimentRecord
from streamgauge.experiments.search.record import SearchRecord
from streamgauge.experiments.search.steps import SearchAnswer
from streamgauge.experiments.tables import EXPERIMENT_TABLES
from streamgauge.processes.patience import Progress
from streamgauge.runs.api import Run
from streamgauge.runs.experiment.conduct import conduct, go_on
from streamgauge.runs.experiment.folder import read_record
from streamgauge.runs.experiment.judge import answered
from streamgauge.runs.experiment.lines import step_line, step_text
from streamgauge.runs.experiment.request import experiment_of, given_keys, sweep_of
from streamgauge.runs.experiment.search.conduct import SearchView
from streamgauge.runs.experiment.search.conduct import go_on as go_on_search
from streamgauge.runs.experiment.search.conduct import search as carry_out_search
from streamgauge.runs.experiment.search.request import SearchOptions, search_of
from streamgauge.runs.experiment.search.shipped import of_shipped
from streamgauge.runs.experiment.told import ExperimentEnded, ExperimentView
from streamgauge.runs.request.options import RunOptions
from streamgauge.runs.request.scenario_file import setting_text, value_text
from streamgauge.watch.display import Quiet

if TYPE_CHECKING:
    import pyarrow as pa

    from streamgauge.report.compare.answers import Together


class Experiment:
    """An experiment: its record, its runs, its tables, and what the runs say together.

    `streamgauge.experiment` and `streamgauge.sweep` return it; `streamgauge.Experiment(folder)` opens one.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = ExperimentFolder(Path(folder))

    @cached_property
    def record(self) -> ExperimentRecord:
        """experiment.json: what was asked, and what became of each run. Raises BadInput if it cannot be read."""
        return read_record(self.folder)

    @cached_property
    def answer(self) -> "Together | None":
        """What the runs say together: variants, figures and verdicts; None where no run has a result."""
        return answered(self.folder, self.record)

    @property
    def runs(self) -> list[Run]:
        """The runs that have a folder, in their order."""
        return [Run(self.folder.runs / each.folder) for each in self.record.runs if each.folder]

    def table(self, name: str) -> "pa.Table":
        """A gold table as an Arrow table: runs, metrics, variants or pairs.

        Raises BadInput if there is none of this name, or it was not written.
        """
        from streamgauge.report.files import read_gold

        path = self.folder.tables / f"{name}.parquet"
        if name not in EXPERIMENT_TABLES or not path.exists():
            raise BadInput.single(name, "no table of this name", f"Known: {', '.join(EXPERIMENT_TABLES)}")
        return read_gold(path)

    def __repr__(self) -> str:
        return f"streamgauge.Experiment({str(self.folder.root)!r})"


def experiment(
    source: str | Path | Mapping[str, Any],
    *,
    vary: Mapping[str, Sequence[Any] | Mapping[str, Any]] | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the option
    repeat: int | None = None,
    order: str | None = None,
    metric: str | None = None,
    bootstrap: str | None = None,
    client_config: str | Path | None = None,
    out: str | Path = "experiments",
    resume: str | Path | None = None,
    allow_reset: bool = False,
    allow_code: bool = False,
    trust: Sequence[str | Path] = (),
    progress: Progress | None = None,
) -> Experiment:
    """Carry out an experiment; the same as `streamgauge experiment`.

    `source` is the name of a shipped experiment, a YAML file, or a mapping with the keys of one. `vary` replaces some
    of what it varies, as in `sweep`. With `resume`, a folder, what is left of the experiment there is done. `progress`
    is called with lines of progress.

    Raises BadInput with all faults of the input before anything starts.
    """
    options = _options(set, bootstrap, client_config, out, allow_reset, allow_code, trust)
    changes = given_keys(repeat=repeat, order=order, metric=metric)
    view, given = _view(progress), source if isinstance(source, Mapping) else str(source)
    if resume is not None and vary:
        raise BadInput.single("vary", "cannot be combined with resume", "Leave one of them out")
    if resume is not None:
        ended = go_on(ExperimentFolder(Path(resume)), given, options, changes, view)
    else:
        ended = conduct(experiment_of(given, options, changes, _varied(vary or {})), view, sys.argv)
    return _known(ended)


def sweep(
    scenario: str | Path,
    vary: Mapping[str, Sequence[Any] | Mapping[str, Any]],
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the option
    repeat: int | None = None,
    order: str | None = None,
    metric: str | None = None,
    bootstrap: str | None = None,
    client_config: str | Path | None = None,
    out: str | Path = "experiments",
    allow_reset: bool = False,
    allow_code: bool = False,
    trust: Sequence[str | Path] = (),
    progress: Progress | None = None,
) -> Experiment:
    """Vary settings of a scenario; the same as `streamgauge sweep`.

    `vary` has a list of values, or a range, for each path: `{"load.size": [64, 256]}`. Several make a grid.

    Raises BadInput with all faults of the input before anything starts.
    """
    options = _options(set, bootstrap, client_config, out, allow_reset, allow_code, trust)
    changes = given_keys(repeat=repeat, order=order, metric=metric)
    return _known(conduct(sweep_of(str(scenario), _varied(vary), options, changes), _view(progress), sys.argv))


def _known(ended: ExperimentEnded) -> Experiment:
    """With the record as it is: that of the folder is older where the disk is full."""
    found = Experiment(ended.folder.root)
    found.__dict__["record"] = ended.record
    return found


def _varied(vary: Mapping[str, Sequence[Any] | Mapping[str, Any]]) -> list[str]:
    """What is varied, as `--vary` takes it."""
    return [f"{path}={_values(values)}" for path, values in vary.items()]


class Search:
    """A search: its record and its answer. `streamgauge.search` returns it."""

    def __init__(self, folder: SearchFolder, record: SearchRecord) -> None:
        self.folder, self.record = folder, record

    @property
    def answer(self) -> SearchAnswer:
        """The hardest value that held, the easiest that did not, and the ends between which the truth lies."""
        return self.record.answer

    def __repr__(self) -> str:
        return f"<streamgauge.Search: {self.record.path} held at {self.answer.held}>"


def search(
    scenario: str | Path | None = None,
    objectives: Sequence[str] | None = None,
    *,
    vary: str | None = None,
    find: str | None = None,
    start: str | float | None = None,
    least: str | float | None = None,
    most: str | float | None = None,
    width: str | float | None = None,
    step: str | None = None,
    climb: Mapping[str, Any] | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the option
    bootstrap: str | None = None,
    client_config: str | Path | None = None,
    out: str | Path = "experiments",
    resume: str | Path | None = None,
    allow_reset: bool = False,
    allow_code: bool = False,
    trust: Sequence[str | Path] = (),
    progress: Progress | None = None,
) -> Search:
    """Search for the highest rate, or value of a setting, at which objectives hold; the same as `streamgauge search`.

    `scenario` may also be the name of a search that is shipped; what is stated replaces its options.
    With `resume`, a folder, what is left of the search there is done; scenario and options may be left out then.

    Raises BadInput with all faults of the input before anything starts.
    """
    options = _options(set, bootstrap, client_config, out, allow_reset, allow_code, trust)
    texts = given_keys(path=vary, find=find, start=start, least=least, most=most, width=width, step=step)
    given: dict[str, Any] = {
        **{key: str(value) for key, value in texts.items()},
        **given_keys(objectives=objectives, climb=climb),
    }
    say, asked = progress or Quiet().say, None if scenario is None else str(scenario)
    view = SearchView(say, lambda each, path: say(step_line(each, path)), lambda _: Quiet())
    if resume is not None:
        ended = go_on_search(SearchFolder(Path(resume)), asked, given, options, view)
    else:
        source, given = of_shipped(asked or "", given)
        ended = carry_out_search(search_of(source, SearchOptions(**given), options), view, sys.argv)
    return Search(ended.folder, ended.record)


def _options(
    changes: Mapping[str, Any] | None,
    bootstrap: str | None,
    client_config: str | Path | None,
    out: str | Path,
    allow_reset: bool,
    allow_code: bool,
    trust: Sequence[str | Path],
) -> RunOptions:
    return RunOptions(
        settings=[setting_text(path, value) for path, value in (changes or {}).items()],
        out=Path(out),
        command=sys.argv,
        bootstrap=bootstrap,
        client_config=Path(client_config) if client_config else None,
        allow_reset=allow_reset,
        allow_code=allow_code,
        trust=[Path(each) for each in trust],
    )


def _view(progress: Progress | None) -> ExperimentView:
    say = progress or Quiet().say
    return ExperimentView(say, lambda each: say(step_text(each, None)), lambda _: Quiet())


def _values(values: Sequence[Any] | Mapping[str, Any]) -> str:
    """Values as `--vary` has them."""
    return value_text(values) if isinstance(values, Mapping) else ",".join(map(value_text, values))
