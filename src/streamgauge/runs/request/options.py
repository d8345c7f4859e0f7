"""From command-line options to a checked request: everything that can be wrong is found before anything starts."""

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from streamgauge.cluster.embedded import EmbeddedCluster
from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput, BadValue, Fault, Faults
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.limits import MOST_NODES
from streamgauge.domain.text.address import is_spark_master, parse_bootstrap
from streamgauge.domain.text.numbers import listed
from streamgauge.domain.text.secrets import left_out, mask_command
from streamgauge.domain.text.shown import shown
from streamgauge.kafka.client_config import read_client_config
from streamgauge.processes.jvm.java import Java, find_java
from streamgauge.processes.scratch import scratch_faults
from streamgauge.record.facts import read_facts
from streamgauge.result.schema import expectation_faults
from streamgauge.runs.conduct.prepare import check_cluster
from streamgauge.runs.request.materials import check_settings, read_materials
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.scenario_file import read_scenario, setting_text
from streamgauge.runs.request.trust import Trust, check_trust, trust_of, wrong_folders
from streamgauge.scenario import Scenario, Setting, document
from streamgauge.scenario.model.values import epoch_ns
from streamgauge.verdict.trust.judged import judge_by_faults
from streamgauge.workload.pacing import Int64s

READY_SECONDS: Final = 10
"""From the command to the begin of the load, on a cluster that is there. Measured on two cores that others used, too:
7 to 12 s."""
EMBEDDED_READY_SECONDS: Final = 20
"""The same with an embedded broker, which is started, and driven for five seconds: 15 s on two cores, 21 to 23 s where
others used them, too."""
NODE_READY_SECONDS: Final = 5
"""So much longer for each further node of an embedded cluster."""
SPARK_READY_SECONDS: Final = 20
"""So much longer until Spark has begun a query: 14 to 19 s where others used the cores, too."""

_BOOTSTRAP = "bootstrap.servers"
_LEFT_OUT = "*** stands for a masked secret"
_FILL_IN = "Write the secret, or put it into --client-config"


def checked_java() -> Java:
    """The Java that brokers and Spark will use; Spark finds it by JAVA_HOME."""
    java = find_java(os.environ)
    os.environ["JAVA_HOME"] = str(java.path.parent.parent)
    return java


def job_settings(job: str | None) -> list[str]:
    """What `--job` sets: a shipped job by name, or a function of the user's."""
    if job is None:
        return []
    value = {"function": {"call": job}} if ":" in job else job
    return [setting_text("pipeline.job", value)]


def checked_scenario(name: str, settings: Sequence[str] = ()) -> Scenario:
    """The scenario of this name or path; raises BadInput with all for which a run would refuse it, however called.

    What depends on the options of the run is not looked at: what must be trusted, and whether it fits the cluster. No
    code of the scenario is run, and no file of it is read.
    """
    faults = Faults()
    resolved, wrong = read_scenario(name, settings)
    faults += wrong
    if resolved:
        _check_clients(resolved, {}, _untrusted(resolved, trust_of(name, settings)), faults)
        faults += _stated(resolved, embedded=False)
    if faults or resolved is None:
        raise BadInput(faults)
    return resolved


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run, as they were given on the command line or to the Python API."""

    settings: Sequence[str] = ()
    """Those of `--set`, and of `--job` as settings."""
    out: Path = Path("runs")
    """Folder for new run folders."""
    command: Sequence[str]
    """The command line that does the same."""
    bootstrap: str | None = None
    client_config: Path | None = None
    broker: EmbeddedCluster | None = None
    """An embedded cluster that serves other runs, too."""
    keep_broker: bool = False
    allow_reset: bool = False
    allow_code: bool = False
    trust: Sequence[Path] = ()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the options of runs say besides the scenario: the same for all runs of an experiment."""

    options: RunOptions
    address: str | None
    """The cluster that is named, as it was written; None for an embedded broker."""
    connection: Mapping[str, Setting]
    java: Java | None
    """None where there is none that can be used, which is a fault."""


def surroundings_of(options: RunOptions, faults: Faults) -> Surroundings:
    """What the options say besides the scenario; everything wrong with them is added to `faults`."""
    address, connection = _named_cluster(options.bootstrap, options.client_config, faults)
    faults += wrong_folders(options.trust)
    faults += [*_contradictions(options, address), *_unwritable(options.out), *scratch_faults()]
    return Surroundings(options, address, connection, faults.of(checked_java))


