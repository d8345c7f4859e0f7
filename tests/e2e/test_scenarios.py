"""Every shipped scenario, shortened, on a real broker: it runs, and delivers exactly.

`make test` carries out as many as it takes to have every setting in one of them, `make soak` the others. Those that
break a cluster of their own for a minute are in test_soak_replicas.py.
"""

import os
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from tests.e2e.covering import covering
from tests.e2e.logs import read_again
from tests.e2e.test_soak_replicas import BREAKING

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.delivery.attempts import ANSWERS, Attempt, Carried, Delivery, redeliveries
from streamgauge.delivery.markers.wire import COUNT_HEADER
from streamgauge.delivery.reports import certainly_not_written
from streamgauge.domain.clock import NS_PER_MS, monotonic_ns
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.kafka.clients.decode import Decoder
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import read_facts
from streamgauge.record.parts import close_left_open
from streamgauge.runs.conduct.conduct import conduct
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.scenario_file import by_topic, load_scenario, shipped
from streamgauge.scenario import Scenario
from streamgauge.scenario.model.environment.faults.processes import ProcessFault
from streamgauge.workload.failing import Failing

pytestmark = [pytest.mark.kafka, pytest.mark.e2e]

SHORT = ("phases.warmup=200ms", "phases.drain=20s")
MEASURE = "phases.measure=1500ms"
ONE_OF_THREE = "rf3-acks-all-leader-kill"
LENGTHS = {
    # A duration would take the place of what ends them.
    "many-topics": "phases.measure.bytes_per_partition=200KiB",
    "round-trip": "phases.measure.messages=2k",
    "drain": "phases.measure.at_most=30s",
}
FAULTS = {
    # In the middle of so short a measure phase.
    "pause-consumer": "faults=[{at: 300ms, kind: pause, target: consumer-0, for: 700ms}]",
    "pause-broker": "faults=[{at: 300ms, kind: pause, target: broker, for: 700ms}]",
    "asymmetric-partition": (
        "faults=[{at: 300ms, kind: black-hole, between: [broker-1, producers], one_way: true, for: 700ms}]"
    ),
    "partitioned-leader": ('faults=[{at: 300ms, kind: black-hole, between: ["leader-of:0", brokers], for: 700ms}]'),
    "slow-follower": (
        "faults=[{at: 300ms, kind: delay, delay: 20ms, between: [broker-3, [broker-1, broker-2]], for: 700ms}]"
    ),
    "kill-consumer": "faults=[{at: 700ms, kind: kill, target: consumer-1}]",
    ONE_OF_THREE: 'faults=[{at: 300ms, kind: kill, target: "leader-of:0", for: 1s}]',
}
READ_ONLY = {"drain", "observe"}
PIPED = {name for name, text in shipped().items() if "\npipeline:" in text}
"""What comes out of these stands in another topic: they are in test_pipeline.py."""
ORIGINALS = set(by_topic()["originals"])
"""They have the settings of others, in other combinations, and what `convert` makes of the same specification."""
REDELIVERING = {"redelivery-markers", "redelivery-retry-topics", "redelivery-share"}
"""Their messages are delivered more than once on purpose."""
PARTITIONS = 12
STAMPS = ("topic", "producer", "seq")
PLACE = ("topic", "partition", "offset")


class Ran:
    """A scenario that was carried out, and its rows."""

    def __init__(self, scenario: Scenario, folder: RunFolder) -> None:
        self.scenario = scenario
        self.folder = folder
        self.facts: RunFacts = read_facts(folder)

    def rows(self, kind: str) -> pa.Table:
        """All rows of a kind of event."""
        files = [str(path) for path in self.folder.events.glob(f"{kind}/worker=*/part-*.parquet")]
        return ds.dataset(files).to_table() if files else pa.table({})

    def tuples(self, kind: str, *names: str) -> list[tuple[object, ...]]:
        """Some columns of a kind of event, row by row."""
        table = self.rows(kind)
        return list(zip(*(table[name].to_pylist() for name in names), strict=True)) if table.num_rows else []


