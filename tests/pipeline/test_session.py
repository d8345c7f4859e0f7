"""How a session is sized, where it leaves its files, and what it keeps in its small heap."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import broadcast
from tests.waiting import until

from streamgauge.pipeline.session import SMALL_ROWS, settings, sizing

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
