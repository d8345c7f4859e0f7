"""What a log that was read again says, and what groups did: one small story each."""

from collections.abc import Callable, Mapping
from itertools import combinations

import pytest

from streamgauge.delivery.audit import Audit, audit
from streamgauge.delivery.log import BY_LOG, LEDGER_CLASSES, Log, Reread, TransactionEnd, counted, ledger
from streamgauge.delivery.rows import Lag, MeasureSpan, Received, Sent, Stood
from streamgauge.domain.events import ABORTED, COMMITTED, UNDECIDED
from streamgauge.scenario.model.environment.verified import TOLD_BY_LOG

ALWAYS = MeasureSpan(0, 1_000_000)


class Story:
    """Messages 0 to 9 of one producer in one partition, acknowledged at their numbers, received by two groups in polls
    of one message, and standing in the log; what happens to them is told by the methods."""

    def __init__(self, messages: int = 10, end: int = 12) -> None:
        self.sent = [Sent(0, 0, seq, 0, seq, seq * 10, seq * 10 + 1, None) for seq in range(messages)]
        self.received = [self._came(group, seq, seq) for group in (0, 1) for seq in range(messages)]
        self.standing: dict[int, int | None] = {seq: seq for seq in range(messages)}
        self.start = self.log_start = 0
        self.position = self.end = end
        self.outcomes: dict[tuple[int, int], str] = {}
        self.endings: dict[tuple[int, int], TransactionEnd] = {}

    @staticmethod
    def _came(group: int, seq: int, offset: int, poll: int | None = None) -> Received:
        at = seq * 10 + 5
        poll = offset if poll is None else poll
        return Received(0, group, group, poll, 0, seq, 0, offset, seq * 10, seq * 10 + 1, at, True)

    def never_came(self, group: int, seq: int) -> None:
        self.received = [row for row in self.received if (row.group, row.seq) != (group, seq)]

    def in_transaction(self, seq: int, outcome: str, ending_ns: int) -> None:
        self.sent[seq] = self.sent[seq]._replace(transaction=seq)
        self.outcomes[0, seq] = outcome
        self.endings[0, seq] = TransactionEnd(ending_ns, outcome)

    def said(self, group: int) -> Audit:
        lag = [
            row
            for each in (0, 1)
            for row in (
                Lag("final", 0, each, None, 0, self.log_start, None, None, self.end),
                Lag("final", 0, each, each, 0, None, None, self.position, None),
            )
        ]
        return audit(self.sent, self.received, lag, group, ALWAYS, outcomes=self.outcomes)

    def found(self, group: int = 0, *, reread: bool = True) -> dict[str, int]:
        said = self.said(group)
        log = Log.of(
            [Reread(0, 0, self.start)] if reread else [],
            [Stood(0, 0, offset, None if seq is None else 0, seq, None) for offset, seq in self.standing.items()],
        )
        entries = ledger(self.sent, self.received, group, said, self.outcomes, self.endings, log)
        run, measured = counted(entries, ALWAYS)
        assert run == measured
        return {name: count for name, count in run.items() if count}


def test_the_language_of_scenarios_knows_which_counts_need_the_log() -> None:
    assert TOLD_BY_LOG == BY_LOG


def test_a_healthy_run_has_nothing_in_the_ledger() -> None:
    assert Story().found() == {}


def truncated(story: Story) -> None:
    """Acknowledged, received by nobody, and gone."""
    story.never_came(0, 1)
    story.never_came(1, 1)
    del story.standing[1]


def vanished(story: Story) -> None:
    """A message that failed was received, and is gone."""
    story.sent[2] = story.sent[2]._replace(offset=None, error="_MSG_TIMED_OUT")
    del story.standing[2]


def conflicting(story: Story) -> None:
    """A message that failed was received from the offset at which another one stands, and is acknowledged."""
    story.sent.append(Sent(0, 0, 20, 0, None, 200, 201, "_MSG_TIMED_OUT"))
    story.received.append(Story._came(0, 20, 3, poll=3))


def skipped(story: Story) -> None:
    """Still there, and neither group received it."""
    story.never_came(0, 4)
    story.never_came(1, 4)


def seen_elsewhere(story: Story) -> None:
    """Only the other group received it: a poll of this one passed over it."""
    story.never_came(0, 5)


