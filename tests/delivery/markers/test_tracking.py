"""Which messages are due again: by table, and with any sequence of markers, crashes of clients and of trackers."""

from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from streamgauge.delivery.markers.tracking import TooManyOpen, Tracking
from streamgauge.delivery.markers.wire import Marker

AFTER_MS = 100
NEVER = 1 << 60


def start(offset: int, after_ms: int = AFTER_MS) -> Marker:
    return Marker(0, offset, after_ms)


def end(offset: int) -> Marker:
    return Marker(0, offset, None)


def read(*markers: tuple[int, Marker], silence_ms: int = NEVER, history_end: int = 0) -> Tracking:
    """A tracker that has read markers with these times."""
    tracking = Tracking(history_end, silence_ms)
    for at, (appended_ms, marker) in enumerate(markers):
        tracking.take(at, appended_ms, marker, appended_ms)
    return tracking


@pytest.mark.parametrize(
    ("markers", "due"),
    [
        pytest.param([(0, start(7))], [], id="its time has not come"),
        pytest.param([(0, start(7)), (99, start(8))], [], id="a moment before"),
        pytest.param([(0, start(7)), (100, start(8))], [7], id="the clock is the latest marker"),
        pytest.param([(0, start(7)), (50, end(7)), (100, start(8))], [], id="it has ended"),
        pytest.param([(0, end(7)), (50, start(7)), (150, start(8))], [7], id="it was taken again afterwards"),
        pytest.param([(0, start(7)), (50, start(7)), (149, end(9))], [], id="the latest start counts"),
        pytest.param([(0, start(7)), (50, start(7)), (150, end(9))], [7], id="and is due once"),
        pytest.param([(0, start(7, 200)), (0, start(8)), (200, end(9))], [8, 7], id="in the order of deadlines"),
        pytest.param([(0, start(7)), (100, end(9)), (40, end(9))], [7], id="the clock does not go back"),
        pytest.param([(0, start(7, 0))], [7], id="at once"),
    ],
)
def test_a_message_is_due_when_the_latest_marker_is_late_enough(
    markers: list[tuple[int, Marker]], due: list[int]
) -> None:
    assert read(*markers).due(0) == due


@pytest.mark.parametrize(("wall_ms", "due"), [(1_049, []), (1_050, [7])])
def test_in_silence_the_wall_clock_counts(wall_ms: int, due: list[int]) -> None:
    """The last marker was read at 1,000, when its own time was 1,000, too."""
    assert read((1_000, start(7, 10)), silence_ms=50).due(wall_ms) == due


def test_what_has_ended_is_forgotten_behind_a_message_that_stays_open() -> None:
    """And nothing of those that are open: what is due, its order, and where a successor begins."""
    far, few = 1_000_000, 5_000
    tracking = read((0, start(1, far)), (0, start(2, 10)), (0, start(3, far - 1)))
    assert tracking.due(0) == []
    tracking.take(3, 10, end(9), 10)
    assert tracking.due(0) == [2]
    for at in range(4, 200_000, 2):
        tracking.take(at, 20, start(at, far), 20)
        tracking.take(at + 1, 20, end(at), 20)

    assert max(len(tracking._starts), len(tracking._deadlines)) < few
    assert (tracking.open, tracking.commit) == (3, 0)
    tracking.put_back(2)
    assert tracking.due(0) == [2]
    tracking.take(200_001, far, end(9), far)
    assert tracking.due(0) == [3, 1]


def test_nothing_is_due_twice_until_it_is_put_back() -> None:
    tracking = read((0, start(7)), (0, start(8)), (100, end(9)))
    assert tracking.due(0, most=1) == [7]
    assert tracking.due(0) == [8]
    tracking.put_back(7)
    tracking.put_back(9)
    assert tracking.due(0) == [7]


def test_what_has_ended_is_not_put_back() -> None:
    tracking = read((0, start(7)), (100, end(9)))
    assert tracking.due(0) == [7]
    tracking.take(2, 100, end(7), 100)
    tracking.put_back(7)
    assert tracking.due(0) == []


def test_what_was_taken_again_is_not_put_back() -> None:
    """It is due once more, by its new deadline."""
    tracking = read((0, start(7)), (100, start(8)))
    assert tracking.due(0) == [7]
    tracking.take(2, 100, start(7), 100)
    tracking.put_back(7)
    tracking.take(3, 200, end(8), 200)
    assert tracking.due(0) == [7]
    assert tracking.next_due_ms() is None


def test_nothing_is_due_while_history_is_read() -> None:
    """The end marker of a message may be the last of it."""
    tracking = read((0, start(7)), (500, start(8)), history_end=3)
    assert tracking.due(NEVER) == []
    tracking.take(2, 500, end(7), 500)
    assert tracking.due(NEVER) == []
    assert tracking.is_current


def test_history_may_end_with_what_is_no_marker() -> None:
    tracking = read((0, start(7)), (500, end(8)), history_end=4)
    tracking.pass_over(4)
    assert tracking.due(0) == [7]
    tracking.pass_over(3)
    assert tracking.position == 4


def test_a_tracker_that_read_nothing_has_no_clock() -> None:
    tracking = Tracking(0, 0)
    assert (tracking.clock_ms(5), tracking.due(5), tracking.next_due_ms(), tracking.commit) == (None, [], None, 0)


