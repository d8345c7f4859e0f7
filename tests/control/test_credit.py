"""Credit: tables of single decisions, and a model of senders, consumers and failures that tries to break the bound."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from streamgauge.control.credit import Credits, Seen, filled

LIMITS = st.integers(1, 40)
NUMBERS = st.integers(0, 2)
ALL = 1 << 30
PLACES = st.lists(st.integers(0, 12), max_size=6)
USUAL = ("send", "write", "process", "process everything", "decide", "decide late")
FAILURES = ("refuse", "fail", "time out", "producer dies", "consumer dies")
COUNTS = st.sampled_from([ALL, 1, 2, 5, 0])


@pytest.mark.parametrize(
    ("limit", "granted", "seen", "expected"),
    [
        # Nothing was sent: the limit is shared evenly, what is over goes to the first.
        (10, (0, 0), Seen(0, (0, 0)), (5, 5)),
        (11, (0, 0), Seen(0, (0, 0)), (6, 5)),
        (1, (0, 0), Seen(0, (0, 0)), (1, 0)),
        # All is used and nothing processed: nothing is free.
        (10, (5, 5), Seen(0, (5, 5)), (5, 5)),
        # What was processed is free again, for those who used theirs.
        (10, (5, 5), Seen(4, (5, 5)), (7, 7)),
        (10, (5, 5), Seen(4, (5, 0)), (9, 5)),
        # Who used more before gets less of what cannot be shared.
        (10, (7, 3), Seen(1, (7, 3)), (7, 4)),
        # What failed for certain is free again, too.
        (10, (5, 5), Seen(0, (5, 5), returned=2), (6, 6)),
        # A producer that ended leaves what it did not use, and keeps what it used until that is processed.
        (10, (5, 5), Seen(0, (2, 5), dead=frozenset({0})), (2, 8)),
        (10, (5, 5), Seen(2, (2, 5), dead=frozenset({0})), (2, 10)),
        (10, (5, 5), Seen(0, (5, 5), dead=frozenset({0})), (5, 5)),
        # Nobody lives any more.
        (10, (5, 5), Seen(0, (2, 1), dead=frozenset({0, 1})), (2, 1)),
    ],
)
def test_what_is_free_goes_to_who_has_least(
    limit: int, granted: tuple[int, ...], seen: Seen, expected: tuple[int, ...]
) -> None:
    assert Credits(limit, granted).decide(seen).granted == expected


def test_outstanding_is_what_was_claimed_and_neither_processed_nor_returned() -> None:
    assert Seen(3, (5, 6), returned=2).outstanding == 6


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.integers(1, 60))
def test_water_stands_level(unused: list[int], free: int) -> None:
    """All of it is dealt out; who got any has within one of the least, and nobody who got none has less."""
    given_out = filled(dict(enumerate(unused)), unused, free)

    after = [have + given_out.get(producer, 0) for producer, have in enumerate(unused)]
    assert sum(given_out.values()) == free
    assert min(given_out.values()) >= 0
    assert all(after[producer] <= min(after) + 1 for producer, more in given_out.items() if more)


@given(LIMITS, st.integers(1, 6), st.lists(st.integers(0, 40), min_size=1, max_size=30))
def test_producers_that_always_want_to_send_get_the_same(limit: int, producers: int, steps: list[int]) -> None:
    """Within one message, however much is processed in between."""
    state, processed = Credits.none(limit, producers), 0
    for step in steps:
        state = state.decide(Seen(processed, state.granted))
        assert max(state.granted) - min(state.granted) <= 1
        processed = min(sum(state.granted), processed + step)


@given(st.integers(1, 6), st.integers(0, 30), st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), max_size=80))
def test_producers_with_nothing_to_send_cannot_keep_others_from_it(
    producers: int, more: int, sends: list[tuple[int, int]]
) -> None:
    """As long as the limit is one message for each producer: whoever wants to send next has a credit, if all of what
    was sent is processed by then."""
    state, claimed = Credits.none(producers + more, producers), [0] * producers
    for number, count in sends:
        state = state.decide(Seen(sum(claimed), claimed))
        sender = number % producers
        assert state.granted[sender] > claimed[sender]
        claimed[sender] = min(state.granted[sender], claimed[sender] + count)


def test_a_limit_below_the_number_of_producers_can_be_held_by_those_with_nothing_to_send() -> None:
    """What is granted is never taken back, so scenarios ask for a limit of at least one message for each."""
    state = Credits.none(1, 2).decide(Seen(0, (0, 0)))

    assert state.granted == (1, 0)
    assert state.decide(Seen(0, (0, 0))).granted == (1, 0)


def test_what_was_lost_for_ever_may_leave_the_rest_with_one_that_has_nothing_to_send() -> None:
    """Grants are dealt out before it is known who will need them."""
    state = Credits.none(3, 3).decide(Seen(0, (0, 0, 0))).decide(Seen(0, (0, 0, 0), dead=frozenset({1})))
    assert state.granted == (2, 0, 1)

    # The first has claimed both, of which the controller sees one; one failed, the other is never heard of again.
    late = state.decide(Seen(0, (1, 0, 0), returned=1, dead=frozenset({1})))

    assert late.granted == (2, 0, 2)
    assert late.decide(Seen(0, (2, 0, 0), returned=1, dead=frozenset({1}))).granted == late.granted


class Reported:
    """A number that only rises, and is seen late: any value that it had since the last look."""

    def __init__(self) -> None:
        self.history = [0]
        self.seen = 0

    @property
    def now(self) -> int:
        return self.history[-1]

    def become(self, value: int) -> None:
        assert value >= self.now
        self.history.append(value)

    def look(self, data: st.DataObject) -> int:
        self.seen = data.draw(st.integers(self.seen, len(self.history) - 1), "age of a report")
        return self.history[self.seen]

    def look_at_last(self) -> int:
        self.seen = len(self.history) - 1
        return self.now


class Partition:
    """What one group has done with one partition."""

    def __init__(self) -> None:
        self.processed: set[int] = set()
        """Offsets, whoever processed them."""
        self.published = Reported()
        self.begin()

    def begin(self) -> None:
        """A consumer starts at what the last one published as done: whatever it had buffered besides comes again."""
        self.mine = set[int]()
        self.from_offset = self.published.now

    def frontier(self, of: set[int], first: int) -> int:
        while first in of:
            first += 1
        return first

    @property
    def true_frontier(self) -> int:
        """The first offset that nobody has processed."""
        return self.frontier(self.processed, 0)

    def process(self, offset: int) -> None:
        self.processed.add(offset)
        self.mine.add(offset)

    def publish(self) -> None:
        """The consumer says how far it is itself; the largest that anybody of the group said counts."""
        self.published.become(max(self.published.now, self.frontier(self.mine, self.from_offset)))


class Producer:
    """Sends what it is granted, never more."""

    def __init__(self) -> None:
        self.granted = 0
        self.claimed = Reported()
        self.returned = Reported()
        self.sent = 0
        self.unsent = 0
        """Claimed, and refused before it was sent."""
        self.alive = True
        self.death_seen = False

    @property
    def waiting(self) -> int:
        """Claimed, and neither sent nor refused."""
        return self.claimed.now - self.sent - self.unsent


class CreditMachine(RuleBasedStateMachine):
    """Everything that may happen, in any order: the bound holds, grants never fall, nothing is granted twice."""

    @initialize(
        limit=st.integers(1, 12), producers=st.integers(1, 3), groups=st.integers(1, 2), places=st.integers(1, 2)
    )
    def begin(self, limit: int, producers: int, groups: int, places: int) -> None:
        self.limit = limit
        self.credits = Credits.none(limit, producers)
        self.members = [Producer() for _ in range(producers)]
        self.ends = [0] * places
        self.in_flight: list[Producer] = []
        """Messages sent and not reported, by their producer."""
        self.groups = [[Partition() for _ in range(places)] for _ in range(groups)]
        self.certainly_failed = 0
        self.the_controller_decides_by_fresh_reports()

    @rule(data=st.data(), kinds=st.lists(st.sampled_from([*USUAL, *USUAL, *FAILURES]), min_size=1, max_size=12))
    def things_happen(self, data: st.DataObject, kinds: list[str]) -> None:
        """In one rule, because Hypothesis leaves some rules out of each run, and without any of these nothing moves."""
        for kind in kinds:
            self.happens(kind, data)
            self.no_more_than_the_limit_is_sent_and_not_processed()
            self.nobody_claims_more_than_was_granted()

    def happens(self, kind: str, data: st.DataObject) -> None:
        draw = data.draw
        number, group = draw(NUMBERS), draw(NUMBERS)
        happenings: Mapping[str, Callable[[], None]] = {
            "send": lambda: self.a_producer_goes_on(number, draw(COUNTS), draw(COUNTS)),
            "write": lambda: self.messages_are_written(number, draw(COUNTS)),
            "process": lambda: self.a_consumer_goes_on(group, number, draw(PLACES), draw(st.booleans())),
            "process everything": lambda: self.a_consumer_processes_everything(group, number),
            "decide": self.the_controller_decides_by_fresh_reports,
            "decide late": lambda: self.the_controller_decides_by_old_reports(data),
            "refuse": lambda: self.a_message_that_was_claimed_is_refused_by_the_client(number),
            "fail": self.a_send_fails_for_certain,
            "time out": lambda: self.a_send_times_out(number, draw(st.booleans())),
            "producer dies": lambda: self.a_producer_dies(number),
            "consumer dies": lambda: self.a_consumer_dies_and_another_begins(group, number),
        }
        happenings[kind]()

    def a_producer_goes_on(self, number: int, claims: int, sends: int) -> None:
        """It looks at its grant, claims some of it, and sends some of what it claimed."""
        place = number % len(self.members)
        producer = self.members[place]
        if not producer.alive:
            return
        assert self.credits.granted[place] >= producer.granted
        producer.granted = self.credits.granted[place]
        producer.claimed.become(producer.claimed.now + min(claims, producer.granted - producer.claimed.now))
        sent = min(sends, producer.waiting)
        producer.sent += sent
        self.in_flight += [producer] * sent

    def a_message_that_was_claimed_is_refused_by_the_client(self, number: int) -> None:
        producer = self.members[number % len(self.members)]
        if producer.alive and producer.waiting:
            producer.unsent += 1
            producer.returned.become(producer.returned.now + 1)

    def messages_are_written(self, number: int, count: int) -> None:
        written = min(count, len(self.in_flight))
        self.ends[number % len(self.ends)] += written
        del self.in_flight[:written]

    def a_send_fails_for_certain(self) -> None:
        if self.in_flight and (producer := self.in_flight.pop()).alive:
            producer.returned.become(producer.returned.now + 1)
            self.certainly_failed += 1

    def a_send_times_out(self, number: int, written: bool) -> None:
        """Nobody knows whether it was written, so its credit comes back only if it was, and is processed."""
        if self.in_flight and (written or self.ambiguous() < self.limit // 3):
            self.in_flight.pop()
            self.ends[number % len(self.ends)] += written

    def a_producer_dies(self, number: int) -> None:
        """With whatever it has claimed and not sent; one lives on."""
        if sum(producer.alive for producer in self.members) > 1:
            self.members[number % len(self.members)].alive = False

    def a_consumer_goes_on(self, group: int, number: int, places: list[int], tells: bool) -> None:
        """It processes some of what there is, in any order, and may say how far it is."""
        partition, end = self.partition(group, number)
        for place in places:
            if partition.from_offset + place < end:
                partition.process(partition.from_offset + place)
        if tells:
            partition.publish()

    def a_consumer_processes_everything(self, group: int, number: int) -> None:
        partition, end = self.partition(group, number)
        for offset in range(partition.from_offset, end):
            partition.process(offset)
        partition.publish()

    def a_consumer_dies_and_another_begins(self, group: int, number: int) -> None:
        self.partition(group, number)[0].begin()

    def partition(self, group: int, number: int) -> tuple[Partition, int]:
        place = number % len(self.ends)
        return self.groups[group % len(self.groups)][place], self.ends[place]

    def the_controller_decides_by_old_reports(self, data: st.DataObject) -> None:
        """Who has ended is asked first: what such a producer claimed is read afterwards, and final."""
        for producer in self.members:
            producer.death_seen |= not producer.alive and data.draw(st.booleans(), "its death is seen")
        claimed = [each.claimed.look_at_last() if each.death_seen else each.claimed.look(data) for each in self.members]
        self.decide(
            claimed,
            [each.returned.look(data) for each in self.members],
            [[partition.published.look(data) for partition in group] for group in self.groups],
        )

    def the_controller_decides_by_fresh_reports(self) -> None:
        for producer in self.members:
            producer.death_seen = not producer.alive
        self.decide(
            [each.claimed.look_at_last() for each in self.members],
            [each.returned.look_at_last() for each in self.members],
            [[partition.published.look_at_last() for partition in group] for group in self.groups],
        )

    def decide(self, claimed: list[int], returned: list[int], published: list[list[int]]) -> None:
        dead = frozenset(place for place, each in enumerate(self.members) if each.death_seen)
        seen = Seen(min(map(sum, published)), claimed, sum(returned), dead)
        before, self.credits = self.credits, self.credits.decide(seen)
        assert sum(self.credits.granted) <= seen.processed + seen.returned + self.limit
        for place, (earlier, later) in enumerate(zip(before.granted, self.credits.granted, strict=True)):
            assert later >= earlier or place in dead
        if len(dead) < len(self.members):
            # Nothing that is free is kept back.
            assert sum(self.credits.granted) == seen.processed + seen.returned + self.limit

    def no_more_than_the_limit_is_sent_and_not_processed(self) -> None:
        sent = sum(producer.sent for producer in self.members)
        for group in self.groups:
            processed = sum(partition.true_frontier for partition in group)
            assert sent - processed - self.certainly_failed <= self.limit

    def nobody_claims_more_than_was_granted(self) -> None:
        for place, producer in enumerate(self.members):
            assert producer.claimed.now <= self.credits.granted[place]

    def ambiguous(self) -> int:
        """Claimed, and neither in the log, nor on its way, nor known to be nowhere: never to come back."""
        claimed = sum(each.claimed.now for each in self.members)
        waiting = sum(each.waiting for each in self.members if each.alive)
        returned = sum(each.returned.now for each in self.members)
        return claimed - sum(self.ends) - len(self.in_flight) - waiting - returned

    def teardown(self) -> None:
        """When everything goes on and reports are fresh, messages go on, unless too many credits are lost for ever."""
        living = [place for place, producer in enumerate(getattr(self, "members", ())) if producer.alive]
        for wanting in living:
            # What was lost for ever keeps its credit; of the others, each producer may keep what it does not use.
            kept = sum(max(1, self.unused(place)) for place in living if place != wanting)
            if self.limit - self.ambiguous() > kept:
                before = self.members[wanting].sent
                for _ in range(3):
                    self.everything_goes_on(wanting)
                assert self.members[wanting].sent > before
        if living and self.limit - self.ambiguous() >= len(living):
            # The living have all of the limit that was not lost.
            self.everything_goes_on(wanting=None)
            self.the_controller_decides_by_fresh_reports()
            assert sum(map(self.unused, living)) == self.limit - self.ambiguous()

    def unused(self, place: int) -> int:
        return self.credits.granted[place] - self.members[place].claimed.now

    def everything_goes_on(self, wanting: int | None) -> None:
        """At most one producer has something new to send; consumers process whatever there is."""
        self.the_controller_decides_by_fresh_reports()
        for place in range(len(self.members)):
            self.a_producer_goes_on(place, ALL if place == wanting else 0, ALL)
        self.messages_are_written(0, ALL)
        for group in range(len(self.groups)):
            for number in range(len(self.ends)):
                self.a_consumer_processes_everything(group, number)


TestCredit: Any = CreditMachine.TestCase
TestCredit.settings = settings(stateful_step_count=8)
