"""What all tests share: one embedded broker, Java where it is needed, and a place for state that is not the user's."""

import gc
import os
import secrets
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from socketserver import BaseServer
from typing import Any

import pytest
from hypothesis import settings
from tests.fast import is_fast
from tests.waiting import until

from streamgauge.cluster.embedded import EmbeddedCluster, start_cluster
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.domain.errors import BadInput
from streamgauge.domain.query import QuerySpec
from streamgauge.engine.worker.context import CountedCollections
from streamgauge.kafka.admin import Cluster
from streamgauge.processes.jvm.java import Java, find_java

# Shared machines pause for longer than any deadline that would tell something.
settings.register_profile("few", deadline=None, max_examples=20)
settings.register_profile("steady", deadline=None, max_examples=50)
settings.register_profile("many", deadline=None, max_examples=500)
settings.load_profile("steady")

pytest_plugins = ["tests.foreign.trogdor.its_own"]
NEED_JAVA = ("kafka", "spark")
LONGEST_FIRST = (
    "e2e/test_scenarios.py", "torture/test_torture.py", "pipeline/test_run.py", "e2e/test_documents.py",
    "e2e/test_pipeline.py",
    "jobs/test_query.py", "pipeline/test_outstanding.py", "pipeline/test_ledger.py", "pipeline/test_audit.py",
    "e2e/test_program.py", "e2e/test_python_api.py", "e2e/test_experiment.py", "e2e/test_conduct.py",
)  # fmt: skip
"""Files that take minutes, in this order."""
TIMING = Path(__file__).parent / "e2e"
"""Where tests of timing are: `make test` looks for them nowhere else, since to collect all tests takes longer."""

# Tests start hundreds of processes. Where the environment forbids bytecode beside the sources, each of them would
# compile all that it imports, which takes longer than most of what it then does; so it is kept elsewhere.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": sys.pycache_prefix}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest begin first: where processes share the tests, nobody waits for one of them alone at the end."""
    places = {str(Path(__file__).parent / name): place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(str(item.path), len(places)))
    for item in items:
        if not is_fast(item.path):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("timing") and not item.path.is_relative_to(TIMING):
            raise pytest.UsageError(
                f"{item.nodeid}: tests of timing belong below {TIMING}, where `make test` runs them"
            )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without Java, skip what needs it; fail under CI, where a skipped test would pass for a proof."""
    if any(item.get_closest_marker(name) for name in NEED_JAVA):
        try:
            find_java(os.environ)
        except BadInput as error:
            if os.environ.get("CI"):
                pytest.fail(str(error), pytrace=False)
            pytest.skip(str(error))


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user's brokers are neither seen nor swept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _quick_to_stop() -> Iterator[None]:
    """Servers look every 10 ms whether they shall stop, where Python's look every half second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseServer.serve_forever, "__defaults__", (0.01,))
        yield


@pytest.fixture(autouse=True)
def _garbage_is_collected() -> Iterator[None]:
    """A worker that a test ran in this process disables its collector: Spark would hold what later analyses leave."""
    yield
    if not gc.isenabled():
        gc.callbacks[:] = [each for each in gc.callbacks if not isinstance(each, CountedCollections)]
        gc.unfreeze()
        gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _nobody_goes_on_asking() -> Iterator[None]:
    """Clients of kafka-python are closed: each has a thread, which would ask brokers that are gone without end."""

    def asking() -> set[threading.Thread]:
        return {each for each in threading.enumerate() if each.name.startswith("kafka-io")}

    before = asking()
    yield
    until(lambda: asking() <= before, seconds=10)


@pytest.fixture(scope="session")
def java() -> Java:
    """The Java of this machine."""
    return find_java(os.environ)


@pytest.fixture(scope="session")
def quick_spark(java: Java) -> dict[str, str]:
    """Settings of JVMs of Spark that are ready soon: they compile little; a driver maps an archive of its classes."""
    from streamgauge.pipeline.spark.session import archive_of_analysis
    from streamgauge.pipeline.spark.settings import SMALL

    archive = archive_of_analysis(java)
    return {
        "spark.driver.extraJavaOptions": shlex.join([*SMALL, *(archive.using if archive else [])]),
        "spark.executor.extraJavaOptions": shlex.join(SMALL),
    }


@pytest.fixture(scope="session")
def embedded(java: Java, tmp_path_factory: pytest.TempPathFactory, _own_state: None) -> Iterator[EmbeddedCluster]:
    """A real cluster of one broker for the whole session; give topics and groups names of your own."""
    plan = ClusterPlan(heap="512m")
    with start_cluster(plan, names=["suite"], logs=tmp_path_factory.mktemp("broker"), java=java) as running:
        yield running


@pytest.fixture(scope="session")
def broker(embedded: EmbeddedCluster) -> EmbeddedBroker:
    """Its broker."""
    return embedded.nodes[0]


@pytest.fixture
def fresh_topic(broker: EmbeddedBroker) -> Iterator[Callable[[int], str]]:
    """Makes topics with names of their own, by number of partitions; they are gone after the test."""
    cluster, names = Cluster(broker.bootstrap, {}), []

    def make(partitions: int) -> str:
        names.append(f"test-{secrets.token_hex(6)}")
        cluster.create_topic(names[-1], partitions, 1, {})
        return names[-1]

    yield make
    for name in names:
        cluster.delete_topic(name)


@pytest.fixture
def make_spec(tmp_path: Path) -> Callable[..., QuerySpec]:
    """Makes specifications of queries that differ from a plain `pass`; files lie in the folder of the test."""

    def make(**changes: Any) -> QuerySpec:
        plain: dict[str, Any] = {
            "name": "test", "job": "pass", "options": {}, "does": "same", "engine": "micro-batch", "interval_ns": None,
            "source": "source", "partitions": 2, "starts": (0, 0), "sink": "sink", "table": None,
            "checkpoint": str(tmp_path / "checkpoint"), "connection": {"bootstrap.servers": "127.0.0.1:1"},
            "in_headers": False, "read_committed": False, "master": None, "parallelism": 2, "max_offsets": None,
            "settings": {}, "jars": (), "log": str(tmp_path / "query.log"), "raw": str(tmp_path / "progress.jsonl"),
            "folder": str(tmp_path),
        }  # fmt: skip
        return QuerySpec(**{**plain, **changes})

    return make
