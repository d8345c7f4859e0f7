"""How a session is sized, where it leaves its files, and what it keeps in its small heap."""

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import psutil
import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.functions import broadcast
from tests.pipeline.conftest import RunWriter
from tests.waiting import until

from streamgauge.domain.errors import AnalysisError
from streamgauge.pipeline.read.parts import read_parquet
from streamgauge.pipeline.run import analyse
from streamgauge.pipeline.spark.session import SESSIONS, Sessions, WornOutError, _stopped
from streamgauge.pipeline.spark.settings import DIRECTIVES, FEW_ROWS, SMALL_ROWS, Sizing, settings, sizing
from streamgauge.processes.jvm.spark import class_path, spark_home
from streamgauge.processes.scratch import ANALYSIS
from streamgauge.record.parts import write_parquet

MIB = 1 << 20


def test_small_runs_start_quickly_and_large_ones_stay_within_their_memory() -> None:
    small, large = sizing(SMALL_ROWS, 2), sizing(80_000_000, 2)
    assert {"-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m"} <= set(small.java_options)
    assert "-XX:TieredStopAtLevel=1" not in large.java_options
    assert (large.heap, large.shuffle_partitions, sizing(0, 1).cores) == ("2g", 10, 2)


def test_what_a_large_analysis_compiles_is_named_as_spark_names_it() -> None:
    """A class that another version of Spark calls otherwise would be left out, or compiled, without a word."""
    # Java's own are in no jar, and a stage is compiled to a class that is not there before.
    elsewhere = ("java/", "jdk/", "sun/", "org/apache/spark/sql/catalyst/expressions/GeneratedClass")
    shipped = set[str]()
    for jar in class_path(spark_home()):
        if jar.suffix == ".jar":
            with zipfile.ZipFile(jar) as classes:
                shipped.update(classes.namelist())
    patterns = re.findall(r'"([^"]+)\*\.\*"', DIRECTIVES.read_text(encoding="utf-8"))
    named = [each for each in patterns if not each.startswith(elsewhere)]

    assert len(named) > 35
    assert [each for each in named if not any(name.startswith(each) for name in shipped)] == []


@pytest.mark.parametrize(
    ("rows", "partitions"), [(0, 2), (1, 1), (FEW_ROWS, 1), (FEW_ROWS + 1, 2), (SMALL_ROWS, 2), (80_000_000, 10)]
)
def test_few_rows_are_shuffled_to_one_task(rows: int, partitions: int) -> None:
    """Where nobody knows how many there are, they may be many."""
    assert sizing(rows, 2).shuffle_partitions == partitions
    assert sizing(rows, 2).of_analysis == {
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.codegen.aggregate.map.twolevel.enabled": "false" if partitions == 1 else "true",
    }


def test_a_local_session_leaves_its_files_in_its_scratch_folder(tmp_path: Path) -> None:
    said = settings(sizing(0, 2), None, tmp_path)
    assert said["spark.master"] == "local[2]"
    assert settings(sizing(0, 2), "spark://there:7077", tmp_path)["spark.master"] == "spark://there:7077"
    for name in ("spark.local.dir", "spark.sql.warehouse.dir"):
        assert Path(said[name]).is_relative_to(tmp_path)


def test_java_is_given_a_folder_whatever_it_is_called() -> None:
    scratch = Path('/tmp/it\'s a "b" \\ $HOME')
    options = shlex.split(settings(sizing(0, 2), None, scratch)["spark.driver.extraJavaOptions"])
    assert options[-3:] == [f"-Djava.io.tmpdir={scratch}", "-XX:-UsePerfData", f"-Dderby.system.home={scratch}"]


@pytest.mark.parametrize(
    ("folder", "said"),
    [("a,b", "Spark does not support commas"), ("gone", "cannot be written there: No such file")],
)
def test_a_temporary_folder_that_cannot_be_used_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, said: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / folder))
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    with (
        pytest.raises(AnalysisError, match=said) as told,
        Sessions().session(sizing(0, 2), None, tmp_path / "spark.log"),
    ):
        pass
    assert "TMPDIR" in str(told.value)