@pytest.fixture
def carry_out(broker: EmbeddedBroker, java: Java, tmp_path: Path) -> Callable[..., Ran]:
    """Carries out a scenario, with a topic of its own, on the broker of the suite, or on brokers that may be harmed."""

    def run(name: str, *settings: str, topic: str | None = None) -> Ran:
        base = topic or f"e2e-{os.getpid()}-{monotonic_ns()}"
        many = "[1-4]" if name == "many-topics" else ""
        length = LENGTHS.get(name, MEASURE)
        faults = [FAULTS[name]] if name in FAULTS else []
        scenario = load_scenario(name, [*SHORT, length, f'topic.name="{base}{many}"', *faults, *settings])
        bootstrap = None if scenario.harms_cluster or scenario.topic.brokers > 1 else broker.bootstrap
        request = Request(scenario, tmp_path, ["test"], java, bootstrap=bootstrap, allow_reset=True)
        folder = conduct(request, Interrupts(), lambda _: None)
        # What a process that was killed had recorded is no part yet.
        close_left_open(folder)
        return Ran(scenario, folder)

    return run


def delivered_exactly(ran: Ran) -> None:
    """Every message that was acknowledged, and not aborted, came once to every group, intact and processed.

    What a consumer that was killed had not committed comes again, from the same offset. A producer that is not
    idempotent may write a message at two offsets: on a busy machine it retries what a broker has already carried out.
    A message that timed out, because a machine stood still for longer than a message may take, may be in the log.
    """
    killed = any(
        isinstance(fault, ProcessFault) and (fault.kind, fault.role) == ("kill", "consumer")
        for fault in ran.scenario.faults
    )
    aborted = {
        (producer, transaction)
        for producer, transaction, outcome in ran.tuples("transactions", "producer", "transaction", "outcome")
        if outcome != "committed"
    }
    sent = ran.tuples("sent", "topic", "producer", "seq", "transaction", "error")
    expected: Counter[Any] = Counter(
        (topic, producer, seq)
        for topic, producer, seq, tx, error in sent
        if not error and (producer, tx) not in aborted
    )
    assert expected
    assert set(expected.values()) == {1}
    perhaps = {
        (topic, producer, seq): error
        for topic, producer, seq, tx, error in sent
        if error and not certainly_not_written(str(error)) and (producer, tx) not in aborted
    }
    allowed = expected + Counter(perhaps.keys())
    load = ran.scenario.load
    may_repeat = killed or bool(load and not load.is_idempotent)
    received = ran.tuples("received", "group", *STAMPS, *PLACE)
    for group in ran.facts.groups:
        mine = [row for row in received if row[0] == group.id]
        got: Counter[Any] = Counter(row[1:4] for row in mine)
        again = len(mine) - len({row[4:] for row in mine})
        more = got.keys() - allowed.keys() if may_repeat else got - allowed
        fewer = expected - got
        errors = dict(Counter(perhaps.values()))
        what = f"{len(more)} too many, {again} offsets came again, {len(fewer)} missing, errors of sends: {errors}"
        assert not more and not fewer, f"{what}; the run {ran.facts.ending}: {ran.facts.reasons}"  # noqa: PT018 - both are told
        assert killed or not again, what
    assert False not in {intact for (intact,) in ran.tuples("received", "intact")}
    consume = ran.scenario.consume
    if consume and consume.processing:
        assert None not in {processed for (processed,) in ran.tuples("received", "processed_ns")}


def deliveries_of(ran: Ran) -> tuple[list[Delivery], list[Attempt]]:
    """All deliveries, and what became of them."""
    names = (*STAMPS, *PLACE, "delivery_count", "received_ns", "processed_ns", "deadline_ms")
    rows: list[Any] = ran.tuples("received", *names)
    ahead_ns = ran.facts.wall_ns - ran.facts.monotonic_ns
    deliveries = [
        Delivery(row[:3], row[3:6], row[6], row[7], row[8], None if row[9] is None else row[9] * NS_PER_MS - ahead_ns)
        for row in rows
    ]
    told: list[Any] = ran.tuples("attempts", *PLACE, "at_ns", "outcome", "attempt")
    return deliveries, [Attempt(row[:3], *row[3:]) for row in told]


