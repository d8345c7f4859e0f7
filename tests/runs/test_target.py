"""The cluster of a run: what its brokers were started with."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.domain.folder.facts import BrokerFacts
from streamgauge.runs.conduct.target import MeasuredCluster

CONFIGS = {"broker.session.timeout.ms": "3000"}
STANDS = SimpleNamespace(settings={"node.id": "1", **CONFIGS})
OURS = SimpleNamespace(plan=ClusterPlan(configs=CONFIGS), nodes=[])


@pytest.mark.parametrize(
    ("more", "settings"),
    [
        pytest.param({"broker": OURS}, None, id="started for the run"),
        pytest.param({"broker": OURS, "is_shared": True}, CONFIGS, id="shared by runs"),
        pytest.param({"standing": [STANDS, STANDS]}, STANDS.settings, id="of broker start"),
        pytest.param({}, {}, id="of the user"),
    ],
)
def test_settings_of_brokers_that_the_run_did_not_start(more: dict[str, Any], settings: dict[str, str] | None) -> None:
    facts = BrokerFacts(embedded="broker" in more, bootstrap="there:9092")
    cluster = MeasuredCluster(facts, cast("Any", None), {}, lambda: None, **more)

    assert cluster.settings_of_brokers == settings
