"""Intervals of figures, kind by kind, by tables of evidence."""

from typing import Any

import pytest
from tests.verdict.test_verdict import Run

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.folder.facts import CalibrationFacts, RunFacts
from streamgauge.result.model.delivery import DeliveryCounts, DeliverySection
from streamgauge.result.model.latency import DeliveredPercentiles, LatencyFigures, LatencyPair, LatencySection
from streamgauge.result.model.pipeline import PipelineSection, PipelineStage
from streamgauge.result.model.pressure import GroupLags, LagFigures, LagSection, RecoveryScore
from streamgauge.result.model.throughput import ThroughputSection
from streamgauge.result.model.trust import FigureTrust, Trust
from streamgauge.verdict.evidence import Evidence
from streamgauge.verdict.trust.calibrated import floor
from streamgauge.verdict.trust.figures.counts import counts as counts_of
from streamgauge.verdict.trust.figures.counts import rates as rates_of
from streamgauge.verdict.trust.figures.latencies import latencies, stages
from streamgauge.verdict.trust.figures.pressure import lags
from streamgauge.verdict.trust.figures.recovered import recoveries

Row = dict[str, Any]
SECONDS = 10
COMMITTED, POSITION, OUTSTANDING = ("lag.committed", "lag.position", "lag.outstanding")


def evidence(scenario: Row | None = None, **tables: list[Row]) -> Evidence:
    """A run of ten seconds."""
    facts = Run().facts
    facts["scenario"] |= scenario or {}
    facts["groups"] = [{"id": 0, "name": "g"}, {"id": 1, "name": "h"}]
    measured = {"scope": "measure", "duration_ns": SECONDS * NS_PER_SECOND}
    return Evidence(RunFacts.model_validate(facts), tables | {"throughput": [measured, *tables.get("throughput", [])]})


def window(second: int, **counts: int) -> Row:
    return {"scope": "window", "second": second, **counts}


def sample(second: float, took_ms: float | None, lag: int | None = 10_000, **more: Any) -> Row:
    told: Row = {"scope": "group", "group": 0, "second": second, "took_ms": took_ms, "error": None}
    return {**told, "committed_lag": lag, "position_lag": lag, **more}


def figures_of(found: float = 10_000) -> LagFigures:
    return LagFigures(max=found, max_second=3.0, final=found, mean=found)


def section(groups: list[GroupLags] | None = None, **found: LagFigures) -> LagSection:
    known: Row = {**dict.fromkeys(("committed", "position", "outstanding", "time_lag")), **found}
    sampling: Row = {"every_ms": 1_000, "samples": 9, "failed": 0, "failed_share": 0.0, "cpu_cores": 0.1}
    return LagSection(**known, **sampling, groups=groups or [], reasons={})


def ends(figure: FigureTrust) -> tuple[float | None, float | None, Trust]:
    return figure.low, figure.high, figure.trust


STEADY = [window(second, due=10_000, acked=10_000, processed=10_000) for second in range(SECONDS)]
FAULT = {"at": "2s", "kind": "pause", "target": "broker", "for": "1s"}
NOT_KNOWN = (None, None, "not_believed")


