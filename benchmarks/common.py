"""Shared by all benchmarks: headings, medians with ranges, calls of other tools, runs and their rows."""

import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds
from numpy.typing import NDArray

from streamgauge.cluster.embedded import EmbeddedCluster, start_cluster
from streamgauge.cluster.jars import broker_jars
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.domain.look import Look
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.prime import prime
from streamgauge.processes.jvm.java import find_java
from streamgauge.record.facts import machine, read_facts, versions
from streamgauge.result import Result
from streamgauge.result.reading import parse_result
from streamgauge.runs.conduct.conduct import conduct
from streamgauge.runs.experiment.settle import idle_share as idle_share
from streamgauge.runs.machine import archives
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.scenario_file import load_scenario
from streamgauge.runs.request.trust import Trust

Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]

PRIME_SECONDS = 20.0
DEMO = "baseline"
DEMO_SETTINGS = ("phases.warmup=3s", "phases.measure=10s")
"""As in the Makefile."""


def heading(title: str) -> None:
    """Print what is measured, how to repeat it, and on what machine."""
    facts = machine()
    print(f"## {title}\n")
    print(f"Command: `python -m {' '.join([_module(), *map(shlex.quote, sys.argv[1:])])}`  ")
    memory = facts["memory_bytes"] / 2**30
    print(f"Machine: {facts['processor']}, {facts['usable_cores']} cores, {memory:.0f} GiB, {facts['system']}  ")
    print(f"Versions: {', '.join(f'{name} {version}' for name, version in versions().items())}\n")


def need_archives() -> None:
    """Make the archives of Java classes, if there are none; ends the benchmark where they cannot be made."""
    java = find_java(os.environ)
    if not (archives.are_made(java) or archives.make(java, lambda _text: None)):
        raise SystemExit("the archives of Java classes cannot be made; see `streamgauge doctor --prepare`")


def _module() -> str:
    spec = sys.modules["__main__"].__spec__
    return spec.name.removesuffix(".__main__") if spec else Path(sys.argv[0]).name


def spread(values: Sequence[float], unit: str = "", digits: int = 2) -> str:
    """Median and range of repeated measurements."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:,.{digits}f}{unit} ({low:,.{digits}f} to {high:,.{digits}f})"


@contextmanager
def kept_in(folder: Path | None) -> Iterator[Path]:
    """The folder, where one is given; else one that lasts as long as the block."""
    if folder:
        yield folder
    else:
        with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as place:
            yield Path(place)


@dataclass(frozen=True, slots=True)
class Used:
    """What one call of a tool took."""

    cpu_seconds: float
    wall_seconds: float
    output: str


def call(command: Sequence[str], folder: Path | None = None) -> Used:
    """Run another tool to its end, in a folder; its CPU is that of all its processes."""
    before, began_ns = os.times(), monotonic_ns()
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    after = os.times()
    if done.returncode:
        raise SystemExit(f"{command[:1]} failed: {done.stderr[-2000:]}{done.stdout[-2000:]}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Used(cpu, (monotonic_ns() - began_ns) / NS_PER_SECOND, done.stdout)


def kafka_tool(name: str, *arguments: str) -> list[str]:
    """The command line of one of Kafka's own tools, from the jars that the broker runs on."""
    class_path = os.pathsep.join(map(str, broker_jars()))
    java = str(find_java(os.environ).path)
    return [java, "-Xmx512m", "-cp", class_path, f"org.apache.kafka.tools.{name}", *arguments]


