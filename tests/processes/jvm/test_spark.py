"""The JVM of an analysis is started as Spark itself would start it, but for what no analysis needs."""

import os
import subprocess
from pathlib import Path

import pytest

from streamgauge.processes.jvm.java import find_java
from streamgauge.processes.jvm.spark import OPTIONS, class_path, spark_home


def test_a_jvm_is_told_what_the_launcher_of_spark_tells_it() -> None:
    """A later Spark may need more packages opened. Without them a query fails in the middle of an analysis."""
    home, java = spark_home(), find_java(os.environ).path
    launcher = [str(java), "-cp", str(home / "jars" / "*"), "org.apache.spark.launcher.Main"]
    done = subprocess.run(
        [*launcher, "org.apache.spark.deploy.SparkSubmit", "pyspark-shell"],
        env={**os.environ, "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"},
        capture_output=True,
        text=True,
        check=True,
    )
    told = [word for word in done.stdout.split("\0") if word.startswith("-") and word not in {"-cp", "-Xmx1g"}]
    assert len(told) > 15
    assert {*told} - {*OPTIONS} == {
        "--add-modules=jdk.incubator.vector",
        "-Dderby.connection.requireAuthentication=false",
    }
    assert {*OPTIONS} <= {*told}


def test_the_class_path_has_every_jar_but_the_one_that_starts_slowly() -> None:
    """In an order that does not depend on the disk: an archive of classes belongs to it."""
    jars = class_path(spark_home())
    left_out = {*(spark_home() / "jars").glob("*.jar")} - {*jars}
    assert [jar.name.partition("_")[0] for jar in left_out] == ["spark-mllib"]
    assert jars == sorted(jars)


def test_a_folder_of_configuration_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert class_path(spark_home())[0] == tmp_path
