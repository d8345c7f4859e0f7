"""OpenMetrics text of a run: what is believed, the ends of what is bounded, and the names of what is not believed."""

from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from tests.report.conftest import Make, Row, Tables, bounds

from streamgauge.report.assemble.result import assemble
from streamgauge.report.exports.openmetrics import openmetrics_text
from streamgauge.result.model.trust import FigureTrust

families_of: Any = text_string_to_metric_families
P99 = {"path": "end_to_end", "kind": "response", "quantile": "0.99"}


def samples(make: Make, *changes: Any) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Labels and values by the name of a sample, as a parser of the format reads them."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in families_of(openmetrics_text(assemble(make(*changes)), "VALID")):
        for each in family.samples:
            found.setdefault(each.name, []).append((each.labels, each.value))
    return found


def low(p99_ms: float) -> Any:
    def change(_facts: Row, tables: Tables) -> None:
        others = [row for row in tables["bounds"] if row["metric"] != "end_to_end_response"]
        tables["bounds"] = [*others, bounds("end_to_end_response") | {"p99_ms": p99_ms}]

    return change


def test_a_believed_figure_is_a_number(make: Make) -> None:
    found = samples(make)

    assert (P99, 0.006) in found["streamgauge_latency_seconds"]
    assert not {"streamgauge_not_believed", "streamgauge_latency_low_seconds", "streamgauge_rate_low"} & {*found}


def test_a_bounded_figure_has_its_ends_beside_it(make: Make) -> None:
    found = samples(make, low(4.0))

    assert (P99, 0.006) in found["streamgauge_latency_seconds"]
    assert found["streamgauge_latency_low_seconds"] == [(P99, 0.004)]
    assert found["streamgauge_latency_high_seconds"] == [(P99, 0.006)]


def test_what_is_not_believed_is_left_out_and_named(make: Make) -> None:
    """Whoever plots a figure cannot take it for one of the system; its path leads to result.json."""
    found = samples(make, low(2.0))

    assert P99 not in [labels for labels, _ in found["streamgauge_latency_seconds"]]
    ((labels, value),) = found["streamgauge_not_believed"]
    assert (labels["figure"], value) == ("latency.end_to_end.response.p99_ms", 1)
    assert "without the instrument it may have been up to 4.00 ms less" in labels["because"]


def test_a_mean_that_is_not_believed_makes_no_sum(make: Make) -> None:
    def nobody_knows(_facts: Row, tables: Tables) -> None:
        for row in tables["bounds"]:
            row["known"] = False

    found = samples(make, nobody_knows)

    assert "streamgauge_latency_seconds_sum" not in found
    assert "streamgauge_latency_seconds" not in found
    assert found["streamgauge_latency_seconds_count"]
    assert found["streamgauge_rate"]


def test_a_rate_of_which_one_end_is_known_has_that(make: Make) -> None:
    def flat_out(facts: Row, _tables: Tables) -> None:
        facts["scenario"]["load"]["rate"] = "max"

    found = samples(make, flat_out)

    assert {labels["stage"] for labels, _ in found["streamgauge_rate_low"]} == {
        "sent",
        "acked",
        "received",
        "processed",
    }
    assert "streamgauge_rate_high" not in found


@pytest.mark.parametrize("trust", [None, "believed"])
def test_a_figure_that_was_not_judged_is_shown_as_it_is(make: Make, trust: Any) -> None:
    """As those of another tool."""
    result = assemble(make())
    path = "delivery.sent"
    kept = FigureTrust(value=1, low=None, high=None, trust=trust, because=[]) if trust else None
    shown = result.model_copy(update={"trust": {path: kept} if kept else {}})

    assert f'streamgauge_messages{{class="sent"}} {result.delivery.sent}' in openmetrics_text(shown, "VALID")
