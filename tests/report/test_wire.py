"""The section `wire` of result.json."""

from typing import Any

import pytest
from tests.report.conftest import Make

from streamgauge.domain.folder.facts import RunFacts
from streamgauge.domain.tables.machine import WIRE
from streamgauge.report.assemble.result import write_result
from streamgauge.report.assemble.wire import NOT_TOLD, wire
from streamgauge.report.pages.details import also
from streamgauge.runs.sample import codec_report
from streamgauge.scenario import parse
from streamgauge.verdict.evidence import Evidence

Row = dict[str, Any]
FACTS: Row = {
    "id": "r", "name": "smoke", "tag": 1, "created": "2026-01-01T00:00:00Z", "wall_ns": 1, "monotonic_ns": 2,
    "command": [], "versions": {}, "machine": {}, "broker": {"embedded": True, "bootstrap": "127.0.0.1:9"},
    "topics": [], "groups": [], "scenario": {"load": {"rate": "1k/s"}, "consume": {"consumers": 1}},
}  # fmt: skip
SENDING = ("batch_messages", "batch_bytes", "queue_ms")
BOTH_WAYS = ("tx_bytes", "rx_bytes", "tx_requests")
SOME = (*BOTH_WAYS, "retried_messages")


def row(scope: str, role: str, worker: str | None, **changed: Any) -> Row:
    out: Row = {"scope": scope, "role": role, "worker": worker, "duration_ns": None, "messages": 1_000}
    out |= {"message_bytes": 100_000, "wire_bytes": 25_000, "ratio": 4.0, "requests": 50, "retries": 1}
    out |= dict.fromkeys(SOME)
    out |= {"messages_per_request": 20.0, "rtt_ms": 1.5, "rtt_p99_ms": 4.0, "throttle_ms": 0}
    out |= dict.fromkeys(SENDING, 7.0 if role == "producer" else None) | changed
    assert set(out) == set(WIRE.names)
    return out


ROWS = [
    row(scope, role, worker, messages=messages)
    for scope, messages in (("run", 1_000), ("measure", 600))
    for role, workers in (("producer", ("producer-0", "producer-1", None)), ("consumer", ("consumer-0", None)))
    for worker in workers
]


def section(rows: list[Row] | None = ROWS, **scenario: Any) -> Any:
    facts = FACTS | {"scenario": FACTS["scenario"] | scenario}
    tables = {} if rows is None else {"wire": rows}
    return wire(Evidence(RunFacts.model_validate(facts), tables)).model_dump(exclude_unset=True)


def test_producers_and_consumers_are_told_apart() -> None:
    """All together, and each worker."""
    found = section()

    assert found["producers"] == {
        "scope": "measure", "messages": 600, "message_bytes": 100_000, "wire_bytes": 25_000, "ratio": 4.0,
        "requests": 50, "retries": 1, "messages_per_request": 20.0, "rtt_ms": 1.5, "rtt_p99_ms": 4.0, "throttle_ms": 0,
        "batch_messages": 7.0, "batch_bytes": 7.0, "queue_ms": 7.0, "workers": found["producers"]["workers"],
        "reasons": {},
    }  # fmt: skip
    assert [each["worker"] for each in found["producers"]["workers"]] == ["producer-0", "producer-1"]
    assert {each["messages"] for each in found["producers"]["workers"]} == {600}
    assert not set(SENDING) & set(found["consumers"])
    assert not set(SENDING) & set(found["consumers"]["workers"][0])
    assert found["reasons"] == {}


def both_ways(role: str, worker: str, seconds: int, **changed: Any) -> Row:
    told = {"duration_ns": seconds * 10**9, "tx_bytes": 4_000, "rx_bytes": 2_000, "tx_requests": 30} | changed
    return row("measure", role, worker, **told)


