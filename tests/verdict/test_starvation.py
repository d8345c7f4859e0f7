"""Processes without a core: which figures the waits of clients take, and how much of the tail waits can explain."""

from typing import Any

import pytest
from tests.verdict.test_unbounded import SECONDS, look, run

from streamgauge.verdict.trust import place, starvation

Look = dict[str, Any]
STARVED = look("producer", 3.0, process="producer-1", client_run_delay_share=0.8, cpu_cores=0.3)
ACK, RECEIVED, OPEN = "latency.ack.response.p99_ms", "latency.end_to_end.response.p99_ms", "connections.open.p99_ms"


@pytest.mark.parametrize(
    ("looks", "taken"),
    [
        pytest.param([], [], id="nothing was looked at"),
        pytest.param([STARVED], [ACK, RECEIVED], id="the client of a producer"),
        pytest.param([STARVED | {"role": "consumer"}], [RECEIVED], id="that of a consumer"),
        pytest.param([STARVED | {"role": "connector"}], [OPEN], id="that of connections"),
        pytest.param([STARVED | {"client_run_delay_share": 0.49, "cpu_cores": 0.1}], [], id="it waited now and then"),
        pytest.param([STARVED | {"cpu_cores": 0.8}], [], id="many threads that wait, and run for longer"),
        pytest.param([STARVED | {"client_run_delay_share": None}], [], id="nobody counts it"),
        pytest.param([STARVED | {"second": -1.0}], [], id="before the measure phase"),
        pytest.param(
            [STARVED | {"client_run_delay_share": 0.0, "run_delay_share": 0.8}], [], id="the worker's thread has bounds"
        ),
        pytest.param(
            [STARVED | {"role": "connector", "client_run_delay_share": 0.2, "run_delay_share": 0.4}],
            [OPEN],
            id="a thread that waits for an answer has none",
        ),
        pytest.param([STARVED | {"role": "broker"}], [], id="a broker has no client"),
    ],
)
def test_clients_without_a_core_take_what_they_may_have_delayed(looks: list[Look], taken: list[str]) -> None:
    found = starvation.of_clients(run(*looks))

    assert [path for path in (ACK, RECEIVED, OPEN) if any(each.takes(path) for each in found)] == taken


def test_only_what_the_messages_of_these_seconds_can_decide_is_taken() -> None:
    (found,) = starvation.of_clients(run(STARVED))

    assert found.share == 1 / SECONDS
    assert [name for name in ("p50", "p90", "p95", "max") if found.takes(f"latency.ack.service.{name}_ms")] == [
        "p95", "max",
    ]  # fmt: skip
    assert "the Kafka client of producer-1 had too little CPU (second 2 to 3; 10 % of the messages)" in found.because


def test_without_messages_seconds_are_a_share_of_the_time() -> None:
    scenario = {"load": "off", "consume": "off", "connections": {"open": "5/s"}}
    (found,) = starvation.of_clients(run(STARVED | {"role": "connector"}, scenario=scenario))

    assert (found.share, found.because.endswith("10 % of the time)")) == (0.1, True)


def measured(role: str, own: float | None, client: float | None = None, process: str = "") -> Look:
    shares = {"run_delay_share": own, "client_run_delay_share": client}
    return {"scope": "measure", "role": role, "process": process or role, **shares}


@pytest.mark.parametrize(
    ("rows", "share"),
    [
        pytest.param([], 0.0, id="nothing was looked at"),
        pytest.param([measured("producer", None)], 0.0, id="an old run"),
        pytest.param([measured("producer", 0.02, 0.01)], 0.03, id="its own thread, and its client"),
        pytest.param([measured("producer", 0.02, 0.01), measured("consumer", 0.0, 0.04)], 0.07, id="both roles"),
        pytest.param(
            [measured("producer", 0.02, 0.0), measured("producer", 0.03, 0.0, "other")], 0.03, id="one producer each"
        ),
        pytest.param([measured("producer", 0.8, 0.9)], 1.0, id="more than all"),
    ],
)
def test_how_much_waiting_workers_can_explain(rows: list[Look], share: float) -> None:
    assert starvation.of_workers(run(*rows))[0] == pytest.approx(share)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        pytest.param([measured("producer", 0.002, 0.006)], None, id="no p99"),
        pytest.param(
            [measured("producer", 0.002, 0.01)],
            "the workers' threads waited for a core for 0.20 % of the time, those of their Kafka clients for 1.0 %: "
            "this can explain the slowest 1.2 % of the messages, and what queued behind them",
            id="a p99",
        ),
        pytest.param(
            [measured("driver", 0.02), measured("executor", 0.01)],
            "the pipeline's threads waited for a core for 3.0 % of the time: this can explain the slowest 3.0 % of the "
            "messages, and what queued behind them",
            id="the pipeline",
        ),
        pytest.param(
            [measured("broker", 0.04), measured("producer", 0.02, 0.01)],
            "the broker's threads waited for a core for 4.0 % of the time; the workers' threads waited for a core for "
            "2.0 % of the time, those of their Kafka clients for 1.0 %: each can explain that share of the slowest "
            "messages, and what queued behind them",
            id="broker and workers",
        ),
    ],
)  # fmt: skip
def test_what_waits_on_this_machine_can_explain_is_said(rows: list[Look], told: str | None) -> None:
    assert place.of_run(run(*rows)) == told


def test_a_pipeline_without_a_core_makes_latencies_those_of_the_machine() -> None:
    (found,) = place.of_seconds(run(look("executor", 3.0, run_delay_share=2.5, cpu_cores=0.7)))

    assert found.because.startswith("the pipeline had no core for long (second 2 to 3")
