"""What tests of the whole program share: calls in this process, and one warm Spark session to analyse with."""

import secrets
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.e2e.program import brief

from streamgauge.cli.main import main
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.prime import prime
from streamgauge.pipeline.run import analyse
from streamgauge.pipeline.spark.session import SESSIONS
from streamgauge.pipeline.spark.settings import sizing


@dataclass(frozen=True, slots=True)
class Said:
    """What a call of the program said."""

    code: int
    out: str
    err: str


Call = Callable[..., Said]


@pytest.fixture(autouse=True)
def _prime_briefly(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in this process warm their broker up for a moment only, except where latencies are compared."""
    if not any(map(request.node.get_closest_marker, ("timing", "soak"))):
        monkeypatch.setattr("streamgauge.runs.conduct.target.prime", brief(prime))


@pytest.fixture(scope="session")
def _session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that analyses of this process find and use: to start one takes longer than to answer."""
    with SESSIONS.session(sizing(0, processors=2), None, tmp_path_factory.mktemp("spark") / "spark.log") as running:
        yield running


@pytest.fixture
def topic(broker: EmbeddedBroker) -> Iterator[str]:
    """The name of a topic that is not there yet, and is gone after the test."""
    name, cluster = f"topic-{secrets.token_hex(4)}", Cluster(broker.bootstrap, {})
    yield name
    if cluster.partitions_of(name) is not None:
        cluster.delete_topic(name)


@pytest.fixture
def warm_spark(_session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Analyses in this process use one session, which knows nothing of the folder that this process has gone to."""

    def of_absolute_path(folder: RunFolder, **more: Any) -> None:
        analyse(RunFolder(folder.root.absolute()), **more)

    monkeypatch.setattr("streamgauge.pipeline.run.analyse", of_absolute_path)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls the program's own `main` with these words, to its end."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["streamgauge", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return Said(int(ended.value.code or 0), *capsys.readouterr())

    return run
