"""The JVM of a Spark driver: its properties, its start, and the way to it. Knows nothing of PySpark but where it is.

Properties go through a file that only we can read, since every user of a machine can read command lines.
"""

import importlib.util
import logging
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from streamgauge.domain import clock
from streamgauge.domain.errors import WorkerError
from streamgauge.domain.text.address import LOOPBACK
from streamgauge.processes.jvm.environment import locale
from streamgauge.processes.jvm.leash import leashed
from streamgauge.processes.jvm.properties import properties_text

_START_SECONDS: Final = 60
_POLL_SECONDS: Final = 0.02
_WARNING: Final = re.compile(r"WARNING|\[ *([\d.,]+s)?\]")
"""Begins what a JVM says that starts all the same, as of an archive of classes that it cannot use."""
_GATEWAY: Final = "org.apache.spark.api.python.PythonGatewayServer"
_OPENED: Final = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs",
    "sun.security.action", "sun.util.calendar",
)  # fmt: skip
OPTIONS: Final = (
    # A later Java knows more of them.
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
)
"""What Spark's launcher tells a JVM, without the vector module: no analysis uses it, and Java starts slower with it."""
_UNUSED: Final = "spark-mllib_"
"""Spark asks this jar for extensions of every session, for which it loads Scala's reflection: half a second."""
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"


@dataclass(frozen=True, slots=True)
class SparkJvm:
    """A JVM that runs Spark's gateway, or will soon."""

    process: "subprocess.Popen[bytes]"
    log: Path
    """What it prints."""
    _begin: int
    """Where in the log it begins."""
    _told: Path
    """The file in which it tells how it is reached; it is written whole or not at all."""

    def address(self) -> dict[str, str]:
        """Variables by which PySpark finds it, instead of starting one of its own; waits until it is there.

        Raises WorkerError with its first words where it does not start.
        """
        deadline_ns = clock.monotonic_ns() + _START_SECONDS * clock.NS_PER_SECOND
        while not self._told.is_file():
            if self.process.poll() is not None:
                raise WorkerError(f"Spark could not be started: {_how(self.process.returncode)}{self._first_words()}")
            if clock.monotonic_ns() > deadline_ns:
                raise WorkerError(f"Spark could not be started within {_START_SECONDS} seconds")
            clock.sleep_seconds(_POLL_SECONDS)
        data = self._told.read_bytes()
        length = int.from_bytes(data[4:8])
        return {_PORT: str(int.from_bytes(data[:4])), _SECRET: data[8 : 8 + length].decode()}

    @contextmanager
    def announced(self) -> Iterator[None]:
        """PySpark finds it within the block, instead of starting one of its own; waits until it is there.

        Raises WorkerError with its first words where it does not start.
        """
        address = self.address()
        os.environ.update(address)
        try:
            yield
        finally:
            for name in address:
                os.environ.pop(name)

    def _first_words(self) -> str:
        with self.log.open("rb") as file:
            file.seek(self._begin)
            lines = file.read(10_000).decode(errors="replace").splitlines()
        return next((f": {line}" for line in lines if line and not _WARNING.match(line)), "")


def spark_home() -> Path:
    """The folder of Spark: that of SPARK_HOME, or PySpark's own. Raises WorkerError where there is neither."""
    if given := os.environ.get("SPARK_HOME"):
        return Path(given)
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise WorkerError("PySpark is not installed")
    return Path(found.submodule_search_locations[0])


def class_path(home: Path) -> list[Path]:
    """The class path of an analysis: the folder of Spark's configuration, and its jars, but for that of MLlib."""
    configuration = Path(os.environ.get("SPARK_CONF_DIR") or home / "conf")
    jars = sorted(jar for jar in (home / "jars").glob("*.jar") if not jar.name.startswith(_UNUSED))
    return [*([configuration] if configuration.is_dir() else []), *jars]


def silence_failed_queries() -> None:
    """Keep PySpark from printing failed queries as JSON beside the error that tells of them."""
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).disabled = True


def served(java: Path, options: Sequence[str], scratch: Path, log: IO[bytes]) -> SparkJvm:
    """A JVM of this machine, just started, that waits for a session to be made in it; as `launched` otherwise.

    It is Spark's gateway alone. What spark-submit does before is of no use to an analysis, and takes a fifth of a
    second: another JVM that writes the command of this one, and packages of users.
    """
    home = spark_home()
    command = [str(java), "-cp", os.pathsep.join(map(str, class_path(home))), *OPTIONS, *options, _GATEWAY]
    return _started(command, scratch, log, java=java, local=True, home=home)


def launched(
    properties: Mapping[str, str], scratch: Path, log: IO[bytes], *, java: Path | None, local: bool, home: Path | None
) -> SparkJvm:
    """A JVM, just started by spark-submit, that ends with this process: with its standard input and, on Linux, at once.

    What it prints goes to `log`; `java` is the launcher of the Java to take, None for the one that Spark finds. Raises
    OSError where it cannot be started, or where files cannot be written to `scratch`.
    """
    home, file = home or spark_home(), scratch / "spark.properties"
    file.touch(mode=0o600)
    file.write_text(properties_text(properties), encoding="ascii")
    command = [str(home / "bin" / "spark-submit"), "--properties-file", str(file), "pyspark-shell"]
    return _started(command, scratch, log, java=java, local=local, home=home)


def _started(
    command: list[str], scratch: Path, log: IO[bytes], *, java: Path | None, local: bool, home: Path
) -> SparkJvm:
    begin, told = log.tell(), Path(tempfile.mkdtemp(dir=scratch)) / "gateway"
    # PySpark asks for it, too.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    process = subprocess.Popen(
        # The kernel takes the end of a thread for that of its process; the main one lasts.
        leashed(command) if threading.current_thread() is threading.main_thread() else command,
        env={
            **os.environ,
            **locale(),
            **({"SPARK_LOCAL_IP": LOOPBACK} if local else {}),
            **({"JAVA_HOME": str(java.parents[1])} if java else {}),
            "SPARK_HOME": str(home),
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
        },
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        # Ctrl-C on the terminal is not for it to hear.
        start_new_session=True,
    )
    return SparkJvm(process, Path(log.name), begin, told)


def _how(code: int) -> str:
    return f"its JVM was killed by signal {-code}" if code < 0 else f"exit code {code}"
