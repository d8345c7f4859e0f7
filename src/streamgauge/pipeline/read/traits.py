"""What kind of run this is, from run.json and the footers of its parts: known before a row is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamgauge.delivery.rows import MeasureSpan, PipelineUnderTest
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.events import FATE_UNKNOWN
from streamgauge.domain.folder.facts import RunFacts
from streamgauge.domain.tables.throughput import MOST_TOPICS, MOST_WORKERS
from streamgauge.pipeline.columns import (
    ACKED_NS,
    DUE_NS,
    EMPTY_NS,
    HANDED_NS,
    PROCESSED_NS,
    RECEIVED_NS,
    RETURNED_NS,
    SENT_NS,
)
from streamgauge.pipeline.read.bronze import Bronze
from streamgauge.pipeline.read.gaps import knows_gaps
from streamgauge.pipeline.read.silver import Span
from streamgauge.scenario.profile import recorded_profile
from streamgauge.scenario.profile.model import CLOSED, AcknowledgeProfile, Delay, PipelineProfile

_CLOCKS = {"append": "append_ms", "create": "created_ms"}
_TIMES = (
    ("sent", SENT_NS), ("sent", ACKED_NS), ("received", RECEIVED_NS), ("received", PROCESSED_NS),
    ("polls", RETURNED_NS), ("lag", "at_ns"), ("resources", "at_ns"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunTraits:
    """What a run does, and so what can be known of it."""

    loads: bool
    groups: tuple[int, ...]
    scheduled: bool
    closed: bool
    """Whether the load is a closed loop."""
    processing: bool
    drops: bool
    """Whether consumers are to leave some of what they receive unprocessed."""
    delays: Sequence[Delay]
    """How long processing is asked to take."""
    slots: int | None
    """How many messages a consumer processes at once; None for as many as it has partitions."""
    reads: frozenset[int] | None
    """The partitions that consumers are told to read; None where they are not told."""
    acks: bool
    """Whether acknowledgements are seen."""
    acks_0: bool
    """Whether the load asked for none."""
    transactional: bool
    tells_endings: bool
    """Whether transactions say when their end was asked for."""
    read_committed: bool
    """Whether consumers are not to see what was aborted."""
    cycle_ns: int
    """After how long load or pipeline repeat themselves; 0 where they do not."""
    acknowledge: AcknowledgeProfile | None
    """How single messages are acknowledged; None where offsets are committed."""
    tells_bounds: bool
    """Whether it is told how much the instrument may have added: message by message, or in older runs by second."""
    leaves_in_client: bool
    """Whether consumers leave messages in the client on purpose: they process them, or limit their rate."""
    all_sound: bool
    """Whether the footers show that every delivery carries a sound stamp."""
    dead: frozenset[int]
    """Numbers of the consumers that died."""
    policy: bool
    """Whether a policy holds producers back."""
    every_ns: int
    """How often lag was to be sampled; a second where it was not."""
    all_acked: bool
    """Whether the footers show that no message failed after it was sent, and none is of unknown fate."""
    unsettled: bool
    """Whether messages of unknown fate may be among the rows."""
    next_seqs: Mapping[int, int] | None
    """Of each producer the first sequence that it did not take up; None where that is not known of all of them."""
    ahead_ns: int
    """How far the wall clock was ahead of the monotonic clock."""
    stamps: frozenset[str]
    """Whose clocks stamped the records that were received: `append` the broker's, `create` their producers'."""
    sent_topics: int = 1
    """How many topics there are that are no retry topics: those come behind them, level by level."""
    tells_topics: bool = False
    """Whether there are several topics, and few enough to tell what each had in every second."""
    tells_workers: bool = False
    """Whether producers and consumers are few enough for that."""
    piped: PipelineProfile | None = None
    """What stands between the topic that is sent to and the one that is read; None for nothing."""
    pipeline: PipelineUnderTest | None = None
    """The same by the numbers that stand in the rows."""

    @property
    def consumes(self) -> bool:
        """Whether anybody receives."""
        return bool(self.groups)

    @property
    def timed_group(self) -> int | None:
        """The group whose latencies are measured: the first; the others are audited and counted only."""
        return min(self.groups, default=None)

    @property
    def outstanding_of(self) -> int | None:
        """The group whose backlog can be told; None where nothing is sent, or not all of it is to be read.

        Through a pipeline, it can be told where every message comes out by itself.
        """
        is_told = self.loads and self.reads is None and (self.piped is None or self.piped.is_one_for_one)
        return self.timed_group if is_told else None

    @property
    def observes(self) -> bool:
        """Whether all that is received was sent by others."""
        return self.consumes and not self.loads


def traits_of(facts: RunFacts, bronze: Bronze) -> RunTraits:
    """What run.json and the footers tell."""
    profile = recorded_profile(facts.profile, facts.scenario)
    load, consume, piped = profile.load, profile.consume, profile.pipeline
    processing = profile.processing
    groups = sorted(group.id for group in facts.groups)
    pipeline = _pipeline(facts, piped, groups)
    consumes = consume is not None or bronze.rows("received") > 0
    unsettled = _may_be_unsettled(bronze)
    acked = bronze.extent("sent", "error").nulls + bronze.extent("sent", SENT_NS).nulls == bronze.rows("sent")
    return RunTraits(
        loads=load is not None or bronze.rows("sent") > 0,
        groups=tuple(group for group in groups if pipeline is None or group != pipeline.query)
        or ((0,) if consumes and not groups else ()),
        scheduled=not bronze.extent("sent", DUE_NS).unknown,
        closed=load is not None and load.pace.kind == CLOSED,
        processing=processing is not None or not bronze.extent("received", PROCESSED_NS).unknown,
        drops=processing is not None and processing.drops,
        delays=processing.delays if processing else (),
        slots=processing.slots if processing else 1,
        reads=frozenset(consume.partitions) if consume and consume.partitions else None,
        acks=not bronze.extent("sent", ACKED_NS).unknown,
        acks_0=load is not None and load.acks == "0",
        transactional=not bronze.extent("sent", "transaction").unknown,
        tells_endings=not bronze.extent("transactions", "ending_ns").unknown,
        read_committed=consume is None or consume.read_committed,
        cycle_ns=max(sum(each.for_ns for each in load.pace.then) if load else 0, (piped.every_ns or 0) if piped else 0),
        acknowledge=consume.acknowledge if consume else None,
        tells_bounds=_tells_bounds(bronze),
        leaves_in_client=processing is not None or (consume is not None and consume.per_second is not None),
        all_sound=_all_sound(bronze, piped),
        dead=frozenset(
            number for each in facts.workers if each.role == "consumer" and each.died for number in each.numbers
        ),
        policy=profile.backpressure is not None,
        every_ns=profile.lag_every_ns or NS_PER_SECOND,
        all_acked=acked and not unsettled,
        unsettled=unsettled,
        next_seqs=_next_seqs(facts),
        ahead_ns=facts.wall_ns - facts.monotonic_ns,
        stamps=frozenset(clock for clock, name in _CLOCKS.items() if not bronze.extent("received", name).unknown),
        sent_topics=profile.sent_topics(len(facts.topics)),
        tells_topics=1 < profile.sent_topics(len(facts.topics)) <= MOST_TOPICS,
        tells_workers=sum(len(worker.numbers) for worker in facts.workers) <= MOST_WORKERS,
        piped=piped,
        pipeline=pipeline,
    )


def _pipeline(facts: RunFacts, piped: PipelineProfile | None, groups: Sequence[int]) -> PipelineUnderTest | None:
    """What is sent goes to the first topic, what comes out is the last; the last group is the query."""
    if piped is None or not groups:
        return None
    topics = sorted(topic.id for topic in facts.topics) or [0]
    return PipelineUnderTest(topics[0], topics[-1], groups[-1], piped.does)


def _tells_bounds(bronze: Bronze) -> bool:
    """Whether rows tell when messages were handed over and polls were empty, or samples tell gaps between polls."""
    by_row = not bronze.extent("sent", HANDED_NS).unknown or not bronze.extent("received", EMPTY_NS).unknown
    return by_row or knows_gaps(bronze)


def _all_sound(bronze: Bronze, piped: PipelineProfile | None) -> bool:
    """Whether every delivery has a stamp, and content that is intact, or of which a job leaves nothing to be said."""
    intact = bronze.extent("received", "intact")
    has_stamp = bronze.extent("received", "producer").nulls == 0 and bronze.extent("received", "seq").nulls == 0
    return has_stamp and (intact.unknown or intact.low is True or (piped is not None and not piped.keeps_content))


def _may_be_unsettled(bronze: Bronze) -> bool:
    """Whether the footers leave room for the error of a message of unknown fate."""
    errors = [part.extents["error"] for part in bronze.parts["sent"]]
    return any(not each.unknown and (each.low is None or each.low <= FATE_UNKNOWN <= each.high) for each in errors)


def _next_seqs(facts: RunFacts) -> dict[int, int] | None:
    found: dict[int, int] = {}
    for worker in facts.workers:
        if worker.role != "producer":
            continue
        if worker.next_seqs is None or len(worker.next_seqs) != len(worker.numbers):
            return None
        found |= zip(worker.numbers, worker.next_seqs, strict=True)
    return found or None


def span_of(facts: RunFacts, bronze: Bronze) -> Span:
    """What the run and its measure phase cover; without phases, all that was recorded is measured.

    Phases are planned when a run begins, and those of a run that was killed may not have come to pass: nothing is known
    of what lies after its last row.
    """
    extents = [bronze.extent(kind, column) for kind, column in _TIMES]
    dues = bronze.extent("sent", DUE_NS)
    seen = [each.high for each in extents if each.high is not None]
    begun = [each.low for each in (*extents, dues) if each.low is not None]
    first = min((phase.from_ns for phase in facts.phases), default=min(begun, default=facts.monotonic_ns))
    last = facts.drain_ended_ns or max(seen, default=first)
    measured = facts.phase("measure")
    if measured and facts.ending is None:
        reached_ns = max(measured.from_ns, min(measured.to_ns, last + 1))
        return Span(first, max(last, first), MeasureSpan(measured.from_ns, reached_ns))
    # A window of all that there is must hold the last moment, and what was due after it.
    whole = MeasureSpan(first, max([last, *seen, dues.high or last]) + 1)
    return Span(first, max(last, first), MeasureSpan(measured.from_ns, measured.to_ns) if measured else whole)