def as_due(deliveries: list[Delivery]) -> list[Delivery]:
    """From a retry topic it is the message of the first topic that comes again, when it tells that it is due."""
    return [each._replace(stamp=(0, *each.stamp[1:]), due_ns=each.deadline_ns, deadline_ns=None) for each in deliveries]


def drawn_of(ran: Ran) -> list[set[tuple[int, int]]]:
    """Producer and sequence number of the messages that are delivered once, twice, three and four times at least where
    half of the deliveries fail by the draws of the seed; and last of those that are dead then.
    """
    sent: list[Any] = ran.tuples("sent", *STAMPS)
    _, producers, seqs = (np.array(column) for column in zip(*sent, strict=True))
    left, drawn = np.ones(len(seqs), np.bool_), []
    for number in range(1, 6):
        drawn.append(set(zip(producers[left].tolist(), seqs[left].tolist(), strict=True)))
        left &= Failing(fail=0.5).failed(ran.scenario.seed, producers, seqs, number)
    return drawn


DELIVERING = set(shipped()) - READ_ONLY - PIPED - BREAKING.keys() - REDELIVERING
COVERING = set(covering({name: text for name, text in shipped().items() if name in DELIVERING - ORIGINALS}))
"""Together these have in them whatever is in any of them; the others differ from them in numbers."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in COVERING else pytest.mark.soak) for name in sorted(DELIVERING)],
)
def test_a_shipped_scenario_delivers_exactly(name: str, carry_out: Callable[..., Ran]) -> None:
    """Shortened, it ends as it should."""
    ran = carry_out(name)

    assert (ran.facts.ending, ran.facts.reasons) == ("finished", [])
    assert ran.facts.drained is not False
    if ran.scenario.load:
        delivered_exactly(ran)
    if ran.scenario.connections:
        assert ran.rows("connections").num_rows > 0
        assert {error for (error,) in ran.tuples("connections", "error")} == {None}
    if ran.scenario.backpressure and ran.scenario.backpressure.credit:
        assert ran.rows("decisions").num_rows > 0
    done = ran.tuples("faults", "kind", "action", "error")
    for fault in ran.scenario.faults:
        assert {(fault.kind, action, None) for action in ("begin", *["end"] * (fault.for_ is not None))} <= set(done)


@pytest.mark.parametrize(
    ("name", "carrier", "carried"),
    [
        ("redelivery-markers", "markers.timeout=500ms", Carried()),
        ("redelivery-share", "share.lock=20s", Carried(in_place=True, limit=3)),
    ],
)
def test_what_fails_is_delivered_again_and_dead_in_the_end(
    name: str, carrier: str, carried: Carried, carry_out: Callable[..., Ran]
) -> None:
    """As the seed draws it, delivery by delivery; the log that is read again tells nothing of what was sent again."""
    ran = carry_out(name, "verify.log=true", "phases.drain=60s", f"consume.acknowledge.{carrier}")

    assert (ran.facts.ending, ran.facts.reasons, ran.facts.drained) == ("finished", [], True)
    deliveries, told = deliveries_of(ran)
    found = redeliveries(deliveries, told, carried)
    sent = ran.tuples("sent", *STAMPS)
    assert found.counts["messages"] == len(sent) > 1000
    none = ("early", "open", "unanswered", "reread", "timed_out", "archived")
    assert dict.fromkeys(none, 0).items() <= found.counts.items()

    outcomes = {(each.place, each.number): each.outcome for each in told if each.outcome in ANSWERS}
    failing, seed = Failing(fail=0.5), ran.scenario.seed
    for delivery in deliveries:
        (failed,) = failing.failed(seed, [delivery.stamp[1]], [delivery.stamp[2]], delivery.number)
        is_last = carried.in_place and delivery.number == 4
        expected_of = "accepted" if not failed else "rejected" if is_last else "released"
        assert outcomes[delivery.place, delivery.number] == expected_of
    *drawn, dead = drawn_of(ran)
    expected = sum(map(len, drawn))
    # A machine that is busy acknowledges late, and then messages are delivered again that had succeeded.
    late = found.counts["duplicates"]
    assert expected <= found.counts["deliveries"] <= expected + late + found.counts["dead_after_success"]
    assert found.counts["dead"] - found.counts["dead_after_success"] == len(dead)
    appended = Counter(ran.tuples("appended", *STAMPS))
    assert appended == Counter(sent)
    trackers = [] if carried.in_place else ["tracker-consumer", "tracker-producer"]
    assert roles_that_told(ran) == {"producer", "consumer", "acknowledgements", *trackers}


def roles_that_told(ran: Ran) -> set[str]:
    """Of whose clients bytes and requests are known."""
    rows: list[Any] = ran.tuples("client", "role", "tx_bytes", "rx_bytes", "tx_requests")
    return {role for role, *told in rows if all(told)}


def test_what_fails_comes_again_from_retry_topics(carry_out: Callable[..., Ran]) -> None:
    """As the seed draws it, message by message, from the topic of its delay and never before; nothing is left open."""
    delays_ms = (300, 200, 200)
    ran = carry_out(
        "redelivery-retry-topics", "phases.drain=60s", "consume.acknowledge.retry={delays: [300ms, 200ms], limit: 3}",
        "phases.measure=2s",
    )  # fmt: skip

    assert (ran.facts.ending, ran.facts.reasons, ran.facts.drained) == ("finished", [], True)
    assert [topic.name.rpartition("__")[2] for topic in ran.facts.topics][1:] == ["retry_1", "retry_2"]
    names = ("topic", "partition", "offset", "producer", "seq")
    told: list[Any] = ran.tuples("attempts", *names, "attempt", "outcome", "at_ns")
    outcomes = {(*row[3:6], row[6]): row[7] for row in told}
    came = {}
    received: list[Any] = ran.tuples("received", *names, "delivery_count", "received_ns")
    for topic, *_, producer, seq, number, at_ns in received:
        assert topic == min(number - 1, 2)
        came[producer, seq, number] = at_ns
        if number > 1:
            assert at_ns - outcomes[producer, seq, number - 1, "released"] >= delays_ms[number - 2] * NS_PER_MS

    *drawn, dead = drawn_of(ran)
    expected = {
        (*message, number): "accepted" if message not in next_ else "rejected" if number == 4 else "released"
        for number, (messages, next_) in enumerate(pairwise([*drawn, dead]), 1)
        for message in messages
    }
    assert set(came) == set(expected)
    assert {key[:3]: key[3] for key in outcomes if key[3] not in {"redelivered", "dead_letter"}} == expected
    assert Counter(key[3] for key in outcomes)["dead_letter"] == len(dead) > 10
    assert roles_that_told(ran) == {"producer", "consumer", "acknowledgements"}


MOMENTS = np.random.default_rng(1).integers(100, 2_500, 10).tolist()
"""Milliseconds after the begin of the measure phase."""
AT_RANDOM = [pytest.param(moment, marks=pytest.mark.soak) for moment in MOMENTS]


@pytest.mark.parametrize("at_ms", [500, *AT_RANDOM])
def test_what_a_killed_consumer_had_comes_to_another_at_once(at_ms: int, carry_out: Callable[..., Ran]) -> None:
    """Long before its lock is over: the drain ends within its limit, and nothing is lost. Both read one partition."""
    kill = f"faults=[{{at: {at_ms}ms, kind: kill, target: consumer-0}}]"
    share = "consume.acknowledge={share: {lock: 60s, session: 2s}}"
    ran = carry_out("redelivery-share", kill, share, "phases.measure=3s", "phases.drain=30s", "topic.partitions=1")

    assert (ran.facts.ending, ran.facts.reasons, ran.facts.drained) == ("finished", [], True)
    ended = ran.tuples("attempts", *STAMPS, "outcome")
    # What it was told last a dead consumer records no more.
    received = set(ran.tuples("received", *STAMPS))
    assert received == set(ran.tuples("sent", *STAMPS))
    assert {outcome for *_, outcome in ended} == {"accepted", "released", "rejected", "dead_letter"}
    assert {consumer for (consumer,) in ran.tuples("received", "consumer")} == {0, 1}
    positions: list[Any] = ran.tuples("lag", "moment", "position", "end")
    assert {position == end for moment, position, end in positions if moment == "final"} == {True}


def test_what_is_too_late_in_its_last_delivery_is_archived(carry_out: Callable[..., Ran]) -> None:
    """The broker gives it up without a dead letter, as nobody rejected it: a class of its own, and the drain ends."""
    ran = carry_out(
        "redelivery-share", "load.rate=4/s", "load.producers=1", "topic.partitions=2", "phases.warmup=0s",
        "phases.measure=2s", "phases.drain=90s", "consume.acknowledge={share: {lock: 1s, limit: 1}}",
        "consume.processing={overrun: {share: 1.0, takes: 1500ms}}",
    )  # fmt: skip

    assert (ran.facts.ending, ran.facts.reasons, ran.facts.drained) == ("finished", [], True)
    found = redeliveries(*deliveries_of(ran), Carried(in_place=True, limit=1))
    sent = ran.rows("sent").num_rows
    assert {name: found.counts[name] for name in ("messages", "archived", "succeeded", "dead", "open")} == {
        "messages": sent, "archived": sent, "succeeded": 0, "dead": 0, "open": 0,
    }  # fmt: skip
    assert {number: row["deliveries"] for number, row in found.by_number.items()} == {1: sent, 2: sent}
    assert found.counts["timed_out"] + found.counts["unanswered"] == 2 * sent
    assert found.counts["early"] == 0


MARKED = "consume.acknowledge={markers: {timeout: 500ms, silence: 100ms, limit: 3, trackers: 2}}"
RETRIED = "consume.acknowledge={retry: {delays: [300ms], limit: 3}}"
KILLED = [
    ("redelivery-markers", MARKED, "consumer-0"),
    ("redelivery-markers", MARKED, "tracker-0"),
    ("redelivery-retry-topics", RETRIED, "consumer-0"),
]


@pytest.mark.parametrize("at_ms", [1_000, *AT_RANDOM])
@pytest.mark.parametrize(("name", "carrier", "target"), KILLED)
def test_what_was_open_at_a_kill_comes_again_and_never_too_early(
    name: str, carrier: str, target: str, at_ms: int, carry_out: Callable[..., Ran], broker: EmbeddedBroker
) -> None:
    """The drain ends because all is done, and every message is where the draws of the seed lead it: at least once."""
    kill = f"faults=[{{at: {at_ms}ms, kind: kill, target: {target}}}]"
    session = "consume.client={session.timeout.ms: 6000, heartbeat.interval.ms: 500}"
    ran = carry_out(name, kill, carrier, session, "phases.measure=3s", "phases.drain=90s")

    assert (ran.facts.ending, ran.facts.reasons, ran.facts.drained) == ("finished", [], True)
    died = [worker.name for worker in ran.facts.workers if worker.died]
    assert died == [target]
    *drawn, dead = drawn_of(ran)
    came: list[Any] = ran.tuples("received", "delivery_count", "producer", "seq")
    for number, expected in enumerate(drawn, 1):
        # What a consumer was told last before it died it had no time to record.
        missing = expected - {(producer, seq) for count, producer, seq in came if count == number}
        assert len(missing) <= (0 if target.startswith("tracker") else UNRECORDED), number
    letters = read_again(broker.bootstrap, [f"{ran.facts.topics[0].name}__undelivered"], at_least=len(dead))
    stamps = Decoder((letters[0].topic(),), None, COUNT_HEADER).decode(letters).stamps
    assert dead <= set(zip(stamps["producer"].tolist(), stamps["seq"].tolist(), strict=True))
    deliveries, told = deliveries_of(ran)
    if ran.scenario.consume and ran.scenario.consume.retry:
        # A message of a retry topic tells itself when it was due, and a first delivery does not.
        assert all((each.deadline_ns is not None) == (each.number > 1) for each in deliveries)
        deliveries = as_due(deliveries)
    found = redeliveries(deliveries, told)
    assert found.counts["early"] == 0
    assert len(found.delays_ns) > 100


UNRECORDED = 500
"""Messages of one poll."""


@pytest.mark.parametrize("at_ms", [1_000, *AT_RANDOM])
@pytest.mark.parametrize(
    ("name", "carrier", "in_place"),
    [
        ("redelivery-markers", MARKED, False),
        ("redelivery-retry-topics", RETRIED, False),
        ("redelivery-share", "consume.acknowledge={share: {lock: 1s, limit: 3}}", True),
    ],
)
def test_what_a_consumer_had_that_hung_is_done_when_the_run_ends(
    name: str, carrier: str, in_place: bool, at_ms: int, carry_out: Callable[..., Ran]
) -> None:
    """Timeouts and locks are over meanwhile: nothing is lost, none comes too early, and none is left open."""
    hangs = f"faults=[{{at: {at_ms}ms, kind: pause, target: consumer-0, for: 2s}}]"
    ran = carry_out(name, hangs, carrier, "phases.measure=5s", "phases.drain=90s")

    assert (ran.facts.ending, ran.facts.reasons, ran.facts.drained) == ("finished", [], True)
    assert set(ran.tuples("received", *STAMPS[1:])) == set(ran.tuples("sent", *STAMPS[1:]))
    deliveries, told = deliveries_of(ran)
    if ran.scenario.consume and ran.scenario.consume.retry:
        deliveries = as_due(deliveries)
    found = redeliveries(deliveries, told, Carried(in_place=in_place, limit=3))
    assert (found.counts["early"], found.counts["open"]) == (0, 0)
    *_, dead = drawn_of(ran)
    assert found.counts["dead"] >= len(dead) - found.counts["archived"]


@pytest.mark.parametrize("acks", [0, 1])
def test_acknowledgements_are_as_many_as_were_asked_for(acks: int, carry_out: Callable[..., Ran]) -> None:
    """Without any, nobody knows when, or at which offset; everything arrives all the same."""
    ran = carry_out("acks", f"load.client.acks={acks}")
    assert (ran.facts.ending, ran.facts.reasons) == ("finished", [])
    delivered_exactly(ran)
    acked = {at is not None for (at,) in ran.tuples("sent", "acked_ns")}
    assert acked == {acks == 1}


def test_a_topic_that_is_full_already_is_drained(carry_out: Callable[..., Ran]) -> None:
    """From its begin to where it ended, and not longer."""
    filled = carry_out("saturate", "consume=off", "phases.measure=500ms", "topic.reset=false")
    topic = filled.scenario.topic_name

    ran = carry_out("drain", topic=topic)

    sent = Counter(ran_[:2] for ran_ in filled.tuples("sent", "partition", "offset"))
    assert Counter(ran.tuples("received", "partition", "offset")) == sent
    measure = ran.facts.phase("measure")
    assert measure is not None
    assert measure.to_ns - measure.from_ns < 20_000 * NS_PER_MS


@pytest.mark.parametrize(
    "carrier",
    [
        "{retry: {delays: [300ms], limit: 3}}",
        "{markers: {timeout: 500ms, silence: 100ms, limit: 3}}",
        "{share: {lock: 30s, limit: 3}}",
    ],
)
def test_what_failed_of_a_topic_that_is_full_already_comes_again(carrier: str, carry_out: Callable[..., Ran]) -> None:
    """The run does not end when all was read once: each message is delivered as often as the draws of the seed say."""
    filled = carry_out("baseline", "consume=off", "load.rate=400/s", "phases.measure=1s", "topic.reset=false")

    fails = "consume.processing={fail: 0.5}"
    ran = carry_out(
        "drain", f"consume.acknowledge={carrier}", fails, "phases.drain=60s", topic=filled.scenario.topic_name
    )

    assert (ran.facts.ending, ran.facts.reasons) == ("finished", [])
    came: list[Any] = ran.tuples("received", "delivery_count", "producer", "seq")
    *drawn, dead = drawn_of(filled)
    assert [sorted(row[1:] for row in came if row[0] == number) for number in range(1, 6)] == [
        *(sorted(each) for each in drawn), []
    ]  # fmt: skip
    told = Counter(outcome for (outcome,) in ran.tuples("attempts", "outcome"))
    assert told["dead_letter"] == len(dead)


def test_somebody_elses_topic_is_observed(carry_out: Callable[..., Ran], broker: EmbeddedBroker) -> None:
    """Nothing is sent; messages have the time of their record, and no due time."""
    filled = carry_out("baseline", "consume=off", "load.rate=100/s", "phases.measure=500ms")
    topic = filled.scenario.topic_name

    ran = carry_out("observe", "consume.start=earliest", "phases.measure=2s", topic=topic)

    got = ran.tuples("received", "due_ns", "sent_ns", "created_ms")
    assert len(got) == filled.rows("sent").num_rows
    assert {row[:2] for row in got} == {(None, None)}
    assert all(row[2] for row in got)


def test_an_aborted_message_is_never_seen_by_those_who_read_what_is_committed(carry_out: Callable[..., Ran]) -> None:
    """And others do see it."""
    ran = carry_out("transactions", "load.transactions.abort=0.5", "consume.groups=1")
    outcomes = Counter(outcome for (outcome,) in ran.tuples("transactions", "outcome"))
    assert min(outcomes["committed"], outcomes["aborted"]) > 3
    delivered_exactly(ran)

    seen = carry_out("transactions", "load.transactions.abort=0.5", "consume.client.isolation.level=read_uncommitted")
    assert seen.rows("received").num_rows == seen.rows("sent").num_rows


def test_messages_of_several_topics_come_to_several_groups(carry_out: Callable[..., Ran]) -> None:
    """With explicit partitions beside groups that share them."""
    ran = carry_out("many-topics", "consume.groups=2", "consume.consumers=2", "consume.processes=2", "load.rate=2k/s")
    delivered_exactly(ran)
    assert {topic for (topic,) in ran.tuples("sent", "topic")} == {0, 1, 2, 3}

    alone = carry_out("quick", "consume.partitions=[3, 5]", "load.rate=1k/s", "load.partition=round-robin")
    assert {partition for (partition,) in alone.tuples("received", "partition")} == {3, 5}
    sent = [row for row in alone.tuples("sent", "partition", "producer", "seq", "error") if row[0] in {3, 5}]
    acked = Counter(row[:3] for row in sent if not row[3])
    perhaps = Counter(row[:3] for row in sent if row[3] and not certainly_not_written(str(row[3])))
    received = Counter(alone.tuples("received", "partition", "producer", "seq"))
    assert acked
    # What timed out may have come, too.
    assert acked <= received <= acked + perhaps


def test_keys_decide_the_partition(carry_out: Callable[..., Ran]) -> None:
    """A constant key sends everything to one; a chosen partition is the partition."""
    one = carry_out("quick", "load.keys={constant: {text: k}}", "load.rate=1k/s")
    assert len({partition for (partition,) in one.tuples("sent", "partition")}) == 1

    chosen = carry_out("quick", "load.partition=7", "load.rate=1k/s")
    assert {partition for (partition,) in chosen.tuples("sent", "partition")} == {7}