def test_a_temporary_folder_without_room_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(Path, "write_bytes", full)
    with (
        pytest.raises(AnalysisError, match=r"cannot be written there: No space left on device; make room, or"),
        Sessions().session(sizing(0, 2), None, tmp_path / "spark.log"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_is_left_by_a_start_that_is_cut_off_lies_in_the_scratch_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(_: object, __: object, scratch: Path, *___: object) -> None:
        (scratch / "spark.properties").touch()
        raise OSError("cut off")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr("streamgauge.pipeline.spark.session.served", cut_off)
    with (
        pytest.raises(AnalysisError, match="Spark could not be started: cut off"),
        Sessions().session(sizing(0, 2), None, tmp_path / "logs" / "spark.log"),
    ):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["logs"]
    assert tempfile.gettempdir() == str(tmp_path)


ANALYSE = """
import json, os, sys, tempfile
from pathlib import Path
from streamgauge.pipeline.spark.session import SESSIONS
from streamgauge.pipeline.spark.settings import sizing
with SESSIONS.session(sizing(0, 2), None, Path(sys.argv[1])) as spark:
    java = spark._jvm.java
    found = {
        "pid": java.lang.ProcessHandle.current().pid(),
        "scratch": java.lang.System.getProperty("java.io.tmpdir"),
        "is_there": java.io.File(sys.argv[2]).exists(),
        "locale": os.environ.get("LC_ALL"),
        "place": tempfile.gettempdir(),
    }
    print(json.dumps(found), flush=True)
    if len(sys.argv) > 3:
        spark.range(10**15).selectExpr("sum(id % 7)").collect()
"""


@pytest.mark.spark
def test_an_analysis_that_is_killed_leaves_no_process_and_its_folder_goes_with_the_next(tmp_path: Path) -> None:
    """In a temporary folder with a name of many characters, in the locale of a machine without one."""
    place = tmp_path / 'it\'s "a" \\ $HOME [1]{b}*? # %20 \u00fc\u20ac'
    place.mkdir()
    environment = {**os.environ, "TMPDIR": str(place), "LC_ALL": "C"}
    command = [sys.executable, "-c", ANALYSE, str(tmp_path / "spark.log"), str(place)]
    with subprocess.Popen([*command, "busy"], env=environment, stdout=subprocess.PIPE) as analysis:
        assert analysis.stdout
        try:
            killed = json.loads(analysis.stdout.readline())
            jvm = psutil.Process(killed["pid"])
        finally:
            analysis.kill()
    try:
        jvm.wait(20)
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            jvm.kill()
    assert Path(killed["scratch"]).parent == place
    assert (killed["is_there"], killed["locale"], killed["place"]) == (True, "C", str(place))
    assert [each.name for each in place.iterdir()] == [Path(killed["scratch"]).name]

    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    assert json.loads(done.stdout)["scratch"] != killed["scratch"]
    assert list(place.iterdir()) == []


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
def test_files_of_a_log_are_known_to_hold_more_than_their_size(spark: SparkSession, tmp_path: Path) -> None:
    """Else Spark would hold the log of a large run in memory, to look for a few messages in it."""
    rows, rng = 4_000_000, np.random.default_rng(1)
    partition, producer = rng.integers(0, 12, rows // 50).repeat(50), rng.integers(0, 2, rows)
    offset, seq = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    for column, of, count in ((offset, partition, 12), (seq, producer, 2)):
        for number in range(count):
            column[of == number] = np.arange((of == number).sum())
    path, place = tmp_path / "part-0.parquet", {"partition": partition, "offset": offset}
    write_parquet(pa.table({**place, "producer": producer, "seq": seq}), path)

    few = spark.createDataFrame(pa.table({"partition": [1], "offset": [3]}))
    joined = few.join(read_parquet(spark, None, [path]), [*place], "leftsemi")

    assert path.stat().st_size < 8 << 20
    assert "Broadcast" not in joined._jdf.queryExecution().executedPlan().toString()


@pytest.mark.spark
def test_queries_that_have_ended_are_forgotten(spark: SparkSession) -> None:
    for _ in range(5):
        assert spark.range(3).count() == 3
    context = spark._jsc.sc()
    queries = spark._jsparkSession.sharedState().statusStore()
    # Spark forgets in a thread of its own.
    until(lambda: context.statusStore().jobsList(None).size() <= 1 >= queries.executionsCount())


@pytest.mark.spark
def test_who_gives_up_making_an_archive_ends_no_other_jvm(spark: SparkSession) -> None:
    SESSIONS.kill_making()
    assert spark.range(3).count() == 3


PRELUDE = """
import sys, threading
from pathlib import Path
from streamgauge.domain.errors import AnalysisError
from streamgauge.pipeline.spark.session import SESSIONS
from streamgauge.pipeline.spark.settings import sizing
log = Path(sys.argv[1])
def await_threads():
    for thread in threading.enumerate():
        if thread.daemon:
            thread.join()
"""

KILLED = """
try:
    with SESSIONS.session(sizing(0, 2), None, log) as spark:
        print(spark.range(3).count(), spark._jvm.System.getProperty("java.io.tmpdir"), flush=True)
        jvm = SESSIONS._kept.jvm.process
        jvm.kill()
        spark.range(3).count()
except AnalysisError as error:
    print(error, jvm.returncode, flush=True)
with SESSIONS.session(sizing(0, 2), None, log) as spark:
    print(spark.range(4).count(), flush=True)
"""


def in_a_process(code: str, log: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Code that has sessions whose JVMs write to `log`, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + code, str(log)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


PREPARED = """
SESSIONS.prepare(sizing(0, 2), None, log)
await_threads()
made = SESSIONS._kept.spark
from pyspark.sql import SparkSession
print(made is not None, SparkSession.getActiveSession(), flush=True)
with SESSIONS.session(sizing(0, 2), None, log) as spark:
    print(spark is made, spark.range(3).count(), flush=True)
few = sizing(1, 2).of_analysis
with SESSIONS.session(sizing(1, 2), None, log) as spark:
    print(spark is made, {name: spark.conf.get(name) for name in few} == few != sizing(0, 2).of_analysis, flush=True)
"""


@pytest.mark.spark
def test_a_session_is_made_while_others_go_on(tmp_path: Path) -> None:
    """Who asks for it gets the one that was made, with settings of his own; a user who asks PySpark does not."""
    done = in_a_process(PREPARED, tmp_path / "spark.log")
    assert done.stdout.splitlines() == ["True None", "True 3", "True True"]
    assert done.stderr == ""


CLOSED = """
SESSIONS.prepare(sizing(0, 2), None, log)
jvm = SESSIONS._kept.jvm.process
END
await_threads()
print(jvm.wait() != 0, flush=True)
with SESSIONS.session(sizing(0, 2), None, log) as spark:
    print(spark.range(3).count(), flush=True)
"""


@pytest.mark.spark
@pytest.mark.parametrize(("end", "fails"), [("SESSIONS.close()", "False"), ("jvm.kill()", "True")])
def test_a_session_that_is_still_made_can_end(tmp_path: Path, end: str, fails: str) -> None:
    """It is closed at once, and the thread that makes it says nothing of a JVM that dies."""
    done = in_a_process(CLOSED.replace("END", end), tmp_path / "spark.log")
    assert done.stdout.splitlines() == [fails, "3"]
    assert done.stderr == ""


@pytest.mark.spark
def test_a_session_whose_jvm_is_about_to_end_is_told_and_replaced(tmp_path: Path) -> None:
    """Its context is stopped while its process still lives."""
    code = KILLED.replace("jvm.kill()", "spark.sparkContext._jsc.stop()")
    done = in_a_process(code, tmp_path / "spark.log")

    _, ended, again = done.stdout.splitlines()
    assert ended.startswith("Spark ended while it analysed: its context was stopped; its log is")
    assert (again, done.stderr) == ("4", "")


@pytest.mark.spark
def test_a_jvm_that_is_killed_is_told_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """No traceback; the next analysis of the same process starts one anew. Temporary folders may have any name."""
    place, log = tmp_path / """a b"c'd\\e""", tmp_path / "spark.log"
    place.mkdir()
    done = in_a_process(KILLED, log, TMPDIR=str(place))
    began, ended, again = done.stdout.splitlines()
    assert began.startswith(f"3 {place}/{ANALYSIS}")
    assert ended == (
        "Spark ended while it analysed: it was killed, which the system also does when memory runs out; "
        f"its log is {log} -9"
    )
    assert (again, done.stderr, list(place.iterdir())) == ("4", "", [])


@pytest.mark.parametrize("error", [Py4JError("it is gone"), ConnectionRefusedError(111, "Connection refused")])
def test_a_jvm_that_dies_while_it_is_asked_to_stop_has_ended(error: Exception) -> None:
    """PySpark asks it what its error is, and nobody answers."""

    def gone() -> None:
        raise error

    context = SimpleNamespace(cancelAllJobs=gone)
    kept = SimpleNamespace(
        jvm=SimpleNamespace(process=SimpleNamespace(wait=lambda _: 52)), how_ended=lambda: "it ran out of memory"
    )
    assert _stopped(cast("Any", SimpleNamespace(sparkContext=context)), cast("Any", kept)) == "it ran out of memory"


WORN_OUT = """
def asked(text):
    try:
        with SESSIONS.session(sizing(0, 2), None, log) as spark:
            print(spark.range(3).selectExpr(text).count(), flush=True)
            spark.range(3).selectExpr(text + " as it").selectExpr("max(it)").collect()
    except AnalysisError as error:
        print(type(error).__name__, error, flush=True)
LARGE = "repeat(cast(id as string), 1500000000)"
asked(LARGE)
asked("id")
asked(LARGE)
asked("id")
"""


@pytest.mark.spark
def test_a_jvm_that_runs_out_of_memory_is_told_and_is_worn_out_where_it_served_others(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    done = in_a_process(WORN_OUT, log)
    why = f"Spark ended while it analysed: it ran out of memory (OutOfMemoryError: Java heap space); its log is {log}"
    assert done.stdout.splitlines() == ["3", f"AnalysisError {why}", "3", "3", f"WornOutError {why}", "3"]
    assert done.stderr == ""


class Weary:
    """Sessions of which the first few are worn out."""

    def __init__(self, worn_out: int) -> None:
        self.begun, self._worn_out = 0, worn_out

    @contextlib.contextmanager
    def session(self, size: Sizing, master: str | None, log: Path) -> Iterator[SparkSession]:
        self.begun += 1
        with SESSIONS.session(size, master, log) as spark:
            if self.begun <= self._worn_out:
                raise WornOutError("it ran out of memory")
            yield spark


@pytest.mark.spark
@pytest.mark.parametrize("worn_out", [0, 1, 2])
def test_an_analysis_that_a_worn_out_session_could_not_carry_out_is_begun_once_more(
    spark: SparkSession, run: RunWriter, monkeypatch: pytest.MonkeyPatch, worn_out: int
) -> None:
    sessions, said = Weary(worn_out), list[str]()
    monkeypatch.setattr("streamgauge.pipeline.run.SESSIONS", sessions)
    folder = run.facts(ending=None)
    with pytest.raises(WornOutError) if worn_out > 1 else contextlib.nullcontext():
        analyse(folder, progress=said.append)
    assert sessions.begun == min(worn_out, 1) + 1
    assert said[1 : 1 + worn_out] == ["it ran out of memory; analysing once more in a new session"][:worn_out]
    assert folder.table("verdict").exists() == (worn_out < 2)
