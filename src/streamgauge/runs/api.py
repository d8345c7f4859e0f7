"""The Python API: what `import streamgauge` offers to scripts and notebooks."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.cluster.embedded import EmbeddedCluster
from streamgauge.domain.errors import BadInput
from streamgauge.domain.events import EVENTS
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.domain.limits import MOST_NODES
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.domain.text.address import LOOPBACK
from streamgauge.processes.patience import Progress
from streamgauge.record.facts import read_facts
from streamgauge.result import Result
from streamgauge.runs import analysis
from streamgauge.runs.conduct.prepare import plan_of_settings, security_of, settings_of_cluster
from streamgauge.runs.conduct.target import shared_broker
from streamgauge.runs.request.options import RunOptions, check_analysis, checked_java, job_settings, request_of
from streamgauge.runs.request.percentiles import figures_of
from streamgauge.runs.request.recording import check_record_only
from streamgauge.runs.request.scenario_file import conversion_notes, setting_text
from streamgauge.runs.run import metrics_of
from streamgauge.runs.run import run as run_request
from streamgauge.watch.display import Display, Lines, Quiet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from streamgauge.pipeline.read.bronze import Bronze


class Run:
    """One run: its result, its tables and its events. `streamgauge.run` and `streamgauge.open` return it."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = RunFolder(Path(folder))

    @cached_property
    def facts(self) -> RunFacts:
        """run.json: scenario, environment, times, and how the run ended. Raises BadInput if it cannot be read."""
        return read_facts(self.folder)

    @cached_property
    def result(self) -> Result:
        """result.json, typed. Raises BadInput if the run was not analysed: call `analyse` first."""
        from streamgauge.report.publish import read_result

        if not self.folder.result.exists():
            raise BadInput.single(str(self.folder.root), "this run has not been analysed", "Call Run.analyse() first")
        return read_result(self.folder.result)

    @property
    def valid(self) -> bool:
        """Whether the result is valid: no check of the instrument failed."""
        return bool(self.result.verdict.valid)

    def table(self, name: str) -> "pa.Table":
        """A table of the analysis as an Arrow table, e.g. `latency`.

        Raises BadInput if there is none of this name, AnalysisError if it cannot be read.
        """
        from streamgauge.report.files import read_table, table_file

        _known(name, TABLES, "table")
        if not table_file(self.folder, name).exists():
            what = f"has no table {name}"
            raise BadInput.single(str(self.folder.root), what, "Call Run.analyse() first")
        return read_table(self.folder, name)

    def events(self, kind: str) -> "pa.Table":
        """All recorded rows of one kind as an Arrow table, e.g. `sent`. Raises BadInput for an unknown kind.

        The table is in memory: a message takes about 100 bytes. Use `frame` for runs that are larger. Warns where rows
        are left out because they cannot be read: those of a run that was killed can be read after `analyse`.
        """
        return self._recorded(kind).columns(kind)

    def frame(self, spark: "SparkSession", kind: str) -> "DataFrame":
        """All recorded rows of one kind as a Spark frame, e.g. `sent`. Raises BadInput for an unknown kind.

        Warns where rows are left out because they cannot be read, as `events` does.
        """
        return self._recorded(kind).frame(spark, kind)

    def _recorded(self, kind: str) -> "Bronze":
        """The recorded rows; warns the caller of `events` and `frame` of rows of this kind that are left out."""
        from streamgauge.pipeline.read.bronze import look

        _known(kind, EVENTS, "kind of event")
        found = look(self.folder)
        if aside := [each for each in found.set_aside if each["kind"] == kind]:
            first = aside[0]
            what = f"rows of {first['source']} are left out: {first['reason']}"
            more = f", and of {len(aside) - 1} other parts" if len(aside) > 1 else ""
            warnings.warn(f"{self.folder.root}: {what}{more}", stacklevel=3)
        return found

    def analyse(self, *, master: str | None = None, progress: Progress | None = None) -> "Run":
        """Recompute the results from the recorded events, and write the report; returns this run.

        `master` names a Spark cluster. An active Spark session of the caller is used and not stopped. Raises BadInput
        while the run is active, RunFailed if there is no result.
        """
        check_analysis(self.folder, master)
        analysis.analyse(self.folder, progress or Quiet().say, master=master)
        self.__dict__.pop("result", None)
        self.__dict__.pop("facts", None)
        return self

    def report(self, *, figures: bool = False, progress: Progress | None = None) -> Path:
        """Write the report again from the tables; returns the path of report.html.

        With `figures`, each figure is saved as SVG, PNG and PDF, too. Raises BadInput if the run was not analysed.
        """
        self.__dict__["result"] = analysis.report(self.folder, progress or Quiet().say, figures=figures)
        return self.folder.report

    def __repr__(self) -> str:
        return f"streamgauge.open({str(self.folder.root)!r})"

    def _repr_html_(self) -> str:
        """Verdict and key figures, as Jupyter shows them."""
        from streamgauge.report.pages.notebook import notebook

        return notebook(self.result, self.folder.root) if self.folder.result.exists() else f"<p>{self!r}</p>"


