"""One Spark session for the whole suite, started by the first test that asks for it; and run folders made by hand."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamgauge.arrow import arrow_schema
from streamgauge.domain.events import EVENTS
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.pipeline.spark.session import SESSIONS
from streamgauge.pipeline.spark.settings import sizing
from streamgauge.record.parts import write_parquet


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A small local session; `analyse` finds and uses it."""
    with SESSIONS.session(sizing(0, processors=2), None, tmp_path_factory.mktemp("spark") / "spark.log") as running:
        yield running


@pytest.fixture(autouse=True)
def _let_go(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test made Spark keep is gone after it: the session outlives hundreds of them."""
    yield
    if "spark" in request.fixturenames:
        request.getfixturevalue("spark").catalog.clearCache()


Columns = Mapping[str, Any]


class RunWriter:
    """Writes run folders: columns by kind of event, facts that differ from those of a plain run."""

    def __init__(self, root: Path) -> None:
        self.folder = RunFolder(root)

    def facts(self, **changes: Any) -> RunFolder:
        """Write run.json."""
        plain: dict[str, Any] = {
            "id": "test", "name": "test", "tag": 1, "created": "2026-01-01T00:00:00Z", "wall_ns": 0, "monotonic_ns": 0,
            "command": [], "scenario": {"load": {"rate": "1k/s"}, "consume": {}}, "versions": {}, "machine": {},
            "broker": {"embedded": True, "bootstrap": "none", "processes": []},
            "topics": [{"id": 0, "name": "test"}], "groups": [{"id": 0, "name": "test"}],
            "ending": "finished",
        }  # fmt: skip
        self.folder.facts.parent.mkdir(parents=True, exist_ok=True)
        self.folder.facts.write_text(RunFacts.model_validate(plain | changes).model_dump_json(), encoding="utf-8")
        return self.folder

    def events(self, kind: str, columns: Columns, worker: str = "w", part: int = 0) -> Path:
        """Write one part; columns that are left out are null."""
        schema = arrow_schema(EVENTS[kind])
        rows = max(len(values) for values in columns.values() if isinstance(values, list | np.ndarray))
        whole = {
            field.name: value if isinstance(value, list | np.ndarray) else [value] * rows
            for field in schema
            for value in [columns.get(field.name)]
        }
        arrays = [pa.array(whole[field.name], field.type, from_pandas=False) for field in schema]
        path = self.folder.worker_events(kind, worker) / f"part-{part}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_parquet(pa.Table.from_arrays(arrays, schema=schema), path)
        return path


@pytest.fixture(scope="session")
def writer() -> type[RunWriter]:
    """Writes run folders where it is told."""
    return RunWriter


@pytest.fixture
def run(tmp_path: Path) -> RunWriter:
    """Writes one run folder."""
    return RunWriter(tmp_path / "run")
