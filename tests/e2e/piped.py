"""Runs with a pipeline in the measured path: how they begin, and what their rows say came out."""

from collections import Counter
from typing import Any

from tests.e2e import runs

from streamgauge.domain.folder.facts import RunFolder

PIPED: dict[str, Any] = {
    "topic": {"partitions": 2},
    "load": {"rate": "1k/s", "producers": 1, "size": 200, "client": {"linger.ms": 2}},
    "consume": {"consumers": 1},
    "lag": {"every": "200ms"},
    "phases": {"warmup": "500ms", "measure": "3s", "drain": "60s"},
}
"""What such a scenario consists of, apart from the pipeline."""
Stamp = tuple[int, int]


def rows(folder: RunFolder, kind: str, *names: str) -> list[dict[str, Any]]:
    """The rows of an event."""
    return list(runs.rows(folder, kind, *names).to_pylist())


def acked(folder: RunFolder) -> set[Stamp]:
    return {
        (row["producer"], row["seq"]) for row in rows(folder, "sent", "producer", "seq", "error") if not row["error"]
    }


def came_out(folder: RunFolder) -> Counter[Stamp]:
    return Counter((row["producer"], row["seq"]) for row in rows(folder, "received", "producer", "seq"))


def happened(folder: RunFolder) -> list[str]:
    return [row["event"] for row in sorted(rows(folder, "query", "event", "at_ns"), key=lambda row: row["at_ns"])]


def assert_followed(folder: RunFolder, partitions: int = 2) -> None:
    """What a query did follows from its rows: batches without gaps up to the log end, the source as it stands."""
    ends = {row["partition"]: row["end"] for row in rows(folder, "lag", "moment", "topic", "partition", "end")
            if row["moment"] == "final" and row["topic"] == 0}  # fmt: skip
    assert len(ends) == partitions
    advances = rows(folder, "advances", "partition", "from_offset", "to_offset", "batch")
    for partition, end in ends.items():
        steps = sorted((row["from_offset"], row["to_offset"]) for row in advances if row["partition"] == partition)
        reached = 0
        for begin, to in steps:
            assert begin <= reached
            reached = max(reached, to)
        assert reached == end
    appended = rows(folder, "appended", "producer", "seq", "append_ms", "offset", "partition")
    assert {(row["producer"], row["seq"]) for row in appended} >= acked(folder)
    assert len(appended) == sum(ends.values())
    assert all(row["append_ms"] for row in appended)
