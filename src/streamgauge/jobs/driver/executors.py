"""What carries a query out: what Spark says of its executors, and which processes they are in this machine."""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import psutil
from pyspark.sql import SparkSession

from streamgauge.domain import clock
from streamgauge.domain.query import Looked, QuerySpec
from streamgauge.scenario.model.environment.faults.processes import DRIVER

_BACKEND: Final = "CoarseGrainedExecutorBackend"
_PYTHON: Final = "pyspark."
"""How the modules begin that Spark runs functions in Python with."""
_APP, _ID = "--app-id", "--executor-id"


def looked(spark: SparkSession) -> Iterator[Looked]:
    """What Spark says of every executor that lives; where it runs in one process, that is the driver."""
    listed = _scala(spark).statusStore().executorList(True)
    for place in range(listed.size()):
        each = listed.apply(place)
        numbers = {
            "tasks": int(each.completedTasks()),
            "failed_tasks": int(each.failedTasks()),
            "task_ms": int(each.totalDuration()),
            "gc_ms": int(each.totalGCTime()),
            "memory_bytes": int(each.memoryUsed()),
        }
        yield Looked(clock.monotonic_ns(), str(each.id()), numbers)


def running_tasks(spark: SparkSession) -> int:
    """Tasks that run now."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return sum(stage.numActiveTasks for stage in stages if stage)


def processes(spark: SparkSession, spec: QuerySpec, jvm: int) -> dict[str, int]:
    """Process ids of the driver's JVM, `driver`, and in this machine of executors, `executor-<id>`.

    And of what runs functions in Python for them, `python-<process id>`; jobs that are shipped have none.
    """
    found = {DRIVER: jvm, **dict(_pythons(jvm) if spec.job == "function" else ())}
    master = spec.master
    if master is None or master == "local" or master.startswith("local["):
        return found
    return found | dict(_executors(spark.sparkContext.applicationId or ""))


def _pythons(jvm: int) -> Iterator[tuple[str, int]]:
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(jvm).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if any(word.startswith(_PYTHON) for word in process.cmdline()):
                    yield f"python-{process.pid}", process.pid


def _executors(app: str) -> Iterator[tuple[str, int]]:
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if any(word.endswith(_BACKEND) for word in words) and _after(words, _APP) == app:
            yield f"executor-{_after(words, _ID)}", process.pid


def _after(words: list[str], option: str) -> str | None:
    return words[words.index(option) + 1] if option in words[:-1] else None


def _scala(spark: SparkSession) -> Any:
    """Spark's own context, which PySpark wraps twice."""
    return spark.sparkContext._jsc.sc()