@pytest.mark.parametrize(
    ("figure", "samples", "windows", "expected"),
    [
        pytest.param("max", [sample(1, 5)], STEADY, (50, 50, "believed"), id="5 ms of 10,000 a second"),
        pytest.param("max", [sample(1, 40)], STEADY, (400, 400, "bounded"), id="40 ms"),
        pytest.param("max", [sample(1, 40), sample(2, 5, 9_900)], STEADY, (150, 400, "bounded"), id="not only its own"),
        pytest.param(
            "max", [sample(1, 5), sample(2, 40, 9_000)], STEADY, (50, 50, "believed"), id="not the longest one"
        ),
        pytest.param(
            "max", [sample(1, 5), sample(2, 1, None)], STEADY, (50, 50, "believed"), id="one without a commit"
        ),
        pytest.param("max", [sample(1, 5, None)], STEADY, (50, 50, "believed"), id="no sample has the value"),
        pytest.param("mean", [sample(1, 2), sample(2, 10)], STEADY, (60, 60, "believed"), id="the mean sample"),
        pytest.param("final", [sample(1, 90), sample(2, 5)], STEADY, (50, 50, "believed"), id="the last sample"),
        pytest.param("max", [sample(-3, 90, 99_000), sample(2, 5)], STEADY, (50, 50, "believed"), id="not of warm-up"),
        pytest.param(
            "max", [sample(1, 5)], [*STEADY, window(3, processed=100_000)], (500, 500, "bounded"), id="catching up"
        ),
        pytest.param(
            "max", [sample(1, 5)], [*STEADY, window(3, due=400_000)], (2_000, 2_000, "not_believed"), id="a burst"
        ),
        pytest.param("max", [sample(1, None)], STEADY, NOT_KNOWN, id="recorded before that was told"),
        pytest.param("max", [sample(1, 5), sample(2, None)], STEADY, NOT_KNOWN, id="not told of one sample"),
        pytest.param(
            "max", [sample(1, 5), sample(2, None, error="timed out")], STEADY, (50, 50, "believed"), id="failed"
        ),
        pytest.param("max", [sample(1, 5)], [], NOT_KNOWN, id="no rate is known"),
    ],
)
def test_a_sampled_lag_moves_while_it_is_sampled(
    figure: str, samples: list[Row], windows: list[Row], expected: tuple[float | None, float | None, Trust]
) -> None:
    """As fast as messages were sent or processed in any second.

    By commits it is too large then, by positions too small: these are looked at after the ends of the log.
    """
    run = evidence(lag=samples, throughput=windows)

    found = dict(lags(run, section(committed=figures_of(), position=figures_of())))

    committed, position = (found[f"{path}.{figure}"] for path in (COMMITTED, POSITION))
    below, above, trust = expected
    assert ends(committed) == (NOT_KNOWN if below is None else (10_000 - below, 10_000, trust))
    assert ends(position) == (NOT_KNOWN if above is None else (10_000, 10_000 + above, trust))
    assert {bool(each.because) for each in (committed, position)} == {trust != "believed"}


def replayed(second: float, sent: int, processed: int, group: int = 0) -> Row:
    return {"second": second, "group": group, "sent": sent, "processed": processed, "outstanding": sent - processed}


@pytest.mark.parametrize(
    ("figure", "is_exact", "rows", "expected"),
    [
        pytest.param("max", True, [replayed(1, 900, 0)], (500, 500, "believed"), id="exact"),
        pytest.param("final", False, [replayed(1, 900, 0)], (500, 500, "believed"), id="the last value"),
        pytest.param("mean", False, [replayed(1, 900, 0)], (500, 500, "believed"), id="the mean is that of ends"),
        pytest.param(
            "max", False, [replayed(1, 500, 0), replayed(2, 1_500, 1_450)], (500, 1_500, "bounded"), id="all sent first"
        ),
        pytest.param(
            "max", False, [replayed(1, 500, 0), replayed(2, 9_500, 9_000)], (500, 9_500, "bounded"), id="never refused"
        ),
        pytest.param(
            "max", False, [replayed(1, 500, 0), replayed(2, 900, 550)], (500, 900, "bounded"), id="all processed last"
        ),
        pytest.param("max", False, [replayed(1, 500, 0), replayed(2, 560, 100)], (500, 560, "bounded"), id="some"),
        pytest.param("max", False, [replayed(1, 500, 0), replayed(2, 510, 100)], (500, 510, "believed"), id="a few"),
        pytest.param(
            "max", False, [replayed(-1, 9_500, 0), replayed(2, 9_500, 9_000)], (500, 9_500, "bounded"), id="drained"
        ),
        pytest.param("max", False, [], NOT_KNOWN, id="no row is left"),
    ],
)
def test_what_was_outstanding_within_an_interval_is_bounded(
    figure: str, *, is_exact: bool, rows: list[Row], expected: tuple[float | None, float | None, Trust]
) -> None:
    """By what was sent, or processed, in the interval."""
    shown = figures_of(500).model_copy(update={"exact": is_exact})

    found = dict(lags(evidence(outstanding=rows), section(outstanding=shown)))

    assert ends(found[f"{OUTSTANDING}.{figure}"]) == expected


@pytest.mark.parametrize(
    ("scenario", "left", "expected"),
    [
        pytest.param({}, 0, 302, id="due within 30 ms, and one of each producer"),
        pytest.param({}, 40, 10_000, id="messages were left over"),
        pytest.param({"load": {"rate": "max", "producers": 2}}, 0, 10_000, id="nothing is due"),
        pytest.param(
            {"faults": [{"at": "2s", "kind": "pause", "target": "broker", "for": "1s"}]}, 0, 10_000, id="a fault"
        ),
    ],
)
def test_at_a_constant_rate_no_more_is_outstanding_than_was_due_meanwhile(
    scenario: Row, left: int, expected: float
) -> None:
    rows = [replayed(1, 10_000, 10_000), replayed(2, 20_000, 20_000), replayed(12, 20_000, 20_000 - left)]
    latency = [{"metric": "end_to_end_response", "scope": "window", "second": 1, "max_ms": 30.0}]
    run = evidence(scenario, outstanding=rows, latency=latency)

    found = dict(lags(run, section(outstanding=figures_of(20).model_copy(update={"exact": False}))))

    assert found[f"{OUTSTANDING}.max"].high == expected


