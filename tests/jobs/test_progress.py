"""What Spark says of batches, as numbers. The texts are what Spark 4.2 said."""

import copy
import json
from typing import Any

from streamgauge.domain.query import Advance
from streamgauge.domain.tables.query_events import PROGRESS
from streamgauge.jobs.driver.progress import progress_of

REAL_TIME = json.loads(
    '{"id":"72c3e680-3c1a-444d-bc33-b6eac9630bd9","runId":"fbc3001a-9fbf-4ef0-8f89-cce5db6767b0","name":null,'
    '"timestamp":"2026-11-22T03:02:01.451Z","batchId":1,"batchDuration":5366,"numInputRows":1034,'
    '"inputRowsPerSecond":134.6,"processedRowsPerSecond":192.7,"durationMs":{"addBatch":5088,"commitOffsets":86,'
    '"getBatch":0,"latestOffset":26,"queryPlanning":33,"triggerExecution":5366,"walCommit":119},"stateOperators":[],'
    '"sources":[{"description":"KafkaV2[Subscribe[t]]","startOffset":{"t":{"0":636,"1":642}},'
    '"endOffset":{"t":{"0":1154,"1":1158}},"latestOffset":{"t":{"0":682,"1":682}},"numInputRows":1034,'
    '"inputRowsPerSecond":134.6,"processedRowsPerSecond":192.7,"metrics":{"avgOffsetsBehindLatest":"24.5",'
    '"maxOffsetsBehindLatest":"25","minOffsetsBehindLatest":"24"}}],'
    '"sink":{"description":"KafkaTable","numOutputRows":1034}}'
)
BEGAN_MS = 1795316521451


def changed(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(REAL_TIME), **changes}


def test_a_batch() -> None:
    progress = progress_of(REAL_TIME, 17, "t", (0, 0))

    assert (progress.at_ns, progress.batch, progress.began_ms, progress.source) == (17, 1, BEGAN_MS, "told")
    assert progress.advances == [Advance(0, 636, 1154, 682), Advance(1, 642, 1158, 682)]
    assert {name: value for name, value in progress.numbers.items() if value is not None} == {
        "rows": 1034, "duration_ms": 5366, "latest_offset_ms": 26, "get_batch_ms": 0, "planning_ms": 33,
        "wal_commit_ms": 119, "add_batch_ms": 5088, "commit_ms": 86, "input_per_second": 134.6,
        "processed_per_second": 192.7, "committed_lag": 49, "sink_rows": 1034,
    }  # fmt: skip


def test_the_numbers_are_the_columns_of_the_event() -> None:
    apart = {"at_ns", "start", "batch", "began_ms", "source", "checkpoint_bytes", "max_offsets"}

    assert set(progress_of(REAL_TIME, 0, "t", (0, 0)).numbers) == {each.name for each in PROGRESS.columns} - apart


def test_the_first_batch_begins_where_the_query_does() -> None:
    said = changed()
    said["sources"][0]["startOffset"] = None

    assert [each.from_offset for each in progress_of(said, 0, "t", (600, 601)).advances] == [600, 601]


def test_ten_partitions_stand_in_the_order_of_their_numbers() -> None:
    said = changed()
    said["sources"][0]["endOffset"] = {"t": {str(partition): partition for partition in (10, 9, 1, 0)}}

    assert [each.partition for each in progress_of(said, 0, "t", ()).advances] == [0, 1, 9, 10]


def test_state_of_all_operators_together() -> None:
    operator = {"numRowsTotal": 5, "numRowsUpdated": 2, "memoryUsedBytes": 100, "numRowsDroppedByWatermark": 1}
    said = changed(
        stateOperators=[operator, {**operator, "numRowsUpdated": -1}],
        eventTime={"watermark": "2026-11-22T03:02:01.451Z"},
        sink={"numOutputRows": -1},
    )

    numbers = progress_of(said, 0, "t", (0, 0)).numbers

    assert [numbers[name] for name in ("state_rows", "state_updated", "state_bytes", "late_rows")] == [10, 2, 200, 2]
    assert numbers["watermark_ms"] == BEGAN_MS
    assert numbers["sink_rows"] is None


def test_before_the_first_message_there_is_no_watermark() -> None:
    said = changed(eventTime={"watermark": "1970-01-01T00:00:00.000Z"})

    assert progress_of(said, 0, "t", (0, 0)).numbers["watermark_ms"] is None


def test_the_source_is_known_among_others() -> None:
    other = {"endOffset": {"u": {"0": 3}}, "numInputRows": 3}

    assert progress_of(changed(sources=[other, *REAL_TIME["sources"]]), 0, "t", (0, 0)).numbers["rows"] == 1034


def test_a_batch_of_which_little_is_said() -> None:
    said = {"batchId": 4, "timestamp": "2026-11-22T03:02:01.451Z"}

    progress = progress_of(said, 0, "t", (0, 0))

    assert progress.advances == []
    assert set(progress.numbers.values()) == {None}
