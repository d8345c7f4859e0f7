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
from collections.abc import Iterator, Mapping
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
    """What Spark puts on the class path of a driver: the folder of its configuration, and its jars."""
    configuration = Path(os.environ.get("SPARK_CONF_DIR") or home / "conf")
    return [*([configuration] if configuration.is_dir() else []), *(home / "jars").glob("*.jar")]


def silence_failed_queries() -> None:
    """Keep PySpark from printing failed queries as JSON beside the error that tells of them."""
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).disabled = True


def launched(
    properties: Mapping[str, str], scratch: Path, log: IO[bytes], *, java: Path | None, local: bool, home: Path | None
) -> SparkJvm:
    """A JVM, just started, that ends with this process: with its standard input and, on Linux, at once.

    What it prints goes to `log`; `java` is the launcher of the Java to take, None for the one that Spark finds. Raises
    OSError where it cannot be started, or where files cannot be written to `scratch`.
    """
    home, begin = home or spark_home(), log.tell()
    # PySpark asks for it, too.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    file, told = scratch / "spark.properties", Path(tempfile.mkdtemp(dir=scratch)) / "gateway"
    file.touch(mode=0o600)
    file.write_text(properties_text(properties), encoding="ascii")
    command = [str(home / "bin" / "spark-submit"), "--properties-file", str(file), "pyspark-shell"]
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
