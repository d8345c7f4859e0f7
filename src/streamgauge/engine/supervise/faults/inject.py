"""Faults that are injected: what is done to whom, and when; each is a row of `faults` as soon as it was done.

Each fault takes its course as a generator, which yields where it has to wait: the supervisor's loop is never kept.
"""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BrokerError
from streamgauge.domain.folder.facts import node_of
from streamgauge.engine.supervise.faults.actions import Target, Unfinished
from streamgauge.engine.supervise.faults.roles import NO_ROLES, Roles
from streamgauge.engine.supervise.faults.rows import BEGIN, END, FaultRow
from streamgauge.scenario.model.environment.faults.fault import KILL
from streamgauge.scenario.model.environment.faults.kinds import DoneFault
from streamgauge.scenario.model.environment.faults.links import LinkFault
from streamgauge.scenario.model.environment.faults.processes import ROLLING_RESTART, ProcessFault
from streamgauge.scenario.model.environment.faults.schedule import Occurrence
from streamgauge.scenario.model.environment.faults.targets import ByRole
from streamgauge.scenario.model.environment.faults.when import RunCounts

ANSWER_NS: Final = 5 * NS_PER_SECOND
"""A cluster that has not told who has a role by then will not tell."""
BACK_NS: Final = 60 * NS_PER_SECOND
"""Within this a restarted broker is to be back in the in-sync replicas, or no other is restarted."""
_OVER: Final = "the load was over"

_T = TypeVar("_T")
Course = Generator[None, None, _T]
"""Something that goes on at every tick, until it returns."""


