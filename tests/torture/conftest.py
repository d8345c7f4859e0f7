"""One warm Spark session to analyse with, and the names of the endings that this machine cannot make."""

from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from tests.torture.machine import cannot
from tests.torture.plans import LANDED

from streamgauge.pipeline.spark.session import SESSIONS
from streamgauge.pipeline.spark.settings import sizing


@pytest.fixture(scope="session")
def warm_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that analyses of this process find and use."""
    with SESSIONS.session(sizing(0, processors=2), None, tmp_path_factory.mktemp("spark") / "spark.log") as running:
        yield running


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how often each ending was carried out, and which were left out here."""
    passed = [dict(report.user_properties).get(LANDED) for report in terminalreporter.getreports("passed")]
    counts = Counter(str(ending) for ending in passed if ending is not None)
    for ending, count in sorted(counts.items()):
        terminalreporter.write_line(f"{count} x {ending}")
    for action, reason in cannot().items():
        terminalreporter.write_line(f"endings that this machine cannot make: {action} ({reason})")
