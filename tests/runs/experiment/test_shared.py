"""The cluster that runs of an experiment share: one after the other where they need different ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.runs.conduct.prepare import cluster_plan
from streamgauge.runs.experiment.means import SharedBrokers
from streamgauge.scenario import parse


def test_runs_with_and_without_tls_have_a_cluster_each_and_two_alike_share_one() -> None:
    """Passwords differ with each plan, and are no reason for another cluster."""
    happened: list[str] = []

    @contextmanager
    def start(plan: ClusterPlan) -> Iterator[Any]:
        happened.append(f"start {plan.security.protocol}")
        yield SimpleNamespace(plan=plan, alive=True)
        happened.append(f"stop {plan.security.protocol}")

    def plan(protocol: str) -> ClusterPlan:
        return cluster_plan(parse({"name": "x", "cluster": {"security": {"protocol": protocol}}}))

    with SharedBrokers(start, lambda _: None) as brokers:
        for protocol in ("PLAINTEXT", "SASL_SSL", "SASL_SSL", "PLAINTEXT"):
            cluster = brokers.current(plan(protocol))
            assert cluster is not None
            assert cluster.plan.security.protocol == protocol

    assert happened == [
        "start PLAINTEXT", "stop PLAINTEXT", "start SASL_SSL", "stop SASL_SSL", "start PLAINTEXT", "stop PLAINTEXT",
    ]  # fmt: skip