def test_each_of_several_groups_has_its_own_lag() -> None:
    samples = [sample(1, 5, 9_000), sample(1, 40, group=1)]
    groups = [
        GroupLags(group=name, committed=figures_of(lag), position=None, outstanding=None, time_lag=None)
        for name, lag in (("g", 9_000), ("h", 10_000))
    ]

    found = dict(lags(evidence(lag=samples, throughput=STEADY), section(groups, committed=figures_of())))

    trusts = [found[f"lag{group}.committed.max"].trust for group in ("", ".groups.0", ".groups.1")]
    assert trusts == ["bounded", "believed", "bounded"]


def recovered(quantity: str, **changes: Any) -> RecoveryScore:
    """From 20,040 messages to 40 in 10 s, looked at every half second."""
    row: Row = {"cause": "pause", "target": "c", "detail": None, "quantity": quantity, "group": None}
    row |= {"began_second": 1.0, "ended_second": 2.0, "interval_ms": 500.0, "floor": 40.0, "tolerance": 60.0}
    row |= {"detected_s": 0.25, "peak": 20_040.0, "peak_second": 2.0, "at_end": 20_040.0, "time_to_drain_s": 10.0}
    row |= {"drain_rate_per_second": 2_000.0, "peak_slope_per_second": 12_000.0, "latency_debt_ms_s": 900.0}
    row |= {f"p99_{name}_ms": 10.0 for name in ("before", "during", "after")}
    return RecoveryScore.model_validate(row | changes | {"reasons": {}})


EXACT, SAMPLED = "outstanding", "committed_lag"


@pytest.mark.parametrize(
    ("score", "took_ms", "figure", "expected"),
    [
        pytest.param(recovered(EXACT), None, "detected_s", (0.0, 0.25, "believed"), id="noticed within an interval"),
        pytest.param(recovered(EXACT), None, "time_to_drain_s", (9.5, 10.0, "believed"), id="drained within one"),
        pytest.param(recovered(EXACT), None, "peak", (20_040, 20_040, "believed"), id="counted"),
        pytest.param(recovered(SAMPLED), 5, "peak", (19_990, 20_040, "believed"), id="sampled"),
        pytest.param(recovered(SAMPLED), 5, "at_end", (19_990, 20_040, "believed"), id="at the end"),
        pytest.param(recovered(SAMPLED), 5, "floor", (0, 40, "bounded"), id="some messages"),
        pytest.param(recovered(SAMPLED), None, "peak", NOT_KNOWN, id="it is not known how long a sample took"),
        pytest.param(recovered(SAMPLED), None, "drain_rate_per_second", NOT_KNOWN, id="nor how fast it drained"),
        pytest.param(recovered(SAMPLED), None, "peak_slope_per_second", NOT_KNOWN, id="nor how fast at most"),
        pytest.param(recovered(SAMPLED), None, "time_to_drain_s", (9.5, 10.0, "believed"), id="but for how long"),
        pytest.param(
            recovered(EXACT), None, "drain_rate_per_second", (2_000, 20_000 / 9.5, "bounded"), id="by the time it took"
        ),
        pytest.param(
            recovered(SAMPLED), 5, "drain_rate_per_second", (1_995, 20_050 / 9.5, "bounded"), id="and by what drained"
        ),
        pytest.param(
            recovered(EXACT, time_to_drain_s=0.5, drain_rate_per_second=40_000.0),
            None,
            "drain_rate_per_second",
            (40_000, None, "bounded"),
            id="between two samples",
        ),
        pytest.param(
            recovered(EXACT), None, "peak_slope_per_second", (12_000, 12_000, "believed"), id="the fastest, counted"
        ),
        pytest.param(recovered(SAMPLED), 5, "peak_slope_per_second", (11_900, 12_100, "bounded"), id="of two samples"),
        pytest.param(recovered(EXACT), None, "p99_before_ms", (9.5, 10.0, "believed"), id="narrow"),
        pytest.param(recovered(EXACT), None, "p99_during_ms", (7.0, 10.0, "bounded"), id="wide"),
        pytest.param(recovered(EXACT), None, "p99_after_ms", NOT_KNOWN, id="no bound"),
        pytest.param(recovered(EXACT), None, "latency_debt_ms_s", (880.0, 910.0, "believed"), id="a debt"),
    ],
)
def test_recovery_is_as_good_as_its_samples_and_bounds(
    score: RecoveryScore, took_ms: float | None, figure: str, expected: tuple[float | None, float | None, Trust]
) -> None:
    low = {"p99_before_low_ms": 9.5, "p99_during_low_ms": 7.0, "p99_after_low_ms": None}
    low |= {"latency_debt_low_ms_s": 880.0, "latency_debt_high_ms_s": 910.0}
    run = evidence(lag=[sample(1, took_ms)], throughput=STEADY, recovery=[low])

    found = dict(recoveries(run, [score]))

    assert ends(found[f"recovery.0.{figure}"]) == pytest.approx(expected)
    assert bool(found[f"recovery.0.{figure}"].because) is (expected[2] != "believed")