@dataclass(slots=True)
class Injector:
    """Begins and ends faults when they are due; `note` is told at once what was done."""

    targets: Sequence[Target]
    now_ns: Callable[[], int]
    note: Callable[[FaultRow], None]
    counted: Callable[[], RunCounts] = lambda: RunCounts(0, 0, None)
    """What the run has counted by now."""
    roles: Roles = NO_ROLES
    killed: set[str] = field(default_factory=set)
    """Names of the targets that were killed because the scenario asks for it."""
    _left: list[Occurrence] = field(default_factory=list)
    """What is still to begin."""
    _courses: list[tuple[int, Course[None]]] = field(default_factory=list)
    """What is under way, with the place of its fault in the scenario."""
    _under: dict[str, str] = field(default_factory=dict)
    """The kind of the fault that a target is under which no other such fault can be done to, by its name."""
    _first: RunCounts | None = None
    """What was counted when the measure phase began."""
    _measure_ns: int = 0
    _is_over: bool = False

    def plan(self, faults: Sequence[Occurrence]) -> None:
        """What is to be done during the measure phase, in the order of the times."""
        self._left = list(faults)

    def turn(self, measure_ns: int) -> None:
        """Begin what is due by now, and go on with what is under way."""
        now_ns, self._measure_ns = self.now_ns(), measure_ns
        if now_ns < measure_ns or not (self._left or self._courses):
            return
        for each in list(self._left):
            if now_ns < measure_ns + each.at_ns:
                break
            if self._is_met(each) and all(place != each.place for place, _ in self._courses):
                self._left.remove(each)
                self._courses.append((each.place, self._course(each)))
                self._repeat(each, now_ns - measure_ns)
        self._go_on()

    def release(self) -> None:
        """End everything that has begun, and begin nothing more."""
        self._is_over = True
        left, self._left = self._left, []
        for each in left:
            if each.times == 0:
                why = "its condition was not met" if each.fault.when else "it was not begun"
                self._note(each, each.fault.target, BEGIN, error=f"{_OVER}: {why}")
        while self._courses:
            self._go_on()

    def _go_on(self) -> None:
        """Let everything under way take its next step; what has come to its end is forgotten."""
        self._courses = [(place, course) for place, course in self._courses if _goes_on(course)]

    def _is_met(self, each: Occurrence) -> bool:
        """Whether the condition of a fault is met; one without a condition waits for its time only."""
        if each.fault.when is None:
            return True
        now = self.counted()
        first = self._first = self._first or now
        return each.fault.when.holds(RunCounts(now.sent - first.sent, now.received - first.received, now.lag))

    def _repeat(self, each: Occurrence, now_ns: int) -> None:
        """Wait for the condition of a repeated fault again."""
        if each.fault.when and each.fault.every:
            self._left.append(replace(each, at_ns=now_ns + each.fault.every, times=each.times + 1))
            self._left.sort(key=lambda other: other.at_ns)

    def _course(self, each: Occurrence) -> Course[None]:
        """From the begin of a fault to its end, on all of its targets."""
        fault = each.fault
        if isinstance(fault, LinkFault) and fault.roles:
            yield from self._between(each, fault)
            return
        if fault.by_role:
            able = [target for target in self.targets if fault.kind in target.actions]
            free = [target for target in able if not target.ended() and target.name not in self._under]
            target = yield from self._looked_up(each, fault.by_role, free)
            if target:
                yield from self._on(each, target, ", ".join(filter(None, (fault.target, fault.detail))))
            return
        targets = [target for target in self.targets if fault.target in target.meant_by]
        if fault.kind == ROLLING_RESTART:
            yield from self._one_by_one(each, targets)
            return
        courses = [self._on(each, target) for target in targets]
        while courses := [course for course in courses if _goes_on(course)]:
            yield

    def _between(self, each: Occurrence, fault: LinkFault) -> Course[None]:
        """The course of a fault of links whose ends are looked up first."""
        nodes = [target for target in self.targets if target.node is not None]
        found: dict[str, Target] = {}
        # What is drawn is another node than those that have a role.
        for name, wanted in sorted(fault.roles.items(), key=lambda role: role[1].role == "random"):
            left = [node for node in nodes if node not in found.values()] if wanted.role == "random" else nodes
            node = yield from self._looked_up(each, wanted, left)
            if node is None:
                return
            found[name] = node
        now = fault.resolved({name: node_of(node.name) for name, node in found.items()})
        detail = ", ".join(filter(None, (*fault.roles, fault.detail)))
        links = next(target for target in self.targets if fault.target in target.meant_by)
        yield from self._on(replace(each, fault=now), replace(links, name=now.target), detail)

    def _looked_up(self, each: Occurrence, wanted: ByRole, among: Sequence[Target]) -> Course[Target | None]:
        """The target that has a role now; None where nobody knows, which is written down."""
        number = sum(place == each.place for place, _ in self._courses)
        try:
            found = yield from self._answer(self.roles.find(each, wanted, among, number), "its target is not known")
        except (OSError, BrokerError) as error:
            self._note(each, each.fault.target, BEGIN, error=_text(error))
            return None
        return found

    def _answer(self, future: "Future[_T]", what: str) -> Course[_T]:
        """What a question is answered with; OSError where that takes too long, and what the question raises."""
        since_ns = self.now_ns()
        while not future.done():
            if self._is_over or self.now_ns() - since_ns >= ANSWER_NS:
                raise TimeoutError(f"{what}: {_OVER if self._is_over else 'the cluster does not answer'}")
            yield
        return future.result()

    def _one_by_one(self, each: Occurrence, targets: Sequence[Target]) -> Course[None]:
        """The next one begins when the one before has been back for a while."""
        fault = each.fault
        assert isinstance(fault, ProcessFault)
        before: Target | None = None
        for target in targets:
            try:
                if before:
                    yield from self._back(before)
                    yield from self._wait(self.now_ns() + (fault.between or 0))
                if self._is_over and before:
                    raise TimeoutError(_OVER)
            except (OSError, BrokerError) as error:
                self._note(each, target.name, BEGIN, error=_text(error))
                return
            yield from self._on(each, target)
            before = target

    def _back(self, target: Target) -> Course[None]:
        """Wait until a node is back; OSError where that takes too long."""
        since_ns = self.now_ns()
        while True:
            try:
                if target.node is None or (yield from self._answer(self.roles.is_back(target.node), "no answer")):
                    return
            except BrokerError:
                # Nobody may answer while the only broker starts.
                pass
            if self._is_over or self.now_ns() - since_ns >= BACK_NS:
                why = _OVER if self._is_over else f"after {BACK_NS // NS_PER_SECOND} s"
                raise TimeoutError(f"{target.name} was not back in the in-sync replicas: {why}")
            yield

    def _wait(self, until_ns: int) -> Course[None]:
        while not self._is_over and self.now_ns() < until_ns:
            yield

    def _on(self, each: Occurrence, target: Target, detail: str | None = None) -> Course[None]:
        """From the begin of a fault to its end, on one target."""
        fault, other = each.fault, self._under.get(target.name)
        if target.ended() or (other and fault.is_alone):
            why = "the process has already ended" if target.ended() else f"it is still under another fault: {other}"
            self._note(each, target.name, BEGIN, detail, why)
            return
        if fault.is_alone:
            self._under[target.name] = fault.kind
        begun_ns = self.now_ns()
        unfinished, error = self._do(fault, target, BEGIN)
        self._note(each, target.name, BEGIN, detail, error)
        # What could not be begun is ended all the same: a part of it may have been done.
        late = yield from self._finished(unfinished, target)
        if fault.for_ or unfinished:
            yield from self._wait(begun_ns + (fault.for_ or 0))
            unfinished, error = self._do(fault, target, END)
            error = error or (yield from self._finished(unfinished, target))
            self._note(each, target.name, END, detail, "; ".join(filter(None, (late, error))) or None)
        if fault.is_alone:
            del self._under[target.name]

    def _finished(self, unfinished: Unfinished | None, target: Target) -> Course[str | None]:
        """Wait until something is done, and force it where it takes too long; what went wrong, if anything did."""
        if unfinished is None:
            return None
        since_ns = self.now_ns()
        try:
            while not unfinished.is_done():
                if self._is_over or self.now_ns() - since_ns >= unfinished.within_ns:
                    self.killed.add(target.name)
                    unfinished.force()
                    return unfinished.late
                yield
        except (OSError, BrokerError) as error:
            return _text(error)
        return None

    def _do(self, fault: DoneFault, target: Target, action: str) -> tuple[Unfinished | None, str | None]:
        """Begin or end a fault: what is unfinished of it, and what went wrong."""
        what = target.actions[fault.kind]
        if fault.kind == KILL and action == BEGIN:
            self.killed.add(target.name)
        if action == END and fault.for_ and target.ended():
            return None, "the process has already ended"
        try:
            return (what.begin if action == BEGIN else what.end)(fault), None
        except (OSError, BrokerError) as error:
            return None, _text(error)

    def _note(
        self, each: Occurrence, target: str, action: str, detail: str | None = None, error: str | None = None
    ) -> None:
        detail = each.fault.detail if detail is None and action == BEGIN else detail
        lasts_ns = each.lasts_ns if action == END else 0
        asked_ns = None if each.fault.when or (action == END and not lasts_ns) else each.at_ns + lasts_ns
        asked_ns = None if asked_ns is None else self._measure_ns + asked_ns
        self.note(FaultRow(self.now_ns(), each.fault.kind, target, action, detail, error, asked_ns))


def _goes_on(course: Course[None]) -> bool:
    """Whether a course is not at its end, after its next step."""
    try:
        next(course)
    except StopIteration:
        return False
    return True


def _text(error: OSError | BrokerError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
