"""What a query tells Spark and its connector."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.query import QuerySpec
from streamgauge.jobs.driver.gateway import settings
from streamgauge.jobs.driver.security import REDACTED
from streamgauge.jobs.driver.source import source_options
from streamgauge.processes.jvm.properties import properties_text

MakeSpec = Callable[..., QuerySpec]


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, {"includeHeaders": "false", "kafka.isolation.level": "read_uncommitted"}),
        ({"in_headers": True}, {"includeHeaders": "true"}),
        ({"read_committed": True}, {"kafka.isolation.level": "read_committed"}),
        ({"max_offsets": 500}, {"maxOffsetsPerTrigger": "500"}),
        ({}, {"subscribe": "source", "failOnDataLoss": "true", "kafka.bootstrap.servers": "127.0.0.1:1"}),
    ],
)
def test_options_of_the_source(make_spec: MakeSpec, changes: dict[str, Any], wanted: dict[str, str]) -> None:
    assert source_options(make_spec(**changes)).items() >= wanted.items()


def test_where_the_source_begins(make_spec: MakeSpec) -> None:
    options = source_options(make_spec(starts=(5, 7)))

    assert json.loads(options["startingOffsets"]) == {"source": {"0": 5, "1": 7}}
    assert "maxOffsetsPerTrigger" not in options


@pytest.mark.parametrize(
    ("master", "host"),
    [
        (None, "127.0.0.1"),
        ("local-cluster[2,1,1024]", "127.0.0.1"),
        ("spark://127.0.0.1:7077", "127.0.0.1"),
        ("spark://a:7077", None),
    ],
)
def test_where_spark_runs(make_spec: MakeSpec, master: str | None, host: str | None) -> None:
    found = settings(make_spec(master=master, parallelism=3, jars=("/a.jar", "/b.jar")), Path("/scratch"))

    assert found["spark.master"] == (master or "local[3]")
    assert found.get("spark.driver.host") == host
    assert found["spark.jars"] == "/a.jar,/b.jar"


def test_settings_of_the_scenario_go_before_ours(make_spec: MakeSpec) -> None:
    own = {"spark.sql.shuffle.partitions": 9, "spark.ui.enabled": True, "spark.driver.extraJavaOptions": "-Xint"}

    found = settings(make_spec(settings=own), Path("/scratch"))

    assert found["spark.sql.shuffle.partitions"] == "9"
    assert found["spark.ui.enabled"] == "true"
    assert found["spark.driver.extraJavaOptions"].endswith(" -Xint")
    assert "-Djava.io.tmpdir=/scratch" in found["spark.driver.extraJavaOptions"]


def test_java_is_given_a_folder_whatever_it_is_called(make_spec: MakeSpec) -> None:
    scratch = Path('/tmp/it\'s a "b" \\ $HOME')

    found = settings(make_spec(), scratch)

    options = shlex.split(found["spark.driver.extraJavaOptions"])
    assert options == [f"-Djava.io.tmpdir={scratch}", f"-Dderby.system.home={scratch}", "-XX:-UsePerfData"]


@pytest.mark.parametrize(
    ("master", "own", "wanted"),
    [
        (None, {}, None),
        ("spark://127.0.0.1:7077", {}, None),
        ("spark://127.0.0.1:7077", {"spark.executor.extraJavaOptions": "-Xint"}, "-Xint"),
        ("local-cluster[2,1,1024]", {}, "-Djava.io.tmpdir=/scratch"),
        (
            "local-cluster[2,1,1024]",
            {"spark.executor.extraJavaOptions": "-Xint"},
            "-Djava.io.tmpdir=/scratch -Xint",
        ),
    ],
)
def test_executors_of_its_own_leave_their_files_in_its_folder(
    make_spec: MakeSpec, master: str | None, own: dict[str, str], wanted: str | None
) -> None:
    """Those of a cluster of the user's are the user's."""
    found = settings(make_spec(master=master, settings=own), Path("/scratch"))

    assert found.get("spark.executor.extraJavaOptions") == wanted


@pytest.mark.parametrize(
    "name",
    [
        "kafka.sasl.jaas.config",
        "kafka.ssl.key.password",
        "kafka.ssl.keystore.key",
        "spark.ssl.keyPassword",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.azure.account.key.me.dfs.core.windows.net",
        "spark.hadoop.fs.azure.sas.files.me",
    ],
)
def test_secrets_are_not_printed(make_spec: MakeSpec, name: str) -> None:
    found = settings(make_spec(), Path("/scratch"))

    assert found["spark.redaction.regex"] == found["spark.sql.redaction.options.regex"] == REDACTED
    assert re.search(REDACTED, name)


def unescaped(text: str) -> dict[str, str]:
    """What Java reads in a file of properties in which nothing but codes has a meaning."""
    pairs = (line.split("=") for line in text.split("\n")[:-1])
    return {_decoded(name): _decoded(value) for name, value in pairs}


def _decoded(text: str) -> str:
    parts = text.split("\\u")
    units = parts[0].encode("utf-16-be") + b"".join(
        int(part[:4], 16).to_bytes(2) + part[4:].encode("utf-16-be") for part in parts[1:]
    )
    return units.decode("utf-16-be")


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_settings_come_to_java_as_they_are(found: dict[str, str]) -> None:
    text = properties_text(found)

    assert text.isascii()
    assert unescaped(text) == found