def run(
    scenario: str | Path | Mapping[str, Any],
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the option
    job: str | None = None,
    bootstrap: str | None = None,
    client_config: str | Path | None = None,
    broker: EmbeddedCluster | None = None,
    keep_broker: bool = False,
    out: str | Path = "runs",
    allow_reset: bool = False,
    allow_code: bool = False,
    trust: Sequence[str | Path] = (),
    figures: bool = False,
    percentiles: str | None = None,
    metrics_port: int | None = None,
    metrics_address: str = LOOPBACK,
    metrics_names: str = "streamgauge",
    prepare: bool = False,
    record_only: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Run a scenario, analyse it and write its report; the same as `streamgauge run`.

    `scenario` is the name of a shipped scenario, a YAML file, or a mapping with the keys of one. `set` changes values
    by their paths: `{"load.rate": "20k/s"}`. Without `bootstrap`, the run starts an embedded broker, or uses `broker`,
    which `streamgauge.broker` yields. With `record_only` there is no result until `Run.analyse`. `progress` is called
    with lines of progress. The other arguments are the options of `streamgauge run`; see `streamgauge run --help`.

    Raises BadInput with all faults of the input before anything starts, Interrupted on Ctrl-C before there is anything
    to analyse, RunFailed if there is no result. A run that fails or is not valid is returned: see `Run.facts.ending`
    and `Run.valid`.
    """
    shown = figures_of(percentiles)
    if record_only:
        check_record_only({"figures": figures, "percentiles": bool(percentiles)}, by="record_only")
    changes = [setting_text(path, value) for path, value in (set or {}).items()]
    name = scenario if isinstance(scenario, Mapping) else str(scenario)
    options = RunOptions(
        settings=[*job_settings(job), *changes],
        out=Path(out),
        command=_command(name, job, changes, bootstrap),
        bootstrap=bootstrap,
        client_config=Path(client_config) if client_config else None,
        broker=broker,
        keep_broker=keep_broker,
        allow_reset=allow_reset,
        allow_code=allow_code,
        trust=[Path(each) for each in trust],
    )
    for note in conversion_notes(name):
        if progress:
            progress(note)
    request = request_of(name, options)
    ended = run_request(
        request,
        _display(request.target_per_second, progress),
        figures=figures,
        percentiles=shown,
        metrics=metrics_of(request, metrics_address, metrics_port, metrics_names),
        prepare=prepare,
        record_only=record_only,
    )
    return Run(ended.folder.root)


def open(folder: str | Path) -> Run:  # noqa: A001 - as in `gzip.open`
    """Open an existing run. Raises BadInput if the folder is not a run folder."""
    found = Run(folder)
    # Says at once what is wrong with a folder that is no run.
    _ = found.facts
    return found


@contextmanager
def broker(
    folder: str | Path = "runs",
    *,
    brokers: int = 1,
    security: str | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the option
    progress: Progress | None = None,
) -> Iterator[EmbeddedCluster]:
    """An embedded broker that serves many runs, each with new topics, or a cluster of several; it ends with the block.

    Its data lie below `folder` and are removed. `security` is a protocol, or a protocol and a mechanism, such as `SSL`
    or `SASL_SSL:SCRAM-SHA-512`; certificates and users are made for it. `set` changes values of the section `cluster`
    of scenarios by their paths: `{"cluster.controllers": 3}`. Raises BadInput if the data cannot be written, for more
    brokers than 7, for what brokers cannot be secured with, and for what no cluster can be; BrokerError if a node does
    not start.
    """
    if not 1 <= brokers <= MOST_NODES:
        raise BadInput.single("brokers", f"{brokers}", f"Give 1 to {MOST_NODES}")
    changes = [setting_text(path, value) for path, value in (set or {}).items()]
    plan = plan_of_settings([*settings_of_cluster(brokers, security_of(security, "security")), *changes])
    say = progress or Quiet().say
    with shared_broker(Path(folder), checked_java(), say, plan) as started:
        yield started


def _known(name: str, known: Mapping[str, Any], what: str) -> str:
    if name not in known:
        raise BadInput.single(name, f"no {what} of this name", f"Known: {', '.join(known)}")
    return name


def _command(scenario: str | Mapping[str, Any], job: str | None, changes: Sequence[str], at: str | None) -> list[str]:
    """The command line that does the same; a scenario that is a mapping stands in run.json."""
    name = scenario if isinstance(scenario, str) else "SCENARIO"
    options = [*(("--job", job) if job else ()), *(("--bootstrap", at) if at else ())]
    return ["streamgauge", "run", name, *(word for each in changes for word in ("--set", each)), *options]


def _display(target_rate: float | None, progress: Progress | None) -> Display:
    return Lines(target_rate, progress) if progress else Quiet()
