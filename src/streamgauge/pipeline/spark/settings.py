"""The settings of a session: how it is sized, and what holds for all of them."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from streamgauge.domain.text.address import driver_address

COMPILED: Final = ("-XX:-DontCompileHugeMethods",)
"""Spark writes one method for a whole stage. The JVM would interpret one of more than 8,000 bytes for every message."""
SMALL_ROWS = 8_000_000
"""Up to so many rows the time goes into starting up: a JVM that compiles little and collects simply is ready sooner."""
_CODE_CACHE: Final = "-XX:ReservedCodeCacheSize=240m"
"""As a JVM has that compiles in tiers. With one tier it has 48 MB, which some analyses fill: it then forgets code, and
compiles it again, as long as the session lasts."""
_LOOPS: Final = "-XX:Tier3BackEdgeThreshold=8000"
"""A stage is a loop that is entered once for each task. Of its own choice the JVM interprets 60,000 rows first: all."""
SMALL: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", _CODE_CACHE, _LOOPS, *COMPILED)
DIRECTIVES: Final = Path(__file__).with_name("compiler.json")
"""What the optimizing compiler compiles. Of its own choice it takes a quarter of the CPU, most of it for code that rows
do not pass through."""
LARGE: Final = (
    "-XX:+UseParallelGC", "-XX:+UnlockDiagnosticVMOptions", f"-XX:CompilerDirectivesFile={DIRECTIVES}", *COMPILED,
)  # fmt: skip
ROWS_PER_SHUFFLE_PARTITION = 8_000_000
FEW_ROWS = 500_000
"""Up to so many rows there is one shuffle partition: a second task takes longer to begin than it saves."""

COMMON: Mapping[str, str] = MappingProxyType(
    {
        "spark.app.name": "streamgauge",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # A broadcast takes a page at least; of its own choice that is 8 MiB here, and an audit holds dozens.
        "spark.buffer.pageSize": "1m",
        # Spark remembers the plans of a thousand queries for pages of its own that are not served.
        "spark.sql.ui.retainedExecutions": "1",
        "spark.ui.retainedJobs": "1",
        "spark.ui.retainedStages": "1",
        "spark.ui.retainedTasks": "1",
        "spark.sql.session.timeZone": "UTC",
        # Garbled stamps make differences that overflow: they are rows to be counted, not a reason to stop.
        "spark.sql.ansi.enabled": "false",
        # Plans are few and known; adapting them costs more jobs than it saves.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
        # Small scans keep the hash maps of an aggregation small, and its fast map has room for all of their keys.
        "spark.sql.files.maxPartitionBytes": "8m",
        "spark.sql.files.openCostInBytes": "0",
        # Rows are a hundred times as large as their files: numbers that rise are packed to parts of a byte. Spark would
        # take a log of millions of messages for small, and hold it in memory to join it.
        "spark.sql.sources.fileCompressionFactor": "100",
        "spark.sql.codegen.aggregate.fastHashMap.capacityBit": "20",
        # An analysis has some 140 generated classes. Of its own choice Spark keeps 100, and compiles all of them again
        # for the next run that the same session analyses.
        "spark.sql.codegen.cache.maxEntries": "1000",
        # Of its own choice Spark writes a file for each of few partitions: hundreds in a stage, to be put together.
        "spark.shuffle.sort.bypassMergeThreshold": "1",
        # A damaged page would otherwise be read as other numbers.
        "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
        "spark.sql.autoBroadcastJoinThreshold": "32m",
        # Looking up the Python line of every expression takes longer than small answers.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
)


@dataclass(frozen=True, slots=True)
class Sizing:
    """What depends on how much there is to do."""

    cores: int
    heap: str
    shuffle_partitions: int
    java_options: tuple[str, ...]
    threads: int
    """How many independent jobs run side by side."""

    @property
    def is_small(self) -> bool:
        """Whether it is for a run whose time goes into starting up."""
        return self.java_options == SMALL

    @property
    def of_analysis(self) -> dict[str, str]:
        """Settings of one analysis, which may be others for the next one in the same session."""
        return {
            "spark.sql.shuffle.partitions": str(self.shuffle_partitions),
            # A map of its own for each aggregation is found faster, but takes longer to generate than few rows need.
            "spark.sql.codegen.aggregate.map.twolevel.enabled": str(self.shuffle_partitions > 1).lower(),
        }


def sizing(rows: int, processors: int) -> Sizing:
    """How to size the session for so many rows of events; 0 where nobody knows how many."""
    cores = max(2, processors)
    if rows <= SMALL_ROWS:
        return Sizing(cores, "1g", 1 if 0 < rows <= FEW_ROWS else 2, SMALL, 2)
    partitions = max(cores, -(-rows // ROWS_PER_SHUFFLE_PARTITION))
    return Sizing(cores, "2g", partitions, LARGE, 2)


def java_options(size: Sizing, scratch: Path) -> tuple[str, ...]:
    """The options of its JVM, without its heap."""
    return (*size.java_options, f"-Djava.io.tmpdir={scratch}", "-XX:-UsePerfData", f"-Dderby.system.home={scratch}")


def settings(size: Sizing, master: str | None, scratch: Path) -> dict[str, str]:
    """All settings of the session by Spark's names."""
    return {
        **COMMON,
        **driver_address(master),
        "spark.master": master or f"local[{size.cores}]",
        "spark.driver.memory": size.heap,
        # Spark splits it as a shell does.
        "spark.driver.extraJavaOptions": shlex.join(java_options(size, scratch)),
        "spark.executor.extraJavaOptions": shlex.join(COMPILED),
        **size.of_analysis,
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.log.level": "WARN",
    }