@pytest.mark.parametrize(
    ("tables", "because"),
    [
        pytest.param({}, "streamgauge analyse", id="analysed before there were bounds"),
        pytest.param(
            {"bounds": [{"metric": "end_to_end_response", "known": True}]}, "streamgauge analyse", id="before these"
        ),
        pytest.param({"bounds": []}, "it is not known how much", id="recorded before"),
        pytest.param({"bounds": [{"metric": "end_to_end_response", "known": False}]}, "not known how much", id="a gap"),
    ],
)
def test_a_recovery_without_low_ends_says_why(tables: Any, because: str) -> None:
    found = dict(recoveries(evidence(recovery=[{}], **tables), [recovered(EXACT)]))

    for name in ("p99_before_ms", "p99_during_ms", "p99_after_ms", "latency_debt_ms_s"):
        assert found[f"recovery.0.{name}"].trust == "not_believed"
        assert because in found[f"recovery.0.{name}"].because[0]


def sent(rate: float, unknown: int | None, scenario: Row | None = None) -> dict[str, FigureTrust]:
    """The companions of rates and counts of ten seconds, in which a producer died before it had reported so many."""
    rates = {f"{name}_per_second": rate for name in ("sent", "acked", "received")}
    sizes = {"sent_mb_per_second": rate / 1_000, "received_mb_per_second": 9.0, "processed_per_second": None}
    throughput = ThroughputSection.model_construct(None, **rates, **sizes, measured_seconds=10.0)
    counts: Row = {"sent": 95_000, "acked": 95_000, "failed": 0, "received": 95_000, "fate_unknown": unknown}
    nothing = dict.fromkeys(DeliveryCounts.model_fields) | counts
    measure = DeliveryCounts.model_construct(None, **nothing)
    delivery = DeliverySection.model_construct(None, **nothing, measure=measure, groups=[])
    run = evidence(scenario)
    return {**dict(rates_of(run, throughput, delivery)), **dict(counts_of(run, delivery))}


@pytest.mark.parametrize(
    ("unknown", "high", "trust"),
    [(5_000, 10_000, "bounded"), (900, 9_590, "believed"), (0, 9_500, "believed"), (None, 9_500, "believed")],
)
def test_what_a_dead_producer_did_not_report_may_have_been_sent(unknown: int | None, high: float, trust: Trust) -> None:
    """And acknowledged; what was received is known all the same."""
    found = sent(9_500, unknown)

    for name in ("sent", "acked"):
        rate = found[f"throughput.{name}_per_second"]
        assert (rate.low, rate.high, rate.trust) == (9_500, high, trust)
        assert (found[f"delivery.{name}"].low, found[f"delivery.{name}"].high) == (95_000, 95_000 + (unknown or 0))
    assert found["throughput.sent_mb_per_second"].high == pytest.approx(high / 1_000)
    assert ends(found["throughput.received_per_second"]) == (9_500, 9_500, "believed")
    assert found["delivery.received"].high == 95_000
    assert found["throughput.sent_per_second"].because == (
        ["the fate of 5,000 messages is unknown"] if trust == "bounded" else []
    )


def test_a_rate_that_follows_the_answers_has_no_high_end_whatever_is_unknown() -> None:
    assert ends(sent(9_500, 5_000, {"load": {"rate": "max"}})["throughput.sent_per_second"]) == (9_500, None, "bounded")


