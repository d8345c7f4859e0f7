"""`streamgauge broker`: what is said and refused, and one real broker that lives through start, status and stop."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from streamgauge.cli.kafka.broker import app
from streamgauge.cluster import registry
from streamgauge.cluster.registry import PROPERTIES, Entry
from streamgauge.domain.errors import BadInput
from streamgauge.kafka.admin import Cluster
from streamgauge.processes.identity import ProcessId, identify
from streamgauge.processes.jvm.properties import properties_in

ME = identify(os.getpid())


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def entry(name: str, owner: ProcessId | None = None, process: ProcessId = ME) -> Entry:
    return Entry(
        name=name,
        process=process,
        owner=owner,
        bootstrap="127.0.0.1:9",
        version="4.3.1",
        data=Path("/data"),
        temporary=False,
        log=Path("/data/logs/x.log"),
    )


def running(monkeypatch: pytest.MonkeyPatch, *entries: Entry) -> list[Entry]:
    """Brokers that seem to run; returns those that are ended."""
    ended: list[Entry] = []
    monkeypatch.setattr(registry, "listing", lambda: list(entries))
    monkeypatch.setattr(registry, "end", ended.append)
    return ended


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def refused(*arguments: str) -> str:
    with pytest.raises(BadInput) as caught:
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    return str(caught.value)


def test_nothing_runs_and_that_is_no_fault() -> None:
    assert said("status") == "no broker is running\n"
    assert json.loads(said("status", "--json")) == []
    assert said("stop") == "no broker to stop\n"
    assert said("stop", "--all") == "no broker to stop\n"


def test_status_tells_what_runs_and_for_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    running(monkeypatch, entry("mine"), entry("runs", owner=ME))

    assert said("status") == (
        f"mine  127.0.0.1:9  process {ME.pid}\n"
        "  Apache Kafka 4.3.1, data /data (kept), log /data/logs/x.log\n"
        f"runs  127.0.0.1:9  process {ME.pid}, until process {ME.pid} ends\n"
        "  Apache Kafka 4.3.1, data /data (kept), log /data/logs/x.log\n"
    )
    assert [each["owner_pid"] for each in json.loads(said("status", "--json"))] == [None, ME.pid]


@pytest.mark.parametrize("arguments", [["stop"], ["stop", "mine"], ["stop", "--all"]], ids=" ".join)
def test_stop_ends_the_broker_that_was_started_for_it(
    monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str]
) -> None:
    ended = running(monkeypatch, entry("mine"), entry("runs", owner=ME))

    assert said(*arguments) == "stopped mine at 127.0.0.1:9\n"
    assert ended == [entry("mine")]


def test_stop_asks_which_where_that_is_not_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = running(monkeypatch, entry("one"), entry("two"), entry("runs", owner=ME))

    assert refused("stop") == "NAME: several brokers are running: one, two. Name one of them, or use --all"
    assert refused("stop", "three") == "NAME: no broker three is running. Running: one, two, runs"
    assert f"runs belongs to process {ME.pid}" in refused("stop", "runs")
    assert ended == []


def of_cluster(number: int, name: str, folder: str) -> Entry:
    at = {"process": ME.model_copy(update={"pid": number}), "bootstrap": f"127.0.0.1:{number}", "cluster": Path(folder)}
    return entry(name).model_copy(update=at)


@pytest.mark.parametrize("arguments", [["stop"], ["stop", "b-2"], ["stop", "--all"]], ids=" ".join)
def test_a_cluster_is_told_and_stopped_as_one(monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str]) -> None:
    three = [of_cluster(number, f"b-{number}", "/data") for number in (1, 2, 3)]
    ended = running(monkeypatch, *three, entry("runs", owner=ME))

    assert said("status").splitlines()[0] == "cluster of 3: --bootstrap 127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"
    said(*arguments)

    assert ended == three


def test_two_clusters_are_not_one(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = running(monkeypatch, of_cluster(1, "a", "/a"), of_cluster(2, "b", "/b"), of_cluster(3, "c", "/b"))

    assert refused("stop").startswith("NAME: several brokers are running: a, b, c.")
    said("stop", "c")
    assert [each.name for each in ended] == ["b", "c"]


def test_start_refuses_what_cannot_be_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    running(monkeypatch, entry("one"), entry("o-2"))
    monkeypatch.setattr("streamgauge.cli.kafka.brokers.start_cluster", lambda *_, **__: pytest.fail("started"))

    assert refused("start", "--name", "one").startswith("--name: one is already running, at 127.0.0.1:9.")
    assert refused("start", "--name", "a/b").startswith("--name: 'a/b' is not a name.")
    assert refused("start", "--brokers", "2", "--name", "o").startswith("--name: o-2 is already running")
    assert refused("start", "--heap", "5z").startswith("--heap: '5z' is not a heap size of Java.")
    assert refused("start", "--set", "load.rate=5", "--set", "cluster.heap=1g", "--set", "seed=5").splitlines() == [
        f"--set {wrong}: not a setting of a cluster. Write one of the section `cluster` of scenarios, like "
        "`cluster.controllers=3`"
        for wrong in ("load.rate=5", "seed=5")
    ]
    assert refused("start", "--security", "TLS").startswith(
        "--security: 'TLS' is not how brokers can be secured. Write"
    )
    assert refused("start", "--security", "SSL:PLAIN").startswith("--security: 'SSL:PLAIN' is not how brokers can")


@pytest.mark.parametrize("command", ["start", "status", "stop"])
def test_help_teaches_with_an_example(command: str) -> None:
    assert f"Example: streamgauge broker {command}" in said(command, "--help")


@pytest.fixture
def streamgauge(tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """The command `broker` with these arguments, in a process of its own."""

    def called(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "streamgauge", "broker", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    return called


@pytest.mark.kafka
@pytest.mark.e2e
def test_a_broker_outlives_the_command_until_it_is_stopped(
    tmp_path: Path, streamgauge: Callable[..., "subprocess.CompletedProcess[str]"]
) -> None:
    try:
        started = streamgauge("start", "--data", "data", "--heap", "512m", "--json")
        facts = json.loads(started.stdout)
        Cluster(facts["bootstrap"], {}).create_topic("t", 2, 1)
        again = streamgauge("start", "--data", "data")
        listed = json.loads(streamgauge("status", "--json").stdout)
    finally:
        stopped = streamgauge("stop", "--all")

    assert started.returncode == 0
    assert (facts["name"], facts["data"], facts["data_kept"]) == ("broker-1", str(tmp_path / "data"), True)
    assert again.returncode == 2
    assert f"in use by broker-1 at {facts['bootstrap']}" in again.stderr
    assert listed == [facts]
    assert (stopped.returncode, stopped.stdout) == (0, f"stopped broker-1 at {facts['bootstrap']}\n")
    assert not psutil.pid_exists(facts["pid"])
    assert (tmp_path / "data" / "topics" / "t-1").is_dir()
    assert registry.listing() == []


@pytest.mark.kafka
@pytest.mark.e2e
def test_a_controller_apart_is_listed_and_stopped_and_nobody_is_sent_to_it(
    streamgauge: Callable[..., "subprocess.CompletedProcess[str]"],
) -> None:
    settings = ("cluster.controllers=1", "cluster.configs={num.io.threads: 3}", "cluster.data_dirs=2")
    try:
        started = streamgauge(
            "start", "--heap", "256m", "--json", *(word for each in settings for word in ("--set", each))
        )
        facts = json.loads(started.stdout)
        broker, controller = facts["nodes"]
        listed = streamgauge("status").stdout
        properties = properties_in(registry.listing()[0].data.joinpath(PROPERTIES).read_text())
        Cluster(facts["bootstrap"], {}).create_topic("t", 1, 1)
    finally:
        stopped = streamgauge("stop")

    assert (broker["name"], controller["name"], controller["bootstrap"]) == ("broker-1", "controller-1", None)
    assert facts["bootstrap"] == broker["bootstrap"]
    assert f"cluster of 2: --bootstrap {broker['bootstrap']}\n" in listed
    assert f"controller-1  serves no clients  process {controller['pid']}\n" in listed
    assert (properties["num.io.threads"], properties["log.dirs"].count(",")) == ("3", 1)
    assert stopped.stdout == f"stopped broker-1 at {broker['bootstrap']}\nstopped controller-1\n"
    assert not psutil.pid_exists(broker["pid"])
    assert not psutil.pid_exists(controller["pid"])
    assert registry.listing() == []


@pytest.mark.kafka
@pytest.mark.e2e
def test_a_start_that_is_interrupted_leaves_no_broker(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streamgauge", "broker", "start", "--heap", "512m"]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stderr
        while "starting Apache Kafka" not in (line := process.stderr.readline()):
            assert line, "it ended"
        process.terminate()
        out, err = process.communicate(timeout=120)

    assert (process.returncode, out) == (130, "")
    assert err.splitlines() == ["stopping at once", "interrupted before the broker was ready; it was stopped"]
    assert registry.listing() == []
    assert not list(tmp_path.glob("streamgauge-*"))
