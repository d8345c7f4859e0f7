"""One case: a run, an ending, and all that must hold afterwards."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil
from tests.torture.accounts import Witness, claims_hold, counts_hold, kept_rate, log_holds, topics_of
from tests.torture.child import HERE, Child, left_of
from tests.torture.machine import disk, fill, throttled
from tests.torture.plans import Action, Missed, Plan
from tests.waiting import until

from streamgauge.domain import clock
from streamgauge.domain.errors import BadInput, StreamgaugeError
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.engine.supervise.local import memory_folder
from streamgauge.record.facts import read_facts
from streamgauge.runs.analysis import analyse
from streamgauge.runs.results.topics import made_topics

RATE: Final = 3_000
KEPT_WITHIN: Final = 0.005
OF_THREE: Final = (
    "cluster={brokers: 3}", "topic.replication=3", "topic.configs={min.insync.replicas: 2}", "load.rate=500",
    "load.client={acks: all, enable.idempotence: true, max.in.flight: 1}",
    ("faults=[{at: 500ms, kind: delay, between: [clients, brokers], delay: 5ms, for: 2s}, "
     "{at: 1s, kind: kill, target: broker-2, for: 1s}, "
     "{at: 1500ms, kind: cut, between: [broker-1, broker-3], for: 1s}]"),
)  # fmt: skip
"""Three brokers, and faults that are on when something else ends the run."""
SETTINGS: Final = (
    f"load.rate={RATE}", "load.producers=2", "topic.partitions=4", "phases.warmup=1s", "phases.measure=3s",
    "phases.drain=10s",
)  # fmt: skip
BEGINS: Final = {"load": "warm-up", "drain": "draining", "analysis": "analysing", "report": "writing the report"}
"""What the program says when a moment begins."""
BEGIN_SECONDS: Final = 120.0
END_SECONDS: Final = 150.0
SOON_SECONDS: Final = 30.0
"""Within this, whoever was told to end before the load, or twice, has ended: ten seconds, and as much again for a
machine that runs other cases beside."""
NOTHING_SECONDS: Final = 60.0
CODES: Final = frozenset({0, 1, 3, 4, 130})


@dataclass
class Case:
    """A plan carried out in a folder of its own; `faults` is what did not hold.

    `missed` says why there was nobody to whom it could be done; None where there was.
    """

    plan: Plan
    root: Path
    bootstrap: str | None = None
    faults: list[str] = field(default_factory=list)
    missed: Missed | None = None
    _witness: Witness = field(default_factory=Witness)
    _children: list[Child] = field(default_factory=list)
    _balloon: Path | None = None

    @property
    def out(self) -> Path:
        """Where the run folders are."""
        return self.root / "runs"

    @property
    def mark(self) -> dict[str, str]:
        """What stands in the environment of every process of this case."""
        return {"TORTURE_CASE": str(self.root)}

    def carry_out(self) -> list[str]:
        """Run, end, look; returns what did not hold."""
        for name in ("runs", "state", "tmp"):
            (self.root / name).mkdir()
        with self._disk():
            try:
                self._run()
                self._look_after()
            finally:
                self._end_all()
        return self.faults

    def _run(self) -> None:
        child = self._start()
        if self.plan.ending.moment == "again":
            self._await_end(child, END_SECONDS)
            (self.root / "begun").unlink(missing_ok=True)
            child = self._start_again()
        # The cells have to be in sight before they are gone.
        words = BEGINS.get(self.plan.ending.moment)
        if words and not child.await_words(words, BEGIN_SECONDS, self._watch):
            self.faults.append(f"it never came to that: {child.text[-500:]}")
            return
        until(lambda: self._watch() or child.process.poll() is not None, BEGIN_SECONDS)
        if self.plan.ending.moment == "start" and self.plan.ending.target in {"broker", "proxy"}:
            # On a busy machine the program needs longer than any delay to come to it.
            until(lambda: self._target(child) or child.process.poll() is not None, BEGIN_SECONDS)
        self._pass(self.plan.delay_seconds, child)
        if child.process.poll() is not None or self._do(child) is False:
            self.missed = self.plan.missed(is_over=child.process.poll() is not None)
        for each in self._children:
            self._await_end(each, self._limit())

    def _start_again(self) -> Child:
        """Analyse the run that is over."""
        words = [str(folder.root) for folder, _ in self._runs()]
        child = Child(["analyse", *words], self._environ())
        self._children.append(child)
        return child

    def _start(self) -> Child:
        words = ["run", "baseline", "--no-prepare", "--out", str(self.out), *(f"--set={each}" for each in SETTINGS)]
        # Topics of a broker that stays must not be those of another case.
        words += [f"--set=topic.name=torture-{self.root.name}-{len(self._children)}"]
        words += [f"--set={each}" for each in OF_THREE] if self.plan.brokers > 1 else []
        words += ["--bootstrap", self.bootstrap] if self.bootstrap else []
        words += ["--record-only"] if self.plan.record_only else []
        child = Child(words, self._environ())
        self._children.append(child)
        return child

    def _environ(self) -> dict[str, str]:
        return {
            **self.mark, "XDG_STATE_HOME": str(self.root / "state"), "TMPDIR": str(self.root / "tmp"),
            "NO_COLOR": "1", "COLUMNS": "200",
            "TORTURE_CLOCK": str(self.root / "clock"), "TORTURE_BEGUN": str(self.root / "begun"),
            "PYTHONPATH": os.pathsep.join([str(HERE / "startup"), os.environ.get("PYTHONPATH", "")]),
        }  # fmt: skip

    def _watch(self) -> bool:
        """Keep the shared cells in sight; whether what the moment needs to be known is known."""
        for path in self.out.glob("*/run.json"):
            # Read until they are found, and no longer: what a case does must not slow down what it looks at.
            if not self._witness.knows(RunFolder(path.parent)):
                with contextlib.suppress(BadInput):
                    self._witness.look(RunFolder(path.parent), read_facts(RunFolder(path.parent)))
        # Before that it is the interpreter that starts.
        is_program = self.plan.ending.moment in {"start", "again"}
        return (self.root / "begun").exists() if is_program else self._witness.has_seen_any

    def _pass(self, seconds: float, child: Child) -> None:
        deadline_ns = clock.monotonic_ns() + int(seconds * clock.NS_PER_SECOND)
        while clock.monotonic_ns() < deadline_ns and child.process.poll() is None:
            self._watch()
            clock.sleep_seconds(0.05)

    def _do(self, child: Child) -> object:
        """Do it; returns False where there was nobody to do it to."""
        acts: dict[Action, Callable[[Child], object]] = {
            "kill": self._signal,
            "term": self._signal,
            "stop": self._signal,
            "interrupt": lambda _: child.type(b"\x03"),
            "interrupt twice": self._interrupt_twice,
            "hang up": Child.hang_up,
            "disk full": self._fill,
            "disk full for 2 s": self._fill_for_a_moment,
            "clock step": lambda _: (self.root / "clock").touch(),
            "throttle": self._throttle,
            "analyse": self._analyse_from_outside,
            "second run": lambda _: self._start(),
        }
        return acts[self.plan.ending.action](child)

    def _interrupt_twice(self, child: Child) -> None:
        child.type(b"\x03")
        self._pass(0.3, child)
        child.type(b"\x03")

    def _fill(self, _child: Child) -> None:
        self._balloon = fill(self.out)

    def _fill_for_a_moment(self, child: Child) -> None:
        balloon = fill(self.out)
        self._pass(2.0, child)
        balloon.unlink()

    def _throttle(self, child: Child) -> None:
        with throttled(child.family(), f"torture-{os.getpid()}"):
            self._pass(2.0, child)

    def _signal(self, child: Child) -> bool:
        target, action = self._target(child), self.plan.ending.action
        signals: dict[Action, int] = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "stop": signal.SIGSTOP}
        try:
            if target is None or target.status() == psutil.STATUS_ZOMBIE:
                return False
            target.send_signal(signals[action])
        except psutil.NoSuchProcess:
            return False
        if action == "stop":
            self._pass(3.0, child)
            with contextlib.suppress(psutil.NoSuchProcess):
                target.send_signal(signal.SIGCONT)
        return True

    def _target(self, child: Child) -> psutil.Process | None:
        """The process of the ending; None where it is not there (yet, or any more)."""
        name = self.plan.ending.target
        if name == "broker":
            return child.found("-Dstreamgauge.broker=")
        if name == "proxy":
            return child.found("streamgauge.cluster.links.proxy")
        if name == "spark":
            return child.found("org.apache.spark.deploy.SparkSubmit")
        pids = [w.pid for _, facts in self._runs() for w in facts.workers if w.role == name and w.pid]
        try:
            return psutil.Process(child.process.pid if name == "supervisor" else pids[0])
        except (IndexError, psutil.NoSuchProcess):
            return None

    def _analyse_from_outside(self, child: Child) -> bool:
        """It must refuse as long as the program is at work, and change nothing."""
        runs = self._runs()
        for folder, _ in runs:
            command = [sys.executable, "-m", "streamgauge", "analyse", str(folder.root), "--quiet"]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=END_SECONDS, check=False,
                env={**os.environ, **self._environ()},
            )  # fmt: skip
            if child.process.poll() is None and (done.returncode != 2 or "is still active" not in done.stderr):
                self.faults.append(f"an analysis beside it ended with {done.returncode}: {done.stderr[-300:]}")
        return bool(runs)

    def _limit(self) -> float:
        """How long a program may take to end: what has no load to bring to its end does so at once."""
        ending = self.plan.ending
        at_once = ending.action == "interrupt twice" or (
            ending.moment in {"start", "analysis", "report", "again"}
            and ending.action in {"interrupt", "hang up", "term"}
        )
        return SOON_SECONDS if at_once and ending.target in {"machine", "supervisor"} else END_SECONDS

    def _await_end(self, child: Child, limit: float) -> None:
        """Every program ends in time, and says nothing that only its developers understand."""
        ending = self.plan.ending
        try:
            until(lambda: (self._watch(), child.process.poll() is not None)[1], limit)
        except AssertionError:
            self.faults.append(f"it goes on after {limit:g} s: {child.text[-500:]}")
            return
        code = child.process.returncode
        was_killed = code < 0 and ending.target == "supervisor" and ending.action in {"kill", "term"}
        # A terminal that is closed while modules are loaded ends the program, as it ends any other.
        was_killed |= code == -signal.SIGHUP and ending.moment == "start" and ending.action == "hang up"
        if code not in CODES and not was_killed:
            self.faults.append(f"exit code {code}: {child.text[-500:]}")
        if "Traceback" in child.text:
            self.faults.append(f"a traceback: {child.text[-1500:]}")

    def _look_after(self) -> None:
        """What must hold once it is over."""
        try:
            until(lambda: not left_of(self.mark), NOTHING_SECONDS)
        except AssertionError:
            self.faults += [f"still lives: {line}" for line in left_of(self.mark)]
        if self._balloon:
            self._balloon.unlink(missing_ok=True)
        for folder, facts in self._runs():
            self._look_at(folder, facts)
        self._look_around()

    def _look_at(self, folder: RunFolder, facts: RunFacts) -> None:
        """Its rows and its result, analysed twice."""
        was_analysed = folder.result.exists()
        results = [json.loads(folder.result.read_bytes())] if was_analysed else []
        for is_first in [False] if was_analysed else [True, False]:
            try:
                # The same result makes the same report.
                analyse(folder, lambda _: None, reports=is_first)
            except (StreamgaugeError, OSError) as error:
                self.faults.append(f"cannot be analysed: {error}")
                return
            results.append(json.loads(folder.result.read_bytes()))
        if results[0] != results[-1]:
            self.faults.append(f"another answer: {_differences(*results)}")
        facts, result = read_facts(folder), results[-1]
        next_seqs = self._witness.next_seqs(folder)
        if next_seqs is not None:
            self.faults += claims_hold(folder, next_seqs)
            told = {n: s for w in facts.workers if w.next_seqs for n, s in zip(w.numbers, w.next_seqs, strict=True)}
            if facts.workers and told != next_seqs:
                self.faults.append(f"run.json says {told}, the cells {next_seqs}")
        self.faults += counts_hold(folder, result["delivery"])
        if self.bootstrap:
            self.faults += log_holds(folder, facts, self.bootstrap)
        self.faults += _verdict_holds(facts, result)
        # Of the other rate, and beside a broker that dies, it may be to blame.
        if (
            self.plan.brokers == 1
            and _is_blamed(result)
            and abs((kept := kept_rate(folder, facts, RATE)) - 1) <= KEPT_WITHIN
        ):
            self.faults.append(f"the generator is blamed for its rate, of which it kept {kept:.2%}")

    def _look_around(self) -> None:
        """No file is left, but in run folders, and no topic that cannot be removed by what the folders say."""
        if self.bootstrap:
            made_topics(self.out, self.bootstrap, {}, delete=True)
            self.faults += [
                f"left behind: topic {name}" for name in topics_of(self.bootstrap) if self.root.name in name
            ]
        with _environment(XDG_STATE_HOME=str(self.root / "state"), TMPDIR=str(self.root / "tmp")):
            from streamgauge.cluster import registry
            from streamgauge.cluster.disks.mounts import points_below
            from streamgauge.processes.scratch import ANALYSIS, Scratch

            registry.sweep()
            # What was killed cannot remove its scratch folder: the next analysis does.
            Scratch(ANALYSIS).close()
        self.faults += [f"left behind: {path}" for path in (self.root / "tmp").rglob("*") if path.is_file()]
        self.faults += [f"left behind: {path}" for path in self.out.glob("*/broker")]
        # Of brokers nothing is left at all: no entry, no claim, no outage, and no file that was to become one of them.
        self.faults += [f"left behind: {path}" for path in self.root.glob("state/**/brokers/*")]
        self.faults += [f"left behind: mount {point}" for point in points_below(self.root)]
        runs = {str(path) for path in self.out.iterdir()}
        for file in memory_folder().glob("streamgauge-cells-*"):
            with contextlib.suppress(OSError):
                if any(run.encode() in file.read_bytes() for run in runs):
                    self.faults.append(f"left behind: {file}")

    def _runs(self) -> list[tuple[RunFolder, RunFacts]]:
        found = []
        for path in sorted(self.out.glob("*/run.json")):
            with contextlib.suppress(BadInput):
                found.append((RunFolder(path.parent), read_facts(RunFolder(path.parent))))
        return found

    @contextlib.contextmanager
    def _disk(self) -> Iterator[None]:
        if not self.plan.ending.action.startswith("disk"):
            yield
            return
        with disk(self.out):
            yield

    def _end_all(self) -> None:
        """Whatever happened, nothing of a case outlives it."""
        for child in self._children:
            for each in child.family():
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()
            child.process.wait(30)
            child.hang_up()
        for each in psutil.process_iter(["environ"]):
            if self.mark.items() <= (each.info["environ"] or {}).items():
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()


def _check(result: dict[str, Any], name: str) -> dict[str, Any]:
    return next((each for each in result["verdict"]["checks"] if each["name"] == name), {})


def _status(result: dict[str, Any], check: str) -> str | None:
    return _check(result, check).get("status")


def _is_blamed(result: dict[str, Any]) -> bool:
    """Whether the verdict says that the generator missed its rate, and not that it did so because a producer died."""
    rate = _check(result, "rate")
    return rate.get("status") == "fail" and "a producer died" not in rate["evidence"]


def _verdict_holds(facts: RunFacts, result: dict[str, Any]) -> list[str]:
    """Faults: a verdict that says less than happened."""
    faults = []
    bad = [worker.name for worker in facts.workers if worker.died and not worker.declared_dead]
    if result["verdict"]["valid"] and (facts.ending is None or facts.ending == "failed" or bad):
        faults.append(f"valid, though it ended {facts.ending}, {bad} dead")
    if any(worker.dropped_rows for worker in facts.workers) and _status(result, "dropped_rows") != "fail":
        faults.append("rows were dropped, and no check says so")
    if result["delivery"].get("unaccounted") not in {0, None}:
        faults.append(f"{result['delivery']['unaccounted']} messages are not accounted for")
    if result["delivery"].get("fate_unknown") and _status(result, "fate_unknown") not in {"warn", "fail"}:
        faults.append("messages are of unknown fate, and no check says so")
    return faults


def _differences(one: Any, other: Any, place: str = "") -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            each
            for name in sorted({*one, *other})
            for each in _differences(one.get(name), other.get(name), f"{place}.{name}")
        ][:5]
    return [] if one == other else [f"{place}: {str(one)[:80]} and {str(other)[:80]}"]


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    tempfile.tempdir = None
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        tempfile.tempdir = None


def remove(root: Path) -> None:
    """Remove what a case left for people who look for the reason."""
    shutil.rmtree(root, ignore_errors=True)
