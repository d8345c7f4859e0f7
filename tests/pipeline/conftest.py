"""One Spark session for the whole suite, started by the first test that asks for it."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from streamgauge.pipeline.session import session, sizing


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A small local session; `analyse` finds and uses it."""
    with session(sizing(0, processors=2), None, tmp_path_factory.mktemp("spark") / "spark.log") as running:
        yield running
