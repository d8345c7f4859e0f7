"""The bucket index in Spark SQL is the one in numpy, and so are ticks."""

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.latency.buckets import bucket_of
from streamgauge.pipeline.metrics.aggregates.bounds import UNKNOWN
from streamgauge.pipeline.metrics.aggregates.bounds import width_class as classes_of
from streamgauge.pipeline.metrics.aggregates.buckets import (
    bucket,
    exponent,
    microseconds,
    width_class,
    width_exponent,
)
from streamgauge.pipeline.metrics.aggregates.histogram import (
    NOTHING_ADDED,
    By,
    Counts,
    Value,
    histogram,
    packed,
    widths_of,
)
from streamgauge.pipeline.read.silver import tick, ticks

pytestmark = pytest.mark.spark

TOP = (1 << 63) - 1


def edges() -> np.ndarray:
    """Every power of two and its neighbours, with both signs, and values of every size in between."""
    powers = [1 << bits for bits in range(63)]
    near = [power + step for power in powers for step in (-2, -1, 0, 1, 2)]
    rng = np.random.default_rng(3)
    everywhere = (rng.integers(1, 1 << 62, 50_000) >> rng.integers(0, 62, 50_000)).tolist()
    values = [*near, *everywhere, TOP, TOP - 1]
    return np.array([*values, *(-value for value in values), -TOP - 1, 0], np.int64)


def test_spark_and_numpy_give_the_same_bucket(spark: SparkSession) -> None:
    values = edges()
    frame = spark.createDataFrame(pa.table({"value": values}))
    known = frame.selectExpr("value", f"{exponent('value')} as exponent")
    found = known.selectExpr("value", f"{bucket('value', 'exponent')} as bucket").toArrow()
    assert found.column("bucket").to_numpy().tolist() == bucket_of(found.column("value").to_numpy()).tolist()
    assert len(found) == len(values)


def test_spark_and_numpy_give_the_same_class_of_widths(spark: SparkSession) -> None:
    """A negative width is none; what nobody knows has a class of its own."""
    values = edges()
    values = np.unique(
        np.concatenate([values[values < TOP - 1000], values[values < 1 << 50] * 1000, [0, 1, 999, 1000]])
    )
    frame = spark.createDataFrame(pa.table({"width": pa.array([*values.tolist(), None], pa.int64())}))
    in_us = frame.selectExpr("width", f"{microseconds('width')} as us")
    known = in_us.selectExpr("*", f"{width_exponent('us')} as exponent")
    found = known.selectExpr("width", f"{width_class('us', 'exponent')} as class").toArrow()
    known = found.filter(found.column("width").is_valid())
    assert known.column("class").to_pylist() == classes_of(known.column("width").to_numpy()).tolist()
    assert found.filter(found.column("width").is_null()).column("class").to_pylist() == [UNKNOWN]


def test_spark_and_numpy_give_the_same_tick(spark: SparkSession) -> None:
    measure = MeasureSpan(10**15 + 3, 10**15 + 3 + 5 * 10**9 + 1)
    bounds = np.array([measure.from_ns, measure.to_ns, 0, measure.from_ns + 10**9])
    rng = np.random.default_rng(4)
    times = np.concatenate([*(bounds + step for step in (-1, 0, 1)), rng.integers(0, 2 * 10**15, 5_000)])
    frame = spark.createDataFrame(pa.table({"time": times}))
    found = frame.selectExpr("time", f"{tick('time', measure)} as tick", f"{tick('null', measure)} as none").toArrow()
    assert found.column("tick").to_numpy().tolist() == ticks(found.column("time").to_numpy(), measure).tolist()
    assert found.column("none").null_count == len(times)


def test_histograms_are_packed_and_unpacked_without_loss(spark: SparkSession) -> None:
    rng = np.random.default_rng(5)
    at = rng.integers(0, 1 << 22, 2_000)
    values = rng.integers(-5, 1 << 62, 2_000)
    frame = spark.createDataFrame(pa.table({"selected": at, "value": values, "place": at % 7}))
    metrics = {"poll": Value("value", "place"), "ack_response": Value("if(value % 2 = 0, value, null)", "place")}
    counts = Counts.of(histogram(frame, metrics).toArrow())
    for metric, chosen in (("poll", values == values), ("ack_response", values % 2 == 0)):
        key, count = np.unique(packed(metric, By.TICK, at[chosen], bucket_of(values[chosen])), return_counts=True)
        found = counts.metric_by(metric, By.TICK)
        assert packed(metric, By.TICK, found.at, found.bucket).tolist() == key.tolist()
        assert found.count.tolist() == count.tolist()
        parts = dict(counts.metric_by(metric, By.PART).split())
        measured = chosen & (at & 1 == 1)
        assert {part: each.total for part, each in parts.items()} == dict(
            zip(*(part.tolist() for part in np.unique(at[measured] % 7, return_counts=True)), strict=True)
        )


def test_widths_are_those_of_each_message_and_of_exact_values_nothing(spark: SparkSession) -> None:
    """Of messages of the measure phase that are in some part."""
    values = [5, 900, 900, 70_000, 8]
    frame = spark.createDataFrame(
        pa.table({"value": values, "selected": [3, 3, 3, 5, 2], "part": pa.array([1, 1, 2, None, 1], pa.int64())})
    )
    metrics = {
        "schedule_delay": Value("value", "part", width=NOTHING_ADDED),
        "ack_service": Value("value + 1", "part", width="if(value = 5, null, value * 10)"),
    }
    found = widths_of(Counts.of(histogram(frame, metrics).toArrow()), exact={"schedule_delay"})
    exact, told = found["schedule_delay"], found["ack_service"]
    assert exact.bucket.tolist() == bucket_of(np.array([5, 900])).tolist()
    assert (exact.width.tolist(), exact.count.tolist()) == ([0, 0], [1, 2])
    assert told.bucket.tolist() == bucket_of(np.array([901, 6])).tolist()
    assert (told.width.tolist(), told.count.tolist()) == ([int(classes_of(np.array([9000]))[0]), UNKNOWN], [2, 1])
