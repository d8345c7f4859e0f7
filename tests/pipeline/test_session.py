"""How a session is sized, where it leaves its files, and what it keeps in its small heap."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import broadcast
from tests.waiting import until

from streamgauge.pipeline.session import SMALL_ROWS, settings, sizing
from streamgauge.processes.scratch import ANALYSIS

MIB = 1 << 20


def test_small_runs_start_quickly_and_large_ones_stay_within_their_memory() -> None:
    small, large = sizing(SMALL_ROWS, 2), sizing(80_000_000, 2)
    assert "-XX:TieredStopAtLevel=1" in small.java_options
    assert "-XX:TieredStopAtLevel=1" not in large.java_options
    assert (large.heap, large.shuffle_partitions, sizing(0, 1).cores) == ("2g", 10, 2)


def test_a_local_session_leaves_its_files_in_its_scratch_folder(tmp_path: Path) -> None:
    said = settings(sizing(0, 2), None, tmp_path)
    assert said["spark.master"] == "local[2]"
    assert settings(sizing(0, 2), "spark://there:7077", tmp_path)["spark.master"] == "spark://there:7077"
    for name in ("spark.local.dir", "spark.sql.warehouse.dir"):
        assert Path(said[name]).is_relative_to(tmp_path)


def nodes(plan: Any) -> list[Any]:
    """A physical plan and all below it."""
    below = plan.children()
    return [plan, *(node for place in range(below.size()) for node in nodes(below.apply(place)))]


@pytest.mark.spark
def test_a_broadcast_of_a_few_rows_takes_little_memory(spark: SparkSession) -> None:
    # A page of its own choice has 8 MiB in such a heap, and the audit of a pipeline holds dozens of broadcasts.
    few = spark.createDataFrame([("a", 1), ("b", 2)], "key string, number int")
    joined = few.join(broadcast(few.withColumnRenamed("number", "other")), "key")
    assert len(joined.collect()) == 2
    plan = joined._jdf.queryExecution().executedPlan()
    sizes = [node.metrics().apply("dataSize").value() for node in nodes(plan) if node.nodeName() == "BroadcastExchange"]
    assert [size for size in sizes if size <= MIB + MIB // 8] == sizes != []


@pytest.mark.spark
def test_queries_that_have_ended_are_forgotten(spark: SparkSession) -> None:
    for _ in range(5):
        assert spark.range(3).count() == 3
    context = spark._jsc.sc()
    queries = spark._jsparkSession.sharedState().statusStore()
    # Spark forgets in a thread of its own.
    until(lambda: context.statusStore().jobsList(None).size() <= 1 >= queries.executionsCount())


KILLED = """
import sys
from pathlib import Path
from streamgauge.domain.errors import AnalysisError
from streamgauge.pipeline.session import session, sizing
log = Path(sys.argv[1])
try:
    with session(sizing(0, 2), None, log) as spark:
        print(spark.range(3).count(), spark._jvm.System.getProperty("java.io.tmpdir"), flush=True)
        jvm = spark.sparkContext._gateway.proc
        jvm.kill()
        spark.range(3).count()
except AnalysisError as error:
    print(error, jvm.returncode, flush=True)
with session(sizing(0, 2), None, log) as spark:
    print(spark.range(4).count(), flush=True)
"""


@pytest.mark.spark
def test_a_jvm_that_is_killed_is_told_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """No traceback; the next analysis of the same process starts one anew. Temporary folders may have any name."""
    place, log = tmp_path / """a b"c'd\\e""", tmp_path / "spark.log"
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(log)], env={**os.environ, "TMPDIR": str(place)}, capture_output=True,
        text=True, check=True, timeout=120,
    )  # fmt: skip
    began, ended, again = done.stdout.splitlines()
    assert began.startswith(f"3 {place}/{ANALYSIS}")
    assert ended == (
        "Spark ended while it analysed: it was killed, which the system also does when memory runs out; "
        f"its log is {log} -9"
    )
    assert (again, done.stderr, list(place.iterdir())) == ("4", "", [])
