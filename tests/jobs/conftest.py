"""One Spark session for all tests of jobs, and messages made by hand."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from streamgauge.domain import stamp
from streamgauge.jobs.schema import given
from streamgauge.pipeline.spark.session import SESSIONS
from streamgauge.pipeline.spark.settings import sizing

KAFKA = (
    "key binary, value binary, headers array<struct<key:string,value:binary>>, topic string, partition int, "
    "offset bigint, timestamp timestamp"
)


def head(
    seq: int, *, due_ns: int = 0, sent_ns: int = 0, producer: int = 0, scheduled: bool = True, tag: int = 7
) -> bytes:
    """One stamp."""
    flags = 0 if scheduled else stamp.NO_SCHEDULE
    return stamp.ONE.pack(stamp.MAGIC, stamp.VERSION, flags, tag, producer, 0, seq, due_ns, sent_ns)


class Row(NamedTuple):
    """One message in the source."""

    key: bytes | None
    body: bytes | None
    at_ms: int = 0
    head: bytes | None = None
    partition: int = 0

    def columns(self, offset: int, *, in_headers: bool) -> tuple[Any, ...]:
        """What Spark's Kafka source gives."""
        at = datetime.fromtimestamp(self.at_ms / 1000, tz=UTC)
        ours = [(stamp.HEADER_KEY, self.head)] if self.head else []
        headers = [("other", b"x"), *ours] if in_headers else None
        value = self.body if in_headers or self.head is None else self.head + (self.body or b"")
        return (self.key, value, headers, "source", self.partition, offset, at)


Frame = Callable[..., DataFrame]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with the settings that Spark has by default, where tests of the pipeline have others."""
    with SESSIONS.session(sizing(0, processors=2), None, tmp_path_factory.mktemp("spark") / "spark.log") as running:
        own = running.newSession()
        own.conf.set("spark.sql.ansi.enabled", "true")
        own.conf.set("spark.sql.adaptive.enabled", "false")
        own.conf.set("spark.sql.session.timeZone", "UTC")
        own.conf.set("spark.sql.shuffle.partitions", "2")
        yield own


@pytest.fixture(scope="session")
def frame(spark: SparkSession) -> Frame:
    """Makes what a job is given, of rows, that do not stream."""

    def make(rows: Sequence[Row], *, in_headers: bool = False) -> DataFrame:
        return given(source_frame(spark, rows, in_headers=in_headers), in_headers=in_headers)

    return make


def source_frame(spark: SparkSession, rows: Sequence[Row], *, in_headers: bool = False) -> DataFrame:
    """What Spark's Kafka source gives, of rows."""
    columns = [row.columns(offset, in_headers=in_headers) for offset, row in enumerate(rows)]
    return spark.createDataFrame(columns, KAFKA)


class Streamed(NamedTuple):
    """Runs jobs on streams that are read from files: a batch for each list of rows."""

    spark: SparkSession
    folder: Path

    def collect(
        self,
        batches: Sequence[Sequence[Row]],
        job: Callable[[DataFrame], DataFrame],
        mode: str,
        *,
        in_headers: bool = False,
    ) -> list[Any]:
        """All that the job gives."""
        name = f"made_{secrets.token_hex(4)}"
        written = self.folder / name
        for number, rows in enumerate(batches):
            source_frame(self.spark, rows, in_headers=in_headers).coalesce(1).write.parquet(str(written / str(number)))
        # Files are read in the order of their names, one in a batch.
        (written / "in").mkdir()
        for number in range(len(batches)):
            part = next((written / str(number)).glob("*.parquet"))
            part.rename(written / "in" / f"{number:04}.parquet")
        reader = self.spark.readStream.schema(KAFKA).option("maxFilesPerTrigger", 1)
        made = job(given(reader.parquet(str(written / "in")), in_headers=in_headers))
        query = (
            made.writeStream.format("memory")
            .queryName(name)
            .outputMode(mode)
            .option("checkpointLocation", str(written / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(60)
        rows_of_it = self.spark.table(name).collect()
        self.spark.catalog.dropTempView(name)
        return rows_of_it


@pytest.fixture
def streamed(spark: SparkSession, tmp_path: Path) -> Streamed:
    """Runs jobs on streams."""
    return Streamed(spark, tmp_path)
