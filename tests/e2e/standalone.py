"""A standalone cluster of Spark on loopback: a master and one worker, each a process of its own."""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home
from tests.waiting import until

from streamgauge.domain.text.address import LOOPBACK
from streamgauge.processes.jvm.java import Java

PLACE = ("--host", LOOPBACK, "--port", "0", "--webui-port", "0")
"""What both are told of where they listen."""
ADDRESS = re.compile(rf"Starting Spark master at (spark://{LOOPBACK}:\d+)")
REGISTERED = "Successfully registered with master"
START_SECONDS = 60


@contextmanager
def standalone(folder: Path, java: Java) -> Iterator[str]:
    """The address of the master; the worker has two cores and 2 GiB. Nothing of them is left at the end."""
    with ExitStack() as stack:
        master = stack.enter_context(_daemon("Master", PLACE, folder, java))
        until(lambda: ADDRESS.search(master.read_text()), START_SECONDS)
        found = ADDRESS.search(master.read_text())
        assert found
        words = (*PLACE, "--cores", "2", "--memory", "2g", "--work-dir", str(folder / "work"), found[1])
        worker = stack.enter_context(_daemon("Worker", words, folder, java))
        until(lambda: REGISTERED in worker.read_text(), START_SECONDS)
        yield found[1]


@contextmanager
def _daemon(kind: str, words: Sequence[str], folder: Path, java: Java) -> Iterator[Path]:
    """The log of a process that runs meanwhile."""
    home, log = Path(_find_spark_home()), folder / f"{kind}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [home / "bin" / "spark-class", f"org.apache.spark.deploy.{kind.lower()}.{kind}", *words],
            env={
                **os.environ,
                "SPARK_HOME": str(home),
                "SPARK_LOCAL_IP": LOOPBACK,
                "JAVA_HOME": str(java.path.resolve().parents[1]),
            },
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    try:
        yield log
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
