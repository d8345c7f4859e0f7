"""From a scenario to the jobs of its consumers."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from streamgauge.delivery.retries.decisions import Retries
from streamgauge.domain.blocks import ClientSpec
from streamgauge.domain.clock import NS_PER_MS, ClockPair
from streamgauge.engine.consume.commit import CommitEvery
from streamgauge.engine.consume.loop import Consuming, Reading
from streamgauge.engine.ports.clients import OpenReader
from streamgauge.engine.worker.observers import TrackerJob
from streamgauge.engine.worker.roles import ConsumerJob, ConsumerMember
from streamgauge.kafka.carriers.markers.reader import OpenMarkerReader
from streamgauge.kafka.carriers.markers.role import OpenTrackers
from streamgauge.kafka.carriers.markers.tracked import Tracked
from streamgauge.kafka.carriers.retries.reader import OpenRetryReader
from streamgauge.kafka.carriers.share.reader import OpenShareReader
from streamgauge.kafka.clients.settings import Settings
from streamgauge.record.table import TableConsumer
from streamgauge.runs.conduct.identity import Identity, dealt
from streamgauge.runs.conduct.query import table_folder
from streamgauge.scenario import Consume, Scenario
from streamgauge.scenario.model.acknowledge import Markers
from streamgauge.scenario.model.consume import Commit, CommitWay, consumer_settings
from streamgauge.scenario.model.jobs import AGGREGATE, CHANGED
from streamgauge.workload.processing import handling_of

FETCH_BACKOFF: Final = {"fetch.queue.backoff.ms": 10}
"""librdkafka's second makes a fast consumer stand still whenever its queue was full."""


def consumers_of(
    scenario: Scenario,
    consume: Consume,
    identity: Identity,
    connection: Settings,
    run: Path,
    opens: OpenReader,
    pair: ClockPair,
) -> list[ConsumerJob]:
    """The jobs of all processes that consume; `run` is the run folder, where a pipeline may write a table.

    `pair` is what the clocks said when the run began.
    """
    table = table_folder(scenario, run)
    # A table is read where it is.
    topics = (*scenario.sent_topics, str(table)) if table else scenario.topic_names
    settings = {**({} if consume.share else FETCH_BACKOFF), **connection, **consumer_settings(consume)}
    members = [
        _member(scenario, consume, identity, number, topics, settings)
        for number in range(scenario.consumers * consume.groups)
    ]
    credit = scenario.backpressure.credit if scenario.backpressure else None
    # Behind a pipeline it is the query that says what is done with.
    tells = credit is not None and scenario.pipeline is None
    opened, hold = TableConsumer if table else opens, scenario.load is None
    if markers := consume.markers:
        opened = OpenMarkerReader(connection, markers.timeout // NS_PER_MS)
    if retry := consume.retry:
        retries = Retries(retry.delays, retry.most)
        opened = OpenRetryReader(connection, retries, len(scenario.sent_topics), pair.ahead_ns)
    if share := consume.share:
        opened = OpenShareReader(connection, share.lock // NS_PER_MS, share.limit + 1, share.dead_letters)
    redelivers, shares = consume.carrier is not None, share is not None
    return [ConsumerJob(opened, part, hold, tells, redelivers, shares) for part in dealt(members, consume.processes)]


def trackers_of(scenario: Scenario, markers: Markers, identity: Identity, connection: Settings) -> list[TrackerJob]:
    """The jobs of all processes that deliver messages again."""
    opened = OpenTrackers(
        connection,
        scenario.sent_topics,
        identity.trackers,
        Tracked(limit=markers.limit, silence_ms=markers.silence // NS_PER_MS),
        identity.tag,
        _stamp_in_header(scenario),
    )
    numbers = range(markers.trackers)
    return [TrackerJob(replace(opened, worker=f"tracker-{number}"), number, group=0) for number in numbers]


def start_of(scenario: Scenario) -> str | int:
    """Where the groups begin: `earliest`, `latest`, or at a time, in milliseconds since 1970."""
    consume = scenario.consume
    if consume is None or (consume.start == "auto" and scenario.load):
        return "latest"
    return "earliest" if consume.start == "auto" else consume.start if consume.start_ms is None else consume.start_ms


def _reset(scenario: Scenario) -> str:
    """Where a partition begins of which a group of the user's has committed nothing; of others it has no say."""
    is_users = scenario.consume is not None and scenario.consume.group is not None
    return "latest" if is_users and start_of(scenario) == "latest" else "earliest"


def _member(
    scenario: Scenario, consume: Consume, identity: Identity, number: int, topics: tuple[str, ...], settings: Settings
) -> ConsumerMember:
    """One consumer: its client, what it reads, and what it does with messages."""
    group, place = divmod(number, scenario.consumers)
    load, markers, share = scenario.load, consume.markers, consume.share
    timeout_ns = markers.timeout if markers else share.lock if share else 0
    own = {"group.id": identity.groups(scenario)[group], "client.id": f"{identity.id}-consumer-{number}"}
    if share is None:
        # Every partition has a committed offset, but for those of a user's group: this says what follows when what was
        # read is gone. After an unclean election the client goes on where the logs part, whatever is said here but
        # `error`, which ends the partition.
        own["auto.offset.reset"] = _reset(scenario)
    client = ClientSpec(
        worker=f"consumer-{number}",
        topics=topics,
        settings={**settings, **own},
        stamp_in_header=_stamp_in_header(scenario),
        assigned=scenario.assigned(place),
        reads=scenario.read_topics,
        # What somebody else sends may be transactions, whose ends lie where no message is.
        sees_ends=load is None or load.transactions is not None,
    )
    consuming = Consuming(
        topics=scenario.topic_names,
        partitions=scenario.topic.partitions,
        handling=handling_of(consume.processing, timeout_ns) if consume.processing else None,
        buffer=consume.buffer,
        commit=_commit(consume.commit),
        per_second=scenario.rate_per_consumer,
        seed=scenario.seed,
        who=(group, place),
    )
    reading = Reading(
        tag=identity.tag if load else None,
        verify_every=_verify_every(scenario),
        time_in_value=consume.sent_time == "value",
    )
    return ConsumerMember(client=client, reading=reading, consuming=consuming, group=group, number=number)


def _commit(asked: CommitWay | Commit) -> str | CommitEvery:
    return CommitEvery(asked.messages, asked.interval, asked.asynchronous) if isinstance(asked, Commit) else asked


def _verify_every(scenario: Scenario) -> int | None:
    """The n where every n-th message is verified: none where a job changes what is in them."""
    changes = scenario.pipeline is not None and scenario.pipeline.job.does in {CHANGED, AGGREGATE}
    return None if changes else scenario.verify_every


def _stamp_in_header(scenario: Scenario) -> bool | None:
    """Where consumers find stamps: where producers put them; None, to look, where a job may move them."""
    if scenario.load is None or (scenario.pipeline and scenario.pipeline.job.does in {CHANGED, AGGREGATE}):
        return None
    return scenario.load.stamped_in_headers
