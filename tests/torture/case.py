"""One case: a run, an ending, and all that must hold afterwards."""

import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil
from tests.marked import marked
from tests.torture import outliving
from tests.torture.accounts import Witness, topics_of
from tests.torture.aftermath import rate_holds, run_holds
from tests.torture.child import Child, left_of
from tests.torture.leftovers import left_in, mounts_in
from tests.torture.machine import disk, fill, throttled
from tests.torture.place import Place
from tests.torture.plans import Action, Missed, Plan, Target
from tests.torture.ports import listeners, ports_of
from tests.torture.words import RATE, words_of
from tests.waiting import until

from streamgauge.cluster.registry import brokers_in
from streamgauge.domain import clock
from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.record.facts import read_facts
from streamgauge.runs.results.topics import made_topics

BEGINS: Final = {"load": "warm-up", "drain": "draining", "analysis": "analysing", "report": "writing the report"}
"""What the program says when a moment begins."""
BEGIN_SECONDS: Final = 120.0
END_SECONDS: Final = 150.0
SOON_SECONDS: Final = 30.0
"""Within this, whoever was told to end before the load, or twice, has ended: ten seconds, and as much again for a
machine that runs other cases beside."""
NOTHING_SECONDS: Final = 60.0
CODES: Final = frozenset({0, 1, 3, 4, 130})
COMMANDS: Final[dict[Target, str]] = {
    "broker": "-Dstreamgauge.broker=",
    "proxy": "streamgauge.cluster.links.proxy",
    "mount": "streamgauge.cluster.disks.passthrough",
    "spark": "org.apache.spark.api.python.PythonGatewayServer",
}
"""By what in its command line a process is known."""


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
    _ports: set[int] = field(default_factory=set)

    @property
    def place(self) -> Place:
        """Its folders, and the environment of its processes."""
        return Place(self.root)

    def carry_out(self) -> list[str]:
        """Run, end, look; returns what did not hold."""
        self.place.make()
        with self._disk():
            try:
                if self.plan.on == "standing":
                    self.bootstrap = outliving.started(self.place)
                self._run()
                self._look_after()
            finally:
                self._end_all()
        return self.faults

    def _run(self) -> None:
        child = self._start()
        if self.plan.ending.moment == "again":
            self._await_end(child, END_SECONDS)
            self.place.begun.unlink(missing_ok=True)
            child = self._start_again()
        # The cells have to be in sight before they are gone.
        words = BEGINS.get(self.plan.ending.moment)
        if words and not child.await_words(words, BEGIN_SECONDS, self._watch):
            self.faults.append(f"it never came to that: {child.text[-500:]}")
            return
        until(lambda: self._has_begun() or child.process.poll() is not None, BEGIN_SECONDS)
        if self.plan.ending.moment == "start" and self.plan.ending.target in COMMANDS:
            # On a busy machine the program needs longer than any delay to come to it.
            until(lambda: self._target(child) or child.process.poll() is not None, BEGIN_SECONDS)
        self._pass(self.plan.delay_seconds, child)
        self._ports = ports_of(self.place)
        # An outage may be over by now.
        if child.process.poll() is not None or not self._has_begun() or self._do(child) is False:
            self.missed = self.plan.missed(is_over=child.process.poll() is not None)
        for each in self._children:
            self._await_end(each, self._limit())

    def _start_again(self) -> Child:
        """Analyse the run that is over."""
        words = [str(folder.root) for folder, _ in self._runs()]
        return self._say(["analyse", *words])

    def _start(self, *, is_harmed: bool = True) -> Child:
        number = len(self._children)
        return self._say(words_of(self.plan, self.place, number, self.bootstrap, is_harmed=is_harmed))

    def _say(self, words: list[str]) -> Child:
        child = Child(words, self.place.environ)
        self._children.append(child)
        return child

    def _watch(self) -> bool:
        """Keep the shared cells in sight; whether what the moment needs to be known is known."""
        for path in self.place.out.glob("*/run.json"):
            # Read until they are found, and no longer: what a case does must not slow down what it looks at.
            if not self._witness.knows(RunFolder(path.parent)):
                with contextlib.suppress(BadInput):
                    self._witness.look(RunFolder(path.parent), read_facts(RunFolder(path.parent)))
        # Before that it is the interpreter that starts.
        is_program = self.plan.ending.moment in {"start", "again"}
        return self.place.begun.exists() if is_program else self._witness.has_seen_any

    def _has_begun(self) -> bool:
        """Whether the moment has begun."""
        return self._watch() and (self.plan.ending.moment != "outage" or bool(outliving.outages(self.place)))

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
            "clock step": lambda _: self.place.clock.touch(),
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
        self._balloon = fill(self.place.out)

    def _fill_for_a_moment(self, child: Child) -> None:
        balloon = fill(self.place.out)
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
        if name in COMMANDS:
            return child.found(COMMANDS[name])
        pids = [w.pid for _, facts in self._runs() for w in facts.workers if w.role == name and w.pid]
        try:
            return psutil.Process(child.process.pid if name == "supervisor" else pids[0])
        except (IndexError, psutil.NoSuchProcess):
            return None

    def _analyse_from_outside(self, child: Child) -> bool:
        """It must refuse as long as the program is at work, and change nothing."""
        runs = self._runs()
        for folder, _ in runs:
            done = self.place.call("analyse", str(folder.root), "--quiet", seconds=END_SECONDS)
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
        outlives = self.plan.on in {"kept", "standing"}
        self._await_nobody(but_brokers=outlives)
        if self._balloon:
            self._balloon.unlink(missing_ok=True)
        # Before anybody sweeps.
        self.faults += mounts_in(self.place)
        if self.plan.on == "kept":
            self._look_after_kept()
        elif self.plan.on == "standing":
            self._look_after_standing()
        for folder, _ in self._runs():
            self.faults += run_holds(folder, self._witness.next_seqs(folder), self.bootstrap)
            # Of the other rate, and beside a broker that dies, it may be to blame.
            self.faults += [] if self.plan.is_of_three else rate_holds(folder, RATE)
        self._look_at_topics()
        if outlives:
            self.faults += outliving.stopped(self.place)
            self._await_nobody()
        self.faults += left_in(self.place)

    def _await_nobody(self, *, but_brokers: bool = False) -> None:
        """No process is left; if it is all, nobody listens any more."""

        def left() -> list[str]:
            besides = [each.pid for each in brokers_in(self.root)] if but_brokers else []
            return left_of(self.place.mark, besides)

        try:
            until(lambda: not left(), NOTHING_SECONDS)
        except AssertionError:
            self.faults += [f"still lives: {line}" for line in left()]
        if not but_brokers:
            self.faults += [f"still listens: {line}" for line in listeners(self._ports, self.place)]

    def _look_after_kept(self) -> None:
        """Its brokers serve until they are stopped, or are gone."""
        ending, text, found = self.plan.ending, self._children[0].text, outliving.swept(self.place)
        was_killed = (ending.action, ending.target) == ("kill", "supervisor")
        is_ended = ending.target == "broker" and ending.action in {"kill", "term"} and self.missed is None
        self.faults += outliving.kept_holds(
            found,
            is_told=outliving.KEPT in text,
            is_silent=was_killed or ending.action == "hang up",
            is_wanted=outliving.KEPT in text or (was_killed and ending.moment != "start" and self.missed is None),
            brokers=outliving.BROKERS - is_ended,
        )
        self.bootstrap = ",".join(each.bootstrap for each in found) or None

    def _look_after_standing(self) -> None:
        """Its brokers are whole when somebody has come after it, and before if it ended in order."""
        ending = self.plan.ending
        if (ending.action, ending.target) != ("kill", "supervisor"):
            self.faults += outliving.standing_holds(self.place)
        if self.plan.heir == "run":
            self._await_end(self._start(is_harmed=False), END_SECONDS)
        elif self.plan.heir:
            self.faults += outliving.looked_after(self.place, self.plan.heir)
        self.faults += outliving.standing_holds(self.place)

    def _look_at_topics(self) -> None:
        """No topic is left that cannot be removed by what the folders say."""
        if self.bootstrap:
            made_topics(self.place.out, self.bootstrap, {}, delete=True)
            self.faults += [
                f"left behind: topic {name}" for name in topics_of(self.bootstrap) if self.root.name in name
            ]

    def _runs(self) -> list[tuple[RunFolder, RunFacts]]:
        found = []
        for path in sorted(self.place.out.glob("*/run.json")):
            with contextlib.suppress(BadInput):
                found.append((RunFolder(path.parent), read_facts(RunFolder(path.parent))))
        return found

    @contextlib.contextmanager
    def _disk(self) -> Iterator[None]:
        if not self.plan.ending.action.startswith("disk"):
            yield
            return
        with disk(self.place.out):
            yield

    def _end_all(self) -> None:
        """Whatever happened, nothing of a case outlives it."""
        for child in self._children:
            for each in child.family():
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()
            child.process.wait(30)
            child.hang_up()
        for each in marked(self.place.mark):
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()


def remove(root: Path) -> None:
    """Remove what a case left for people who look for the reason."""
    shutil.rmtree(root, ignore_errors=True)