@contextmanager
def broker() -> Iterator[EmbeddedCluster]:
    """A broker that ends with the block, driven until most of its code is compiled."""
    with (
        tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder,
        start_cluster(logs=Path(folder), java=find_java(os.environ)) as running,
    ):
        prime(Cluster(running.bootstrap, {}), PRIME_SECONDS)
        yield running


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of this tool, not analysed: its rows are looked at here."""

    folder: RunFolder
    facts: RunFacts
    cpu_seconds: float

    def column(self, kind: str, *names: str) -> list[Int64s]:
        """Columns of all rows of a kind."""
        files = sorted(str(path) for path in self.folder.events.glob(f"{kind}/*/part-*.parquet"))
        table = ds.dataset(files).to_table(columns=list(names))
        return [table[name].drop_null().to_numpy() for name in names]


@contextmanager
def run(scenario: str, bootstrap: str, *settings: str, watch: Callable[[Look], None] | None = None) -> Iterator[Ran]:
    """A run against a broker; CPU counts every worker and this process."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as out:
        resolved = load_scenario(scenario, settings)
        trust = Trust(allow_code=True)
        request = Request(resolved, Path(out), [], find_java(os.environ), bootstrap=bootstrap, trust=trust)
        before = os.times()
        folder = conduct(request, Interrupts(), lambda _text: None, watch)
        after = os.times()
        facts = read_facts(folder)
        if facts.ending != "finished":
            raise SystemExit(f"the run {facts.ending}: {facts.reasons}")
        cpu = sum(after[:4]) - sum(before[:4])
        yield Ran(folder, facts, cpu)


@dataclass(frozen=True, slots=True)
class DemoRun:
    """A run as `make demo` starts it, in a process of its own."""

    code: int
    folder: RunFolder
    printed_ns: int
    """When its result began to be printed; the report is written after that."""


def demo(out: Path) -> DemoRun:
    """Run what `make demo` runs."""
    settings = [word for each in DEMO_SETTINGS for word in ("--set", each)]
    command = [sys.executable, "-m", "streamgauge", "run", DEMO, *settings, "--out", str(out)]
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as run,
    ):
        assert run.stdout
        run.stdout.readline()
        printed_ns = monotonic_ns()
        run.stdout.read()
        code = run.wait()
        folders = list(out.glob(f"*-{DEMO}"))
        if len(folders) != 1:
            said.seek(0)
            raise SystemExit(f"the run failed: {said.read()}")
    return DemoRun(code, RunFolder(folders[0]), printed_ns)


def analysed(folder: RunFolder) -> Result:
    """The result of a run; in a process of its own, so that its JVM is gone before the next row is measured."""
    command = [sys.executable, "-m", "streamgauge", "analyse", str(folder.root)]
    # A run that is not valid, or breaks an expectation, has an exit code of its own, and a result.
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not folder.result.exists():
        raise SystemExit(f"the analysis failed: {done.stderr}")
    return parse_result(folder.result.read_bytes())


def fill(bootstrap: str, name: str, messages: int, *, seconds: int) -> int:
    """Fill a topic with stamped messages, some seconds at a time, until there are enough; how many there are."""
    total = 0
    while total < messages:
        settings = ["consume=off", "phases.warmup=0s", f"phases.measure={seconds}s", f"topic.name={name}"]
        with run("saturate", bootstrap, *settings) as ran:
            total += len(ran.column("sent", "acked_ns")[0])
    return total


def warm_page_cache(bootstrap: str, messages: int = 4_000_000) -> None:
    """Write a few GB once: the first touch of the page cache makes a broker two to three times slower."""
    with topic(bootstrap) as name:
        call(producer_performance(bootstrap, name, messages))


@contextmanager
def topic(bootstrap: str, partitions: int | None = 12) -> Iterator[str]:
    """A topic that is gone after the block; without partitions only its name, for a run that makes it by itself."""
    name = f"bench-{monotonic_ns()}"
    cluster = Cluster(bootstrap, {})
    if partitions is not None:
        cluster.create_topic(name, partitions, 1, {})
    try:
        yield name
    finally:
        cluster.delete_topic(name)


def producer_performance(bootstrap: str, name: str, messages: int) -> list[str]:
    """Kafka's own producer benchmark at the setting of the comparison."""
    return kafka_tool(
        "ProducerPerformance",
        "--topic", name, "--num-records", str(messages), "--record-size", "512", "--throughput", "-1",
        "--bootstrap-server", bootstrap,
        "--command-property", "acks=1", "linger.ms=5", "batch.size=131072",
    )  # fmt: skip