def test_all_clients_together_are_told_for_each_message_that_was_sent() -> None:
    """Each by its own time; what trackers and the producers of consumers did is told apart."""
    roles = ["producer", "consumer", "acknowledgements", "tracker-consumer", "tracker-producer"]
    rows = [both_ways(role, "x", 10 if role == "producer" else 5) for role in roles]
    together = [{**each, "worker": None} for each in rows]
    found = section([*rows, *together], consume={"acknowledge": {"markers": {}}})

    # A hundred messages a second: 600 bytes a second for the producer, and 1,200 for each of the others.
    assert found["bytes_per_message"] == pytest.approx((600 + 4 * 1_200) / 100)
    assert found["requests_per_message"] == pytest.approx((3 + 4 * 6) / 100)
    for name in ("producers", "consumers", "acknowledgements", "tracker_consumers", "tracker_producers"):
        assert [found[name][each] for each in BOTH_WAYS] == [4_000, 2_000, 30]
    assert "queue_ms" not in found["tracker_consumers"]
    assert "queue_ms" in found["acknowledgements"]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([both_ways("producer", "x", 5), row("measure", "consumer", "y", duration_ns=5)], id="older"),
        pytest.param([both_ways("consumer", "x", 5)], id="nothing sent"),
        pytest.param([both_ways("producer", "x", 5, messages=0)], id="no message"),
        pytest.param([], id="nobody"),
    ],
)
def test_what_is_not_known_of_all_clients_is_not_told(rows: list[Row]) -> None:
    assert not {"bytes_per_message", "requests_per_message"} & set(section(rows))


def test_messages_that_were_retried_are_told_where_a_client_can_tell() -> None:
    rows = [
        row("measure", role, None, retried_messages=retried) for role, retried in (("producer", 3), ("consumer", None))
    ]
    found = section(rows)

    assert found["producers"]["retried_messages"] == 3
    assert "retried_messages" not in found["consumers"]


def test_a_measure_phase_that_was_too_short_leaves_the_run() -> None:
    found = section([each for each in ROWS if each["scope"] == "run" or each["role"] == "consumer"])

    assert (found["producers"]["scope"], found["producers"]["messages"]) == ("run", 1_000)
    assert found["consumers"]["scope"] == "measure"


@pytest.mark.parametrize(
    ("rows", "scenario", "reasons"),
    [
        (None, {}, dict.fromkeys(("producers", "consumers"), "the table wire is missing")),
        ([], {}, dict.fromkeys(("producers", "consumers"), NOT_TOLD)),
        ([], {"load": "off"}, {"producers": "nothing is sent", "consumers": NOT_TOLD}),
        (ROWS, {"consume": "off"}, {}),
        ([], {"consume": "off"}, {"producers": NOT_TOLD, "consumers": "no consumers"}),
    ],
)
def test_what_nobody_told_has_its_reason(rows: list[Row] | None, scenario: Row, reasons: Row) -> None:
    found = section(rows, **scenario)

    assert found["reasons"] == reasons
    assert {name for name in ("producers", "consumers") if found[name] is None} == set(reasons)


def test_what_cannot_be_told_has_its_reason() -> None:
    unknown = dict.fromkeys(("ratio", "messages_per_request", "rtt_ms", "rtt_p99_ms", *SENDING))
    found = section([row("run", "producer", None, **unknown)])["producers"]

    assert {name for name, value in found.items() if value is None} == set(unknown) == set(found["reasons"])
    assert found["reasons"]["ratio"] == "no network traffic"
    assert found["reasons"]["batch_bytes"] == "no batch was sent in the sampled seconds"


def test_a_report_of_codecs_is_told_where_it_was_asked_for(make: Make) -> None:
    """As `streamgauge compression` tells it, of the load of the run."""
    report = codec_report(parse({"name": "x", "load": {"rate": "10k/s", "payload": "json", "codecs": True}}))

    def asked(facts: Row, _tables: Any) -> None:
        facts["codecs"] = report

    found = write_result(make(asked))

    assert found.document()["compression"] == report
    assert also(found)["Codecs"].startswith("ratio (CPU ms per MB) of batches of")
    assert [word in also(found)["Codecs"] for word in ("gzip", "snappy", "lz4", "zstd", "none")] == [True] * 4 + [False]


def test_without_being_asked_for_there_is_no_report_of_codecs(make: Make) -> None:
    found = write_result(make())

    assert (found.compression, "Codecs" in also(found)) == (None, False)
    assert found.reasons["compression"] == "load.codecs does not ask for it"