def acks(
    bounds: Row, errors_ms: dict[str, float] | None = None, sampling: Any = (), **figures: Any
) -> dict[str, FigureTrust]:
    """The companions of a service time of acknowledgements, all figures of which are 10 ms."""
    names = [name for name in LatencyFigures.model_fields if name.endswith("_ms") and "_hi" not in name]
    values = {**dict.fromkeys(names, 10.0), "variance_ms2": 100.0, **figures}
    service = LatencyFigures(count=9, censored=1, selected_by="due", cdf=[], reasons={}, **values)
    none = LatencyPair(response=None, service=None)
    section = LatencySection(
        ack=LatencyPair(response=None, service=service), end_to_end=none, processing=none, poll=None
    )
    spread = {"stddev_low_ms": 9.5, "stddev_high_ms": 10.5, "mad_low_ms": 10.0, "mad_high_ms": 10.0}
    row = {**dict.fromkeys(names, 9.9), **spread, **bounds}
    sampled = [{"metric": "ack_service", "low_ms": 8.0, "high_ms": 12.0, "percentile": each} for each in sampling]
    run = evidence(bounds=[{"metric": "ack_service", "known": True, **row}], sampling=sampled)
    if errors_ms is not None:
        calibration = CalibrationFacts(rate=10_000, wall_ns=1, errors_ms=errors_ms)
        run = Evidence(run.facts.model_copy(update={"calibration": calibration}), run.tables)
    return {path.removeprefix("latency.ack.service."): each for path, each in latencies(run, section)}


def test_a_variance_is_the_square_of_a_standard_deviation() -> None:
    found = acks({})

    assert ends(found["stddev_ms"]) == (9.5, 10.5, "believed")
    assert (found["variance_ms2"].value, *ends(found["variance_ms2"])) == (100, 9.5**2, 10.5**2, "believed")


def test_a_standard_deviation_may_have_been_less_or_more() -> None:
    found = acks({"stddev_low_ms": 7.0, "stddev_high_ms": 12.5})["stddev_ms"]

    assert ends(found) == (7.0, 12.5, "bounded")
    assert found.because[0] == "without the instrument it may have been up to 3.00 ms less, or up to 2.50 ms more"


@pytest.mark.parametrize("name", ["stddev", "mad"])
def test_the_spread_of_a_service_time_reaches_to_that_of_messages_sent_when_they_were_due(name: str) -> None:
    """Sent late, a message has a service time that is shorter than the response time it would have had."""
    none = LatencyPair(response=None, service=None)
    names = [name for name in LatencyFigures.model_fields if name.endswith("_ms") and "_hi" not in name]
    values: dict[str, Any] = {**dict.fromkeys(names, 10.0), "variance_ms2": 100.0}
    service = LatencyFigures(count=9, censored=1, selected_by="due", cdf=[], reasons={}, **values)
    section = LatencySection(
        ack=LatencyPair(response=service.model_copy(), service=service), end_to_end=none, processing=none, poll=None
    )
    row = {"known": True, **dict.fromkeys(names, 9.9)}
    rows = [
        {
            "metric": f"ack_{kind}",
            **row,
            **{f"{each}_{end}_ms": value for each in ("stddev", "mad") for end, value in of},
        }
        for kind, of in (("service", (("low", 9.0), ("high", 10.5))), ("response", (("low", 8.5), ("high", 11.0))))
    ]

    found = dict(latencies(evidence(bounds=rows), section))

    assert ends(found[f"latency.ack.service.{name}_ms"])[:2] == (8.5, 11.0)
    assert ends(found[f"latency.ack.response.{name}_ms"])[:2] == (8.5, 11.0)


@pytest.mark.parametrize(
    ("low", "expected"), [(9.5, (9.5, 10.0, "believed")), (6.0, (6.0, 10.0, "bounded")), (None, NOT_KNOWN)]
)
def test_percentiles_of_delivered_messages_have_low_ends_of_their_own(low: float | None, expected: Any) -> None:
    delivered = DeliveredPercentiles(p50_ms=None, p95_ms=None, p99_ms=10.0, p99_9_ms=None)

    assert ends(acks({"delivered_p99_ms": low}, delivered=delivered)["delivered.p99_ms"]) == expected


ERRORS = {"ack.service.p50": 0.1, "ack.service.p99": 0.2, "ack.service.p99_9": 4.0, "ack.service.max": 4.0}