def went_back(story: Story) -> None:
    story.received.append(Story._came(0, 6, 6, poll=11))


def unseen(story: Story) -> None:
    story.in_transaction(7, COMMITTED, 70)
    skipped_like(story, 7)


def skipped_like(story: Story, seq: int) -> None:
    story.never_came(0, seq)
    story.never_came(1, seq)


def early(story: Story) -> None:
    story.in_transaction(9, COMMITTED, 96)


Plant = Callable[[Story], None]
PLANTED: Mapping[Plant, Mapping[str, int]] = {
    truncated: {"truncated": 1},
    vanished: {"vanished": 1},
    conflicting: {"vanished": 1, "offset_conflicts": 1},
    skipped: {"skipped_polls": 1},
    seen_elsewhere: {"skipped_polls": 1, "seen_elsewhere": 1},
    went_back: {"went_back": 1},
    unseen: {"skipped_polls": 1, "committed_unseen": 1},
    early: {"received_early": 1},
}


@pytest.mark.parametrize("plant", [*PLANTED], ids=lambda plant: plant.__name__)
def test_each_anomaly_is_found_and_no_other(plant: Plant) -> None:
    story = Story()
    plant(story)
    assert story.found() == PLANTED[plant]


@pytest.mark.parametrize("pair", [*combinations(PLANTED, 2)], ids=lambda pair: "-".join(each.__name__ for each in pair))
def test_two_anomalies_are_found_together(pair: tuple[Plant, Plant]) -> None:
    """But what two of them have in common counts once: one poll passes over two messages that follow each other."""
    story = Story()
    expected = dict.fromkeys(LEDGER_CLASSES, 0)
    for plant in pair:
        plant(story)
        for name, count in PLANTED[plant].items():
            expected[name] += count
    if set(pair) == {skipped, seen_elsewhere}:
        expected["skipped_polls"] = 1
    assert story.found() == {name: count for name, count in expected.items() if count}


@pytest.mark.parametrize(("poll", "found"), [(9, {}), (10, {"went_back": 1})])
def test_the_last_offset_again_is_a_step_back(poll: int, found: dict[str, int]) -> None:
    """By another poll: of what came twice by one, nobody knows the order."""
    story = Story()
    story.received.append(Story._came(0, 9, 9, poll=poll))
    assert story.found() == found


def test_what_was_received_may_be_truncated() -> None:
    """The class says that it came once; the log, that it is gone, and its place is another one's."""
    story = Story()
    story.standing[3] = 20
    story.sent.append(Sent(0, 0, 20, 0, 3, 200, 201, None))
    # The other one was received by nobody, and stands.
    assert story.found() == {"truncated": 1, "vanished": 1, "offset_conflicts": 1, "skipped_polls": 1}


def test_without_the_log_nobody_says_what_is_gone() -> None:
    story = Story()
    truncated(story)
    seen_elsewhere(story)
    went_back(story)
    assert story.found(reread=False) == {"seen_elsewhere": 1, "went_back": 1}


def test_an_offset_that_was_not_read_again_says_nothing() -> None:
    story = Story()
    truncated(story)
    story.start = 2
    assert story.found() == {}


@pytest.mark.parametrize(("stands", "found"), [(True, {}), (False, {"truncated": 1})])
def test_a_message_whose_offset_nobody_knows_is_gone_if_it_stands_nowhere(stands: bool, found: dict[str, int]) -> None:
    story = Story()
    story.sent[1] = story.sent[1]._replace(offset=None)
    if not stands:
        truncated(story)
    assert story.found() == found


@pytest.mark.parametrize("outcome", [ABORTED, UNDECIDED])
def test_what_was_not_committed_is_promised_to_nobody(outcome: str) -> None:
    story = Story()
    story.in_transaction(1, outcome, 10)
    truncated(story)
    assert story.found() == {}


@pytest.mark.parametrize(("outcome", "found"), [(ABORTED, {}), (UNDECIDED, {"received_early": 1})])
def test_an_aborted_message_that_came_is_counted_elsewhere(outcome: str, found: dict[str, int]) -> None:
    story = Story()
    story.in_transaction(1, outcome, 100)
    assert story.found() == found
