"""A real Prometheus scrapes an endpoint: every query of the dashboard and every recorded rule finds something."""

import json
from collections.abc import Iterator
from itertools import count

import pytest
import yaml
from tests.prometheus import Prometheus, scraping
from tests.waiting import until
from tests.watch.looks import look

from streamgauge.domain.look import Held
from streamgauge.watch.metrics import names
from streamgauge.watch.metrics.dashboard import dashboard
from streamgauge.watch.metrics.endpoint import Metrics
from streamgauge.watch.metrics.queries import over_range, rate
from streamgauge.watch.metrics.rules import rules

pytestmark = pytest.mark.prometheus

QUERIES = sorted({target["expr"] for panel in json.loads(dashboard())["panels"] for target in panel.get("targets", [])})
RECORDED = [
    rule["record"] for group in yaml.safe_load(rules())["groups"] for rule in group["rules"] if "record" in rule
]


STRANGE = 'a"b\\c{d}'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """It has scraped two runs at the same time for some seconds: one held back by pauses, one by credit."""
    folder = tmp_path_factory.mktemp("prometheus")
    held = Held(20_000, paused=True), Held(5_000, in_use=10)
    seconds, sent = count(1), rate(names.SENT, "1m")
    with (
        Metrics(STRANGE, 100.0, scheduled=True) as one,
        Metrics("other", 100.0, scheduled=False) as other,
        scraping(folder, [one.port, other.port], rules()) as running,
    ):

        def have_rates() -> bool:
            second = next(seconds)
            for metrics, each in zip((one, other), held, strict=True):
                metrics.show(look(second=second, held=each, lag=3, batches=True))
            return all(running.values(each) for each in (RECORDED[0], RECORDED[-1], over_range("max_over_time", sent)))

        until(have_rates)
        yield running


@pytest.mark.parametrize("expression", QUERIES)
def test_every_query_of_the_dashboard_finds_something(server: Prometheus, expression: str) -> None:
    """With numbers in it."""
    assert server.values(expression)


@pytest.mark.parametrize("name", RECORDED)
def test_every_rule_records_something(server: Prometheus, name: str) -> None:
    assert server.values(name)


@pytest.mark.parametrize("label", ["test", "run", "host"])
def test_variables_have_values(server: Prometheus, label: str) -> None:
    """Strange names are those that were given."""
    found = server.get(f"label/{label}/values", **{"match[]": "streamgauge_run_info"})

    assert found
    assert label != "test" or set(found) == {STRANGE, "other"}


def test_rules_and_targets_have_no_errors(server: Prometheus) -> None:
    """All are evaluated, all targets answer."""
    groups = server.get("rules")["groups"]
    targets = server.get("targets")["activeTargets"]

    assert {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}
    assert [target["health"] for target in targets] == ["up", "up"]