@pytest.mark.parametrize(
    ("value", "errors_ms", "low"),
    [
        pytest.param(7.0, ERRORS, 6.9, id="an error of 4 ms of a stall says next to nothing of 7 ms"),
        pytest.param(1_000.0, ERRORS, 996.0, id="but of a second"),
        pytest.param(600.0, ERRORS, 597.56, id="and something of what lies between"),
        pytest.param(0.3, ERRORS, 0.2, id="what is added to half a millisecond is added to less"),
        pytest.param(0.3, {"ack.service.p50": 0.5}, 0.0, id="no latency lies below zero"),
        pytest.param(7.0, {"ack.service.p99": 0.5}, 6.5, id="all that is known"),
    ],
)
def test_a_latency_is_as_uncertain_as_one_of_its_length_was_when_it_was_calibrated(
    value: float, errors_ms: dict[str, float], low: float
) -> None:
    """Whatever its rank is: the calibration plants a length at each rank."""
    found = acks({"p99_9_ms": value}, errors_ms, p99_9_ms=value)["p99_9_ms"]

    assert found.low == pytest.approx(low, abs=0.05)
    assert found.high == value


def test_a_calibration_that_makes_an_interval_wide_is_named() -> None:
    """And nothing that the run did, which would have left it narrow."""
    found = acks({"p99_ms": 10.0}, {"ack.service.p99": 4.0})["p99_ms"]

    assert (found.low, found.trust) == (6.0, "bounded")
    assert found.because == [
        "without the instrument it may have been up to 4.00 ms less",
        "when it was calibrated at 10,000/s, the instrument measured 4.00 ms too much at such latencies",
    ]
    assert acks({"p99_ms": 10.0}, {"ack.service.p99": -4.0})["p99_ms"].because == [
        "when it was calibrated at 10,000/s, the instrument measured 4.00 ms too little at such latencies"
    ]
    assert acks({"p99_ms": 6.0}, {"ack.service.p99": 0.0})["p99_ms"].because == acks({"p99_ms": 6.0})["p99_ms"].because


def test_percentiles_of_delivered_messages_are_calibrated_and_sampled_as_well() -> None:
    delivered = DeliveredPercentiles(p50_ms=None, p95_ms=None, p99_ms=10.0, p99_9_ms=None)
    sampling = ("p99", "delivered_p99")

    found = acks({"delivered_p99_ms": 9.9}, {"ack.service.p99": 4.0}, sampling, delivered=delivered)

    assert ends(found["delivered.p99_ms"]) == (6.0, 10.0, "bounded")
    assert [(found[f"{each}p99_ms"].sample_low, found[f"{each}p99_ms"].sample_high) for each in ("", "delivered.")] == [
        (8.0, 12.0), (8.0, 12.0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "value", "below"),
    [
        ("processing.response", 50.0, 0.2),
        ("since_record_time", 50.0, 0.3),
        ("poll", 50.0, 0.0),
    ],
)
def test_latencies_that_a_calibration_does_not_have_are_those_that_end_by_the_same_steps(
    metric: str, value: float, below: float
) -> None:
    errors_ms = {"end_to_end.response.p99": 0.2, "end_to_end.service.p99": 0.3}

    assert floor(CalibrationFacts(rate=1, wall_ns=1, errors_ms=errors_ms), metric, value) == (below, 0.0)
    assert floor(None, metric, value) == (0.0, 0.0)


def test_stages_say_how_far_they_may_be_off_by_chance() -> None:
    bounds = {f"{name}_ms": 9.9 for name in ("mean", "min", "p50", "p90", "p99", "max")}
    bounds |= {f"{name}_high_ms": 10.1 for name in ("mean", "min", "p50", "p90", "p99", "max")}
    row = {"metric": "stage_process", "known": True, **bounds}
    sampled = {"metric": "stage_process", "percentile": "p99", "low_ms": 8.0, "high_ms": 12.0}
    stage = PipelineStage.model_construct(
        None, stage="stage_process", **{f"{name}_ms": 10.0 for name in ("mean", "min", "p50", "p90", "p99", "max")}
    )
    section = PipelineSection.model_construct(None, stages=[stage])

    found = dict(stages(evidence(bounds=[row], sampling=[sampled]), section))

    p99, p50 = (found[f"pipeline.stages.0.{name}_ms"] for name in ("p99", "p50"))
    assert (p99.sample_low, p99.sample_high, p50.sample_low) == (8.0, 12.0, None)


def test_a_percentile_without_a_low_end_is_not_believed() -> None:
    assert ends(acks({"p99_ms": None})["p99_ms"]) == NOT_KNOWN
