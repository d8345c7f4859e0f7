"""The log is read again after the drain: all that stands in it is recorded, and what does not is found."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.runs import rows

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.delivery.audit import audit
from streamgauge.delivery.log import Log, Reread, ledger
from streamgauge.delivery.rows import Lag, MeasureSpan, Received, Sent, Stood
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.kafka.admin import Cluster
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import read_facts
from streamgauge.record.parts import close_left_open
from streamgauge.runs.conduct.conduct import conducted
from streamgauge.runs.conduct.prepare import prepare_run
from streamgauge.runs.request.request import Request
from streamgauge.scenario import parse

pytestmark = [pytest.mark.kafka, pytest.mark.e2e]

SCENARIO: Mapping[str, Any] = {
    "topic": {"count": 2, "partitions": 2},
    "load": {"rate": "500/s", "producers": 2, "size": 64, "transactions": {"messages": 20, "abort": 0.2}},
    "consume": {"consumers": 1},
    "phases": {"warmup": "0s", "measure": "1s", "drain": "20s"},
    "verify": {"log": True},
}
MESSAGES = 500


def ran(broker: EmbeddedBroker, java: Java, out: Path, name: str, over: Callable[[], None]) -> RunFolder:
    """A run whose load is `over` before its log is read again."""
    request = Request(parse({"name": name, **SCENARIO}), out, ["test"], java, bootstrap=broker.bootstrap)
    with conducted(prepare_run(request), Interrupts(), lambda _: None, over=lambda *_: over()) as folder:
        pass
    close_left_open(folder)
    assert read_facts(folder).reasons == []
    return folder


def found(folder: RunFolder) -> dict[str, set[tuple[int, int, int]]]:
    """The stamps of each class of the ledger, by the definition in plain Python."""
    sent = [Sent(**row) for row in rows(folder, "sent", *Sent._fields).to_pylist()]
    received = [Received(**row) for row in rows(folder, "received", *Received._fields).to_pylist()]
    lag = rows(folder, "lag", *Lag._fields).to_pylist()
    stood = [Stood(**row) for row in rows(folder, "appended", *Stood._fields).to_pylist()]
    reread = [Reread(row["topic"], row["partition"], row["start"]) for row in lag if row["moment"] == "reread"]
    assert len(reread) == 4
    ended = rows(folder, "transactions", "producer", "transaction", "outcome").to_pylist()
    outcomes = {(row["producer"], row["transaction"]): row["outcome"] for row in ended}
    finals = [Lag(**row) for row in lag if row["group"] is not None]
    said = audit(sent, received, finals, 0, MeasureSpan(0, 1 << 62), outcomes=outcomes)
    entries = ledger(sent, received, 0, said, outcomes, {}, Log.of(reread, stood))
    assert len(sent) == MESSAGES
    assert {"committed", "aborted"} <= set(outcomes.values())
    names = {each.name for each in entries}
    return {name: {each.stamp for each in entries if each.name == name and each.stamp} for name in names}


def test_what_was_acknowledged_stands(broker: EmbeddedBroker, java: Java, tmp_path: Path) -> None:
    """Also what was aborted: it holds an offset, too."""
    folder = ran(broker, java, tmp_path, "stands", lambda: None)

    place = ("topic", "partition", "offset", "producer", "seq")
    acked, stood = (
        {tuple(row.values()) for row in rows(folder, kind, *place).to_pylist()} for kind in ("sent", "appended")
    )
    assert stood == acked
    assert found(folder) == {}


def test_what_was_deleted_is_truncated(broker: EmbeddedBroker, java: Java, tmp_path: Path) -> None:
    """After all was received somebody deletes one of the topics, and makes it anew: its log is empty."""
    cluster, name = Cluster(broker.bootstrap, {}), "streamgauge-deleted-2"

    def delete() -> None:
        cluster.delete_topic(name)
        cluster.create_topic(name, 2, 1)

    folder = ran(broker, java, tmp_path, "deleted", delete)

    came = {
        (row["topic"], row["producer"], row["seq"])
        for row in rows(folder, "received", "topic", "producer", "seq").to_pylist()
    }
    gone = {stamp for stamp in came if stamp[0] == 1}
    assert len(gone) > 100
    assert found(folder) == {"truncated": gone, "vanished": gone}