@pytest.mark.parametrize(
    ("markers", "commit"),
    [
        ([(0, start(7))], 0),
        ([(0, start(7)), (0, start(8)), (0, end(7))], 1),
        ([(0, start(7)), (0, start(8)), (0, end(8))], 0),
        ([(0, start(7)), (0, start(8)), (0, start(7))], 1),
        ([(0, start(7)), (0, end(7))], 2),
    ],
)
def test_a_successor_begins_with_the_oldest_open_message(markers: list[tuple[int, Marker]], commit: int) -> None:
    """Or, where none is open, with the next marker."""
    assert read(*markers).commit == commit


def test_there_is_a_limit() -> None:
    """A message that is open already takes no more room."""
    tracking = Tracking(0, 0, most=2)
    for at, marker in enumerate([start(1), start(2), start(2)]):
        tracking.take(at, 0, marker, 0)
    with pytest.raises(TooManyOpen, match="2 messages are open"):
        tracking.take(3, 0, start(3), 0)
    assert tracking.open == 2


@dataclass
class Log:
    """What was written, in its order, with times that rise."""

    markers: list[tuple[int, Marker]] = field(default_factory=list)
    messages: int = 0


class Life(RuleBasedStateMachine):
    """Clients take messages, end them or crash; trackers redeliver, crash between any two steps, and are replaced."""

    def __init__(self) -> None:
        super().__init__()
        self.log, self.now_ms, self.committed = Log(), 0, 0
        self.taken: set[int] = set()
        """Messages that some client has, and has not ended."""
        self.done: set[int] = set()
        """Messages that a client processed, or that were sent again as another message."""
        self.sent: list[int] = []
        """Redelivered, and the end marker is not written yet."""
        self.tracking = self._new()

    def _new(self) -> Tracking:
        return Tracking(len(self.log.markers), AFTER_MS * 3, self.committed)

    def _write(self, marker: Marker) -> None:
        self.log.markers.append((self.now_ms, marker))

    @rule(step=st.integers(0, AFTER_MS))
    def time_passes(self, step: int) -> None:
        self.now_ms += step

    @rule()
    def take_a_new_message(self) -> None:
        self._write(start(self.log.messages))
        self.taken.add(self.log.messages)
        self.log.messages += 1

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def end_a_message(self, data: st.DataObject) -> None:
        offset = data.draw(st.sampled_from(sorted(self.taken)))
        self.taken.discard(offset)
        self.done.add(offset)
        self._write(end(offset))

    @precondition(lambda self: self.log.messages)
    @rule(data=st.data())
    def another_client_takes_a_message_again(self, data: st.DataObject) -> None:
        """The one before had crashed, and had not committed."""
        offset = data.draw(st.integers(0, self.log.messages - 1))
        self._write(start(offset))
        self.taken.add(offset)

    @precondition(lambda self: self.taken)
    @rule()
    def all_clients_crash(self) -> None:
        self.taken.clear()

    @rule(most=st.integers(1, 5))
    def the_tracker_reads(self, most: int) -> None:
        begin = self.tracking.position
        for at in range(begin, min(begin + most, len(self.log.markers))):
            self.tracking.take(at, *self.log.markers[at], self.now_ms)

    @rule(most=st.integers(1, 3))
    def the_tracker_redelivers(self, most: int) -> None:
        for offset in self.tracking.due(self.now_ms, most):
            self._check_redelivery(offset)
            self.done.add(offset)
            self.sent.append(offset)

    @precondition(lambda self: self.sent)
    @rule()
    def the_tracker_writes_an_end_marker(self) -> None:
        self._write(end(self.sent.pop(0)))

    @rule()
    def the_tracker_commits(self) -> None:
        self.committed = self.tracking.commit

    @rule()
    def the_tracker_crashes(self) -> None:
        self.sent.clear()
        self.tracking = self._new()

    def _check_redelivery(self, offset: int) -> None:
        """Never early, and never after an end marker that the tracker has read, or had when it began."""
        seen = self.log.markers[: self.tracking.position]
        latest = max(at for at, (_, marker) in enumerate(seen) if marker.offset == offset)
        appended_ms, marker = seen[latest]
        assert marker.redeliver_after_ms is not None
        assert self.now_ms >= appended_ms + marker.redeliver_after_ms
        assert self.tracking.position >= self.tracking.history_end

    @invariant()
    def a_successor_misses_nothing(self) -> None:
        """Every message that is open in the log is open for who begins at the committed offset."""
        found: dict[int, bool] = {}
        for _, marker in self.log.markers[: self.committed]:
            found[marker.offset] = marker.redeliver_after_ms is not None
        begun_later = {marker.offset for _, marker in self.log.markers[self.committed :]}
        assert all(offset in begun_later for offset, is_open in found.items() if is_open)

    def teardown(self) -> None:
        """Whatever happened: if a tracker lives on for long enough, no message is left behind."""
        self.taken.clear()
        self.the_tracker_crashes()
        for _ in range(self.log.messages + 3):
            self.now_ms += AFTER_MS * 4
            self.the_tracker_reads(len(self.log.markers))
            self.the_tracker_redelivers(self.log.messages + 1)
            while self.sent:
                self.the_tracker_writes_an_end_marker()
        assert self.done == set(range(self.log.messages))
        assert self.tracking.open == 0
        assert self.tracking.commit == len(self.log.markers)


TestLife = Life.TestCase
TestLife.settings = settings(stateful_step_count=40)
