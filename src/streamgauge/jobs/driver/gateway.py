"""The JVM of a driver: its settings, its start, and that it ends with its owner.

Settings go through a file that only we can read, since every user of a machine can read command lines.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Final, cast

from pyspark import SparkConf, SparkContext
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from streamgauge.domain import clock
from streamgauge.domain.errors import WorkerError
from streamgauge.domain.query import QuerySpec
from streamgauge.domain.text.address import LOOPBACK, driver_address, is_this_machine
from streamgauge.jobs.driver.security import REDACTED
from streamgauge.processes.environment import locale
from streamgauge.processes.linux import when_orphaned

_START_SECONDS: Final = 60
_POLL_SECONDS: Final = 0.02

Jvm = subprocess.Popen[bytes]


def settings(spec: QuerySpec, scratch: Path) -> dict[str, str]:
    """All settings of the session by Spark's names; those of the specification go before ours."""
    # Spark splits them as a shell does.
    options = shlex.join((f"-Djava.io.tmpdir={scratch}", f"-Dderby.system.home={scratch}", "-XX:-UsePerfData"))
    given = {name: _text(value) for name, value in spec.settings.items()}
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
    java = f"{options} {given.pop('spark.driver.extraJavaOptions', '')}".strip()
    return {**ours, **given, "spark.driver.extraJavaOptions": java}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def properties(given: Mapping[str, str]) -> str:
    """A file of Java's properties."""
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in given.items())


def _escaped(text: str) -> str:
    """A name or a value as a file of properties has it: what could mean something, and what is not ASCII, as code."""
    units = text.encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2)]
    return "".join(chr(code) if chr(code).isalnum() and code < 128 else f"\\u{code:04x}" for code in codes)


def launched(spec: QuerySpec, scratch: Path, log: IO[bytes]) -> Jvm:
    """The JVM, just started, and this process's way to it in the environment; raises WorkerError where it ends."""
    home, begin = _home(spec, scratch), log.tell()
    file, told = scratch / "spark.properties", Path(tempfile.mkdtemp(dir=scratch)) / "gateway"
    file.touch(mode=0o600)
    file.write_text(properties(settings(spec, scratch)), encoding="ascii")
    local = {"SPARK_LOCAL_IP": LOOPBACK} if is_this_machine(spec.master) else {}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    jvm = subprocess.Popen(
        [str(home / "bin" / "spark-submit"), "--properties-file", str(file), "pyspark-shell"],
        env={
            **os.environ,
            **locale(),
            **local,
            "SPARK_HOME": str(home),
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
        },
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        # No thread runs yet that could hold a lock in the child.
        preexec_fn=_leash(),  # noqa: PLW1509
    )
    _await(jvm, told, lambda: _first_words(Path(spec.log), begin))
    data = told.read_bytes()
    length = int.from_bytes(data[4:8])
    os.environ["PYSPARK_GATEWAY_PORT"] = str(int.from_bytes(data[:4]))
    os.environ["PYSPARK_GATEWAY_SECRET"] = data[8 : 8 + length].decode()
    return jvm


def connected(spec: QuerySpec, scratch: Path) -> SparkSession:
    """The session in the JVM that `launched` started."""
    gateway: Any = cast("Callable[[], Any]", launch_gateway)()
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
        os.environ.pop(name)
    conf = SparkConf(loadDefaults=False).setAll(list(settings(spec, scratch).items()))
    return SparkSession(SparkContext(gateway=gateway, conf=conf))


def _first_words(log: Path, begin: int) -> str:
    """What a JVM said first that does not start."""
    with log.open("rb") as file:
        file.seek(begin)
        lines = file.read(10_000).decode(errors="replace").splitlines()
    return next((f": {line}" for line in lines if line and not line.startswith("WARNING")), "")


def _await(jvm: Jvm, told: Path, said: Callable[[], str]) -> None:
    """Wait until the JVM has told how it is reached; it writes the file whole or not at all."""
    deadline_ns = clock.monotonic_ns() + _START_SECONDS * clock.NS_PER_SECOND
    while not told.is_file():
        if jvm.poll() is not None:
            raise WorkerError(f"Spark could not be started: exit code {jvm.returncode}{said()}")
        if clock.monotonic_ns() > deadline_ns:
            raise WorkerError(f"Spark could not be started within {_START_SECONDS} seconds")
        clock.sleep_seconds(_POLL_SECONDS)


def _leash() -> Callable[[], None] | None:
    """What makes the kernel end the JVM with this process; elsewhere it ends when its standard input does."""
    if sys.platform != "linux":
        return None
    owner = os.getpid()

    def bind() -> None:
        when_orphaned(signal.SIGKILL)
        # The owner may have died before the kernel was asked.
        if os.getppid() != owner:
            os._exit(1)

    return bind


def _home(spec: QuerySpec, scratch: Path) -> Path:
    """Spark's own folder; for a cluster of processes one in the scratch folder, since its executors write there."""
    real = Path(_find_spark_home())
    if spec.master is None or not spec.master.startswith("local-cluster"):
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
