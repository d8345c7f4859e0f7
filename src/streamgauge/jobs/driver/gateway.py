"""The JVM of a driver: its settings, its start, and the session in it."""

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from streamgauge.domain.query import QuerySpec
from streamgauge.domain.text.address import driver_address, is_this_machine
from streamgauge.jobs.driver.security import REDACTED
from streamgauge.processes.jvm import spark
from streamgauge.processes.jvm.properties import java_value
from streamgauge.processes.jvm.spark import SparkJvm

_DRIVER, _EXECUTORS = "spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"


def settings(spec: QuerySpec, scratch: Path) -> dict[str, str]:
    """All settings of the session by Spark's names; those of the specification go before ours."""
    # Spark splits them as a shell does.
    temporary = f"-Djava.io.tmpdir={scratch}"
    java = {_DRIVER: shlex.join((temporary, f"-Dderby.system.home={scratch}", "-XX:-UsePerfData"))}
    if _has_own_executors(spec):
        # One that a fault kills cannot remove its native libraries.
        java[_EXECUTORS] = shlex.quote(temporary)
    given = {name: java_value(value) for name, value in spec.settings.items()}
    ours = {
        "spark.app.name": spec.name,
        "spark.master": spec.master or f"local[{spec.parallelism}]",
        "spark.jars": ",".join(spec.jars),
        "spark.sql.shuffle.partitions": str(spec.parallelism),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.streaming.stopTimeout": "20s",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        "spark.local.dir": str(scratch),
        "spark.redaction.regex": REDACTED,
        "spark.sql.redaction.options.regex": REDACTED,
        **driver_address(spec.master),
    }
    return {**ours, **given, **{name: f"{options} {given.get(name, '')}".strip() for name, options in java.items()}}


def launched(spec: QuerySpec, scratch: Path, log: IO[bytes]) -> SparkJvm:
    """The JVM, just started; raises WorkerError where it does not start."""
    local, home = is_this_machine(spec.master), _home(spec, scratch)
    jvm = spark.launched(settings(spec, scratch), scratch, log, java=None, local=local, home=home)
    try:
        jvm.address()
    except BaseException:
        jvm.process.kill()
        jvm.process.wait()
        raise
    return jvm


def connected(jvm: SparkJvm, spec: QuerySpec, scratch: Path) -> SparkSession:
    """The session in the JVM that `launched` started."""
    with jvm.announced():
        gateway: Any = cast("Callable[[], Any]", launch_gateway)()
    conf = SparkConf(loadDefaults=False).setAll(list(settings(spec, scratch).items()))
    return SparkSession(SparkContext(gateway=gateway, conf=conf))


def _has_own_executors(spec: QuerySpec) -> bool:
    """Whether it starts a cluster of processes on this machine."""
    return spec.master is not None and spec.master.startswith("local-cluster")


def _home(spec: QuerySpec, scratch: Path) -> Path:
    """Spark's own folder; for a cluster of processes one in the scratch folder, since its executors write there."""
    real = spark.spark_home()
    if not _has_own_executors(spec):
        return real
    home = scratch / "home"
    home.mkdir()
    for path in real.iterdir():
        if path.name != "work":
            (home / path.name).symlink_to(path)
    return home


def remove(scratch: Path) -> None:
    """Remove what was needed meanwhile."""
    shutil.rmtree(scratch, ignore_errors=True)
