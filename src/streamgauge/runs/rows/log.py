"""The log, read once more after the drain by a reader of our own: what stands in it, and from where on it was read."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from streamgauge.delivery.markers.wire import COUNT_HEADER
from streamgauge.domain import clock, stamp
from streamgauge.domain.blocks import NULL_INT32, NULL_INT64, Block, ClientSpec, Fetched, Values, chosen
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BrokerError, Interrupted, RecordError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.query import QuerySpec
from streamgauge.engine.supervise.plan import Outcome
from streamgauge.engine.supervise.start import SUPERVISOR
from streamgauge.jobs.oracles import Expected, oracle_of
from streamgauge.kafka.clients.settings import Settings
from streamgauge.kafka.reread import reread
from streamgauge.processes.patience import Progress
from streamgauge.record.parts import PartSink
from streamgauge.runs.conduct.topics import Topics
from streamgauge.runs.rows.parent import Stands
from streamgauge.scenario import Scenario

SLOWEST: Final = 20_000
"""Messages a second that a reader is given time for, besides the length of the drain."""


@dataclass(frozen=True, slots=True)
class LogSpan:
    """The offsets of one topic that are read: [start, end) of each partition."""

    topic: int
    starts: Sequence[int]
    ends: Sequence[int]

    @property
    def count(self) -> int:
        """How many offsets there are."""
        return sum(max(0, end - start) for start, end in zip(self.starts, self.ends, strict=True))


def spans_of(scenario: Scenario, before: Stands, final: Stands) -> list[LogSpan]:
    """What is to be read of each topic that was sent to: all of it that was not there before the load."""
    partitions = scenario.topic.partitions
    # A log that was cut back below its end before the load is read from where it was cut.
    starts = [
        max(start, min(begun, end)) for start, begun, end in zip(final.starts, before.ends, final.ends, strict=True)
    ]
    return [
        LogSpan(topic, starts[first : first + partitions], final.ends[first : first + partitions])
        for topic in range(len(scenario.sent_topics))
        for first in [topic * partitions]
    ]


def record_log(
    folder: RunFolder,
    topics: Topics,
    connection: Settings,
    spans: Sequence[LogSpan],
    tag: int,
    outcome: Outcome,
    progress: Progress,
) -> None:
    """Read the topics that were sent to once more, and record what stands where.

    Never raises: where the log could not be read to its end, the run has all else that it has without it.
    """
    scenario, count = topics.scenario, sum(span.count for span in spans)
    progress(f"reading the log again: {count:,} messages")
    # What was aborted holds its offset, too.
    settings = {**connection, "isolation.level": "read_uncommitted"}
    left_ns = scenario.phases.drain + count * NS_PER_SECOND // SLOWEST
    until_ns = clock.monotonic_ns() + left_ns
    try:
        for span in spans:
            name = scenario.sent_topics[span.topic]
            counted_in = COUNT_HEADER if scenario.consume and scenario.consume.markers else None
            reader = ClientSpec("log-reader", (name,), settings, _in_header(scenario), counted_in=counted_in)
            seconds = max(0, until_ns - clock.monotonic_ns()) / NS_PER_SECOND
            blocks = reread(reader, span.starts, span.ends, seconds, topics.cluster.check)
            record_appended(folder, blocks, tag, None, span.topic)
        record_spans(folder, spans)
    except BrokerError as error:
        outcome.reasons.append(f"the log was not read again: {error}")
    except RecordError as error:
        outcome.fail(f"the log was not read again: {error}")
    except Interrupted as error:
        outcome.interrupt(f"the log was not read again: {error}")


def record_source(
    folder: RunFolder, scenario: Scenario, spec: QuerySpec, topics: Topics, tag: int, outcome: Outcome
) -> None:
    """Read the source of a pipeline once more, and record where each message stands."""
    reader = ClientSpec("source-reader", scenario.sent_topics, spec.connection, stamp_in_header=_in_header(scenario))
    places = len(topics.starts)
    seconds = scenario.phases.drain / NS_PER_SECOND
    try:
        span = LogSpan(0, topics.starts, topics.log_ends()[:places])
        blocks = reread(reader, span.starts, span.ends, seconds, topics.cluster.check)
        record_appended(folder, blocks, tag, oracle_of(spec))
        record_spans(folder, [span])
    except (BrokerError, RecordError) as error:
        outcome.fail(f"the source of the pipeline was not read again: {error}")
    except Interrupted as error:
        outcome.interrupt(f"the source of the pipeline was not read again: {error}")


def _in_header(scenario: Scenario) -> bool | None:
    return scenario.load.stamped_in_headers if scenario.load else None


def record_spans(folder: RunFolder, spans: Sequence[LogSpan]) -> None:
    """Rows of `lag` that say which offsets were read again, all of them: without such rows, nothing is known."""
    for span in spans:
        with contextlib.closing(PartSink(folder, "lag", f"{SUPERVISOR}-reread", {}, len(span.starts))) as sink:
            sink.append(
                {
                    "at_ns": clock.monotonic_ns(),
                    "answered_ns": None,
                    "moment": "reread",
                    "topic": span.topic,
                    "group": None,
                    "consumer": None,
                    "partition": np.arange(len(span.starts), dtype=np.int32),
                    "start": np.array(span.starts, np.int64),
                    "committed": None,
                    "position": None,
                    "end": np.array(span.ends, np.int64),
                    "error": None,
                },
                len(span.starts),
            )


def record_appended(
    folder: RunFolder, read: Iterable[Fetched], tag: int, expected: Expected | None, topic: int = 0
) -> int:
    """The log of a topic as it stands: where each message is, when it came there, whether it is to come out.

    Returns the number of rows. `tag` is the run's; what has another is foreign.
    """
    rows = 0
    with contextlib.closing(PartSink(folder, "appended", SUPERVISOR, {"topic": topic})) as sink:
        for fetched in read:
            block, count = _of_producers(appended_rows(fetched, tag, expected), fetched)
            if count:
                sink.append(block, count)
            rows += count
    return rows


def _of_producers(block: Block, fetched: Fetched) -> tuple[Block, int]:
    """The rows of what producers wrote, and how many: not of what was sent again because nobody acknowledged it."""
    if fetched.deliveries is None:
        return block, fetched.count
    firsts = fetched.deliveries == 1
    return chosen(block, firsts), int(firsts.sum())


def appended_rows(fetched: Fetched, tag: int, expected: Expected | None) -> Block:
    """Rows of `appended`."""
    mine = stamp.is_stamp(fetched.stamps, tag)
    wanted: Values = None
    if expected is not None:
        heads = [each.tobytes() if is_mine else None for each, is_mine in zip(fetched.stamps, mine, strict=True)]
        contents = zip(fetched.contents(), heads, strict=True)
        wanted = np.fromiter((expected(key, value or b"", head) for (value, key), head in contents), np.int8)
    return {
        "partition": fetched.partition,
        "offset": fetched.offset,
        "producer": np.where(mine, fetched.stamps["producer"].astype(np.int32), NULL_INT32),
        "seq": np.where(mine, fetched.stamps["seq"].astype(np.int64), NULL_INT64),
        "append_ms": fetched.append_ms,
        "expected": wanted,
    }
