"""The dashboard: valid in Grafana's model, complete, and of nothing but metrics that exist."""

import json
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from tests.prometheus import metrics_in

from streamgauge.watch.metrics import names
from streamgauge.watch.metrics.dashboard import dashboard
from streamgauge.watch.metrics.names import NAMES

BOARD: dict[str, Any] = json.loads(dashboard())
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
TARGETS = [target for panel in PANELS for target in panel["targets"]]
WIDTH = 24


def lost(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """The places of what is not there any more, or has changed; what was added is no loss."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            yield from lost(value, after.get(name), f"{where}/{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (value, other) in enumerate(zip(before, after, strict=True)):
            yield from lost(value, other, f"{where}/{place}")
    elif before != after:
        yield where


def test_nothing_is_lost_on_a_round_trip_through_the_model() -> None:
    """Every key is one that Grafana's schema knows: others would be left out."""
    register_default_plugins()
    after = json.loads(JSONEncoder().encode(Dashboard.from_json(BOARD)))

    assert list(lost(BOARD, after)) == []
    assert list(lost({**BOARD, "colour": "red"}, after)) == ["/colour"]


def test_its_sections_are_in_order() -> None:
    rows = [panel["title"] for panel in BOARD["panels"] if panel["type"] == "row"]

    assert rows == ["Overview", "Rates", "Latency", "Lag and backpressure", "Errors", "Workers and machine"]


def test_every_metric_is_shown_and_nothing_else() -> None:
    """A metric that is renamed or added cannot be forgotten here."""
    asked = set.union(*(metrics_in(target["expr"]) for target in TARGETS))
    variables = set.union(*(metrics_in(str(each.get("query"))) for each in BOARD["templating"]["list"]))

    assert asked == {name.name for name in NAMES if name is not names.RUN}
    assert variables == {names.RUN.name}


def test_what_a_run_comes_to_does_not_depend_on_how_often_rules_are_evaluated() -> None:
    """Which is once in a minute by default, at full minutes; and rates are those of the measure phase."""
    over_range = {
        panel["title"]: target["expr"]
        for panel in PANELS
        for target in panel["targets"]
        if "$__range:" in target["expr"]
    }
    assert len(over_range) == 3 + 3 + 3
    for title, expression in over_range.items():
        assert "[$__range:5s]" in expression
        assert ('stage="measure"} == 1' in expression) == ("rate" in title)


@pytest.mark.parametrize("panel", PANELS, ids=[panel["title"] for panel in PANELS])
def test_a_panel_says_what_it_shows(panel: dict[str, Any]) -> None:
    """Title, description, unit, a legend for each series, thresholds; queries of what the variables choose."""
    defaults = panel["fieldConfig"]["defaults"]

    assert panel["title"]
    assert panel["description"].endswith(".")
    assert defaults["unit"]
    assert panel["type"] == "heatmap" or defaults["thresholds"]["steps"][0]["value"] is None
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0
    assert len({target["legendFormat"] for target in panel["targets"]}) == len(panel["targets"])
    for target in panel["targets"]:
        assert target["legendFormat"]
        assert target["datasource"] == panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        chosen = 'test=~"$test", run=~"$run", host=~"$host"'
        assert target["expr"].count(chosen) == target["expr"].count("streamgauge_")


def test_panels_have_numbers_and_do_not_overlap() -> None:
    """And none reaches over the edge."""
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    cells = {}
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= WIDTH
        cells[panel["id"]] = {
            (x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
        }
    assert not any(one & other for one, other in combinations(cells.values(), 2))


def test_variables_choose_data_source_test_run_host_and_window() -> None:
    """Each label offers what the ones before it leave."""
    variables = {each["name"]: each for each in BOARD["templating"]["list"]}

    assert list(variables) == ["datasource", "test", "run", "host", "span"]
    assert variables["datasource"]["query"] == "prometheus"
    assert variables["host"]["query"] == 'label_values(streamgauge_run_info{test=~"$test", run=~"$run"}, host)'
    assert variables["span"]["query"] == "10s,30s,1m,5m"
    assert all(variables[name]["includeAll"] and variables[name]["multi"] for name in ("test", "run", "host"))


MQPERF = {
    "received in total": "Received, total",
    "sent in total": "Sent, total",
    "receiver threads done": "Consumers done",
    "sender threads done": "Producers done",
    "highest receive rate": "Receive rate, highest",
    "average receive rate": "Receive rate, average",
    "highest send rate": "Send rate, highest",
    "average send rate": "Send rate, average",
    "rate over a chosen window": "Messages, chosen window",
    "rate over one minute": "Messages, one minute",
    "95 % quantile of the receive rate": "Receive rate, 95 % quantile",
    "p95, median and average receive latency": "End-to-end latency",
    "highest p95 of the receive latency": "End-to-end latency, highest p95",
    "p95, median and average send latency": "Send batch latency",
    "highest p95 of the send latency": "Send batch latency, highest p95",
}
"""What the dashboard of mqperf shows, and where it is here."""


def test_it_shows_at_least_what_the_dashboard_of_mqperf_shows() -> None:
    """Nineteen panels there, three of them for one here where figures belong together."""
    shown = {panel["title"]: {target["legendFormat"] for target in panel["targets"]} for panel in PANELS}

    assert set(MQPERF.values()) <= shown.keys()
    for title in ("End-to-end latency", "Send batch latency"):
        assert shown[title] >= {"{{run}} p50", "{{run}} p95", "{{run}} mean"}
    for title in ("Messages, chosen window", "Messages, one minute"):
        assert shown[title] >= {"{{run}} sent", "{{run}} received"}