def request_of(scenario: str | Mapping[str, Any], options: RunOptions) -> Request:
    """The request that the options make; raises BadInput with all faults of all options.

    `scenario` is the name of a shipped scenario, the path of a YAML file, or what such a file would say.
    """
    of_options = Faults()
    around = surroundings_of(options, of_options)
    request, faults = request_in(around, scenario)
    if of_options or faults or request is None:
        raise BadInput([*faults, *of_options])
    return request


def request_in(
    around: Surroundings,
    scenario: str | Mapping[str, Any],
    settings: Sequence[str] = (),
    home: Path | None = None,
) -> tuple[Request | None, list[Fault]]:
    """The request of one scenario, and every fault of it; without a Java there is no request.

    `settings` come on top of those of the options. `home` is the folder of a scenario that is a mapping.
    """
    options, faults = around.options, Faults()
    given = [*options.settings, *settings]
    resolved, wrong = read_scenario(scenario, given)
    faults += wrong
    granted = trust_of(
        scenario,
        given,
        allow_code=options.allow_code,
        folders=options.trust,
        has_secrets=options.client_config is not None,
        home=home,
    )
    arrivals = _examined(resolved, around.address, around.connection, granted, faults) if resolved else None
    if faults or resolved is None or around.java is None:
        return None, faults
    request = Request(
        scenario=resolved,
        out=options.out,
        command=mask_command(options.command),
        java=around.java,
        bootstrap=around.address,
        broker=options.broker,
        connection=around.connection,
        keep_broker=options.keep_broker,
        allow_reset=options.allow_reset,
        trust=granted,
        arrivals=arrivals,
    )
    faults.of(check_cluster, request)
    return (None, faults) if faults else (request, [])


def _examined(
    resolved: Scenario, address: str | None, connection: Mapping[str, Setting], granted: Trust, faults: Faults
) -> Int64s | None:
    """Look at all that a scenario asks for: the arrivals of a replay, and the faults of everything else."""
    untrusted = _untrusted(resolved, granted)
    faults += untrusted
    _check_clients(resolved, connection, untrusted, faults)
    arrivals = faults.of(read_materials, resolved) if not faults else None
    faults += _stated(resolved, embedded=address is None)
    if address is None:
        faults += _beyond(resolved)
    return arrivals


def _beyond(resolved: Scenario) -> Iterator[Fault]:
    """What only a cluster of the user's can have."""
    topic = resolved.topic
    if topic.replication > MOST_NODES:
        what = f"{topic.replication}: an embedded cluster has at most {MOST_NODES} brokers"
        yield Fault("topic.replication", what, "Write less, or name a cluster with --bootstrap")
    named = {broker for each in topic.assignments or () for broker in each}
    if beyond := sorted(named - set(range(1, MOST_NODES + 1))):
        what = f"broker {beyond[0]}: an embedded cluster has the brokers 1 to {MOST_NODES} at most"
        yield Fault("topic.assignments", what, "Name those, or name a cluster with --bootstrap")


def _contradictions(options: RunOptions, address: str | None) -> Iterator[Fault]:
    """Options of an embedded broker beside the `address` of a cluster."""
    for where, is_given in (("broker", options.broker is not None), ("--keep-broker", options.keep_broker)):
        if is_given and address:
            beside = "an existing cluster" if where == "broker" else "--bootstrap"
            yield Fault(where, f"cannot be combined with {beside}", "Leave one of them out")


def cluster_of(bootstrap: str | None, client_config: Path | None) -> tuple[str, Mapping[str, Setting]]:
    """Address and connection settings of a cluster that must be named; raises BadInput with all faults."""
    faults = Faults()
    address, connection = _named_cluster(bootstrap, client_config, faults)
    if address is None:
        faults.append(Fault("--bootstrap", "no cluster is given", "Use --bootstrap HOST:PORT"))
    if faults or address is None:
        raise BadInput(faults)
    return address, connection


def check_analysis(folder: RunFolder, master: str | None) -> None:
    """Raise BadInput with all that an analysis lacks, before Spark is started for nothing."""
    faults = Faults()
    if faults.of(read_facts, folder):
        faults += _unwritable_run(folder)
    if master is not None and not is_spark_master(master):
        what = f"{shown('--master', master)} is not a Spark master"
        faults.append(Fault("--master", what, "Write spark://HOST:PORT, local[4], yarn or k8s://..."))
    faults += scratch_faults()
    faults.of(checked_java)
    if faults:
        raise BadInput(faults)


def _unwritable_run(folder: RunFolder) -> list[Fault]:
    """Which folders and files of a run, if they are there, an analysis could not write."""
    wanted = {
        folder.root: os.W_OK | os.X_OK,
        folder.tables: os.W_OK | os.X_OK,
        folder.logs: os.W_OK | os.X_OK,
        folder.logs / "spark.log": os.W_OK,
    }
    refused = [path for path, rights in wanted.items() if os.path.lexists(path) and not os.access(path, rights)]
    what = "cannot be written, and an analysis writes its tables and its log there"
    return [Fault(str(path), what, "Change its permissions, or analyse a copy of the run") for path in refused]


