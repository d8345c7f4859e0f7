"""A cluster that asks who one is: clients in Python and Spark's connector in Java are told by the same settings."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.e2e.piped import PIPED, acked, came_out
from tests.e2e.runs import carried_out
from tests.e2e.secured import PASSWORD, STORE_PASSWORD, USER, Secured, secured

from streamgauge.kafka.client_config import read_client_config
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import read_facts
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.trust import Trust
from streamgauge.scenario import parse

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.e2e]

SECRETS = (PASSWORD, STORE_PASSWORD, "hunter2")
SETTINGS = {
    "spark.hadoop.fs.s3a.secret.key": "hunter2",
    "spark.hadoop.fs.azure.account.key.me.dfs.core.windows.net": "hunter2",
    "spark.ssl.keyPassword": "hunter2",
    "spark.hadoop.innocent": "https://me:hunter2@host/x",
}
"""Of Spark, and of no use here; Spark prints what it is told."""


@pytest.fixture(scope="module")
def cluster(java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured(tmp_path_factory.mktemp("secured"), java) as running:
        yield running


def sasl(cluster: Secured, mechanism: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(cluster.authority),
        "sasl.mechanisms": mechanism,
        "sasl.username": USER,
        "sasl.password": PASSWORD,
    }


def tls(cluster: Secured) -> dict[str, str]:
    return {
        "security.protocol": "SSL",
        "ssl.ca.location": str(cluster.authority),
        "ssl.keystore.location": str(cluster.keystore),
        "ssl.keystore.password": STORE_PASSWORD,
    }


@pytest.mark.parametrize(
    "how",
    [*(pytest.param(mechanism, marks=pytest.mark.soak) for mechanism in ("PLAIN", "SCRAM-SHA-512")), "certificate"],
)
def test_a_pipeline_gets_in_with_what_clients_are_told(how: str, cluster: Secured, java: Java, tmp_path: Path) -> None:
    """Everything passes, and no file of the run has a password."""
    address, settings = (cluster.tls, tls(cluster)) if how == "certificate" else (cluster.sasl, sasl(cluster, how))
    phases = {"warmup": "0s", "measure": "2s", "drain": "60s"}
    pipeline = {"job": "pass", "settings": SETTINGS}
    scenario = parse({"name": f"secured-{how.lower()}", **PIPED, "pipeline": pipeline, "phases": phases})
    connection = read_client_config(written(tmp_path / "client.properties", settings))
    request = Request(
        scenario,
        tmp_path / "runs",
        ["test"],
        java,
        bootstrap=address,
        connection=connection,
        trust=Trust(allow_code=True),
    )

    folder = carried_out(request)

    facts = read_facts(folder)
    assert (facts.ending, facts.drained, facts.reasons) == ("finished", True, [])
    assert came_out(folder) == Counter(acked(folder))
    assert len(acked(folder)) == 2000
    for path in folder.root.rglob("*"):
        assert not path.is_file() or not any(word.encode() in path.read_bytes() for word in SECRETS), path


def written(path: Path, settings: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return path