def _check_clients(
    resolved: Scenario, connection: Mapping[str, Setting], untrusted: Sequence[Fault], faults: Faults
) -> None:
    """Ask librdkafka about client settings, which loads what they name: only where all of them are trusted."""
    if not any(".client." in fault.where for fault in untrusted):
        faults.of(check_settings, resolved, connection)


def _stated(resolved: Scenario, *, embedded: bool) -> list[Fault]:
    """Faults of secrets that were masked, of the begin, and of what is judged and expected."""
    return [
        *(Fault(path, _LEFT_OUT, _FILL_IN) for path in left_out(document(resolved))),
        *start_faults(resolved, clock.clock_pair().wall_ns, embedded=embedded),
        *judge_by_faults(resolved.judge_by),
        *expectation_faults(resolved.expect),
    ]


def _untrusted(resolved: Scenario, granted: Trust) -> list[Fault]:
    """What the scenario asks for and was not granted."""
    faults = Faults()
    faults.of(check_trust, resolved, granted)
    return faults


def start_faults(scenario: Scenario, now_ns: int, *, embedded: bool) -> list[Fault]:
    """A begin that is over already, or that comes before broker and workers can be ready; `now_ns` is wall time."""
    start_at = scenario.phases.start_at
    if start_at is None:
        return []
    needed, who = ready_seconds(scenario, embedded=embedded)
    in_seconds = (epoch_ns(start_at) - now_ns) / NS_PER_SECOND
    if in_seconds >= needed:
        return []
    what = f"{start_at} has passed" if in_seconds <= 0 else f"{start_at} is in {in_seconds:.1f} s"
    mend = f"Write a time at least {needed} s from now, or leave it out to start at once"
    return [Fault("phases.start_at", f"{what}; {who} take up to {needed} s to be ready", mend)]


def ready_seconds(scenario: Scenario, *, embedded: bool) -> tuple[int, str]:
    """How long it takes until a load can begin, and whom it takes so long."""
    further = scenario.brokers + scenario.cluster.controllers - 1
    alone = EMBEDDED_READY_SECONDS + further * NODE_READY_SECONDS
    seconds, who = alone if embedded else READY_SECONDS, ["brokers" if further else "broker"] if embedded else []
    if scenario.pipeline and not scenario.pipeline.engine.client:
        seconds, who = seconds + SPARK_READY_SECONDS, [*who, "Spark"]
    return seconds, listed([*who, "workers"])


def _named_cluster(
    bootstrap: str | None, client_config: Path | None, faults: Faults
) -> tuple[str | None, dict[str, Setting]]:
    """Address of the cluster that is named, None for none, and the settings of its clients."""
    known = faults.of(read_client_config, client_config) if client_config else {}
    connection: dict[str, Setting] = dict(known or {})
    connection.pop(_BOOTSTRAP, None)
    in_file = (known or {}).get(_BOOTSTRAP)
    return _cluster(bootstrap, client_config, in_file, faults, file_is_read=known is not None), connection


def _cluster(
    asked: str | None, file: Path | None, in_file: str | None, faults: Faults, *, file_is_read: bool
) -> str | None:
    """The addresses of the cluster, as they were written where something is wrong with them; None for none."""
    text, where = (asked, "--bootstrap") if asked is not None else (in_file or None, f"{file}: {_BOOTSTRAP}")
    if text is None:
        if file and file_is_read:
            mend = f"Use --bootstrap HOST:PORT, or write {_BOOTSTRAP} into the file"
            faults.append(Fault(f"--client-config {file}", "names no cluster", mend))
        return "" if file else None
    try:
        return parse_bootstrap(text)
    except BadValue as error:
        faults.append(error.at(where, shown(where, text)))
        return text


def _unwritable(out: Path) -> list[Fault]:
    """Why run folders cannot be made in a folder, which need not be there yet."""
    place = next((each for each in (out, *out.parents) if os.path.lexists(each)), Path())
    reason = None
    if place.is_symlink() and not place.exists():
        reason = "a broken link"
    elif not place.is_dir():
        reason = os.strerror(errno.ENOTDIR)
    elif not os.access(place, os.W_OK | os.X_OK):
        reason = os.strerror(errno.EACCES)
    return [] if reason is None else [Fault(f"--out {out}", f"cannot be written: {reason}", "Name another folder")]
