"""The program as a user meets it: commands, exit codes, one clear message for everything that is wrong."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.e2e.conftest import Call
from tests.marked import left_of
from tests.waiting import until

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns, sleep_seconds
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.record.facts import read_facts
from streamgauge.result.schema import json_schema

pytestmark = pytest.mark.e2e

STREAMGAUGE = (sys.executable, "-m", "streamgauge")
BRIEFLY = (sys.executable, str(Path(__file__).with_name("program.py")))
"""The program with a short warm-up of its broker."""
PATIENCE_SECONDS = 240


def start(*arguments: str, environ: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    """The program as a process, to its end."""
    return subprocess.run(
        [*STREAMGAUGE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        env={**os.environ, **(environ or {})},
    )


def has_received(out: Path) -> bool:
    """Whether rows of received messages are in a run folder below `out`."""
    return any(part.stat().st_size > 100_000 for part in out.glob("*/events/received/*/_open-0"))


def short(*settings: str) -> Sequence[str]:
    return [f"--set={each}" for each in ("phases.warmup=1s", "phases.measure=3s", "load.rate=2k/s", *settings)]


@pytest.mark.kafka
@pytest.mark.spark
def test_the_main_job(tmp_path: Path, call: Call) -> None:
    """`run baseline` on a broker of its own: what was sent is what was received, and nothing is left behind.

    In folders whose names have all that is a pattern, an option or an address to somebody.
    """
    out, temporary = tmp_path / "12:30 [1]{b}*? #%20 \u00fc\\x", tmp_path / 'it\'s "a" [1]'
    temporary.mkdir()
    mark = {"STARTED_BY": str(tmp_path), "TMPDIR": str(temporary)}

    done = start("run", "baseline", "--json", "--figures", "--out", str(out), *short(), environ=mark)

    assert done.returncode in {0, 4}, done.stderr
    result = json.loads(done.stdout)
    jsonschema.validate(result, json_schema())
    (root,) = out.iterdir()
    assert list(temporary.iterdir()) == []
    assert json.loads((root / "result.json").read_text(encoding="utf-8")) == result
    delivery = result["delivery"]
    assert [delivery[name] for name in ("sent", "acked", "received", "delivered_once")] == [8_000] * 4
    troubles = (
        "failed", "unsent", "undelivered", "lost", "expired", "unknown", "duplicate_consumer", "duplicate_producer",
        "reordered", "corrupt", "foreign", "unrecorded",
    )  # fmt: skip
    assert {name: delivery[name] for name in troubles} == dict.fromkeys(troubles, 0)
    assert delivery["measure"]["sent"] == 6_000
    assert result["throughput"]["target_per_second"] == 2_000
    # How fast it went is a matter of the machine; that all of it went is not.
    assert result["throughput"]["received_per_second"] > 0
    latency = result["latency"]["end_to_end"]
    assert latency["response"]["count"] == latency["service"]["count"] == 6_000
    assert 0 < latency["service"]["p50_ms"] <= latency["response"]["p50_ms"]
    assert all(each["passed"] for each in result["expectations"])
    # Other tests may have started brokers meanwhile; those of this run have its environment.
    assert not any("kafka.Kafka" in words for words in left_of(mark))
    for name in ("report.html", "summary.md", "csv/latency.csv", "hlog/end_to_end_response.hlog", "figures/rates.svg"):
        assert (root / name).stat().st_size > 0, name
    again = call("report", str(root), "--quiet", "--json")
    assert (again.code, again.err, json.loads(again.out)) == (0, "", result)


@pytest.mark.kafka
@pytest.mark.spark
def test_ctrl_c_stops_drains_analyses_and_says_so(
    broker: EmbeddedBroker, tmp_path: Path, warm_spark: None, call: Call
) -> None:
    """Exit 130, with a result of what was measured; `analyse` gives the same again."""
    topic = f"topic.name=ctrl-c-{os.getpid()}"
    command = ["run", "baseline", "--json", "--bootstrap", broker.bootstrap, "--out", str(tmp_path)]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command += ["--metrics-port", str(port)]
    settings = short("phases.measure=60s", topic)
    with subprocess.Popen(
        [*STREAMGAUGE, *command, *settings], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        limit_ns = monotonic_ns() + 60 * NS_PER_SECOND
        while not has_received(tmp_path) and monotonic_ns() < limit_ns:
            sleep_seconds(0.05)
        sleep_seconds(2)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            metrics = answer.read().decode()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 130, err
    assert "again to stop at once" in err
    assert f"metrics at http://127.0.0.1:{port}/metrics" in err
    samples = {
        (sample.name, sample.labels.get("stage")): sample
        for family in text_string_to_metric_families(metrics)
        for sample in family.samples
    }
    assert samples["streamgauge_stage", "measure"].value == 1
    assert samples["streamgauge_stage", "measure"].labels["run"] == next(tmp_path.iterdir()).name
    assert samples["streamgauge_received_messages_total", None].value > 500
    result = json.loads(out)
    folder = RunFolder(next(tmp_path.iterdir()))
    assert read_facts(folder).ending == "interrupted"
    assert result["delivery"]["delivered_once"] == result["delivery"]["acked"] > 1_000
    again = call("analyse", str(folder.root), "--json")
    assert again.code == 130
    assert json.loads(again.out)["delivery"] == result["delivery"]


def brokers_of(pid: int) -> list[psutil.Process]:
    """The embedded brokers that a process has started."""
    found = []
    for each in psutil.Process(pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [each] if "kafka.Kafka" in each.cmdline() else []
    return found


@pytest.mark.kafka
@pytest.mark.parametrize("paused", [False, True], ids=["", "paused"])
@pytest.mark.parametrize("stage", ["starting Apache Kafka", "warming it up", "starting 2 producers"])
def test_before_the_load_one_signal_ends_it_soon_and_leaves_nothing(tmp_path: Path, stage: str, paused: bool) -> None:
    """A broker that is paused as well, which answers nothing and hears of no end."""
    mark = {"STARTED_BY": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    command = ["run", "baseline", "--keep-broker", "--out", str(tmp_path / "runs")]
    with subprocess.Popen(
        [*BRIEFLY, *command, *short("phases.measure=60s")], stderr=subprocess.PIPE, text=True, env=os.environ | mark
    ) as process:
        assert process.stderr
        said = []
        for line in process.stderr:
            said.append(line)
            if stage in line:
                break
        if paused:
            until(lambda: brokers_of(process.pid))
            for each in brokers_of(process.pid):
                each.suspend()
        began_ns = monotonic_ns()
        process.send_signal(signal.SIGTERM)
        said += process.stderr.readlines()
        code = process.wait(60)
        took_ns = monotonic_ns() - began_ns

    assert code == 130, said
    assert said[-2:] == [
        "stopping at once\n",
        "interrupted before the load started: nothing was measured, and nothing was kept\n",
    ]
    assert took_ns < 10 * NS_PER_SECOND, said
    assert left_of(mark) == []
    assert list((tmp_path / "runs").iterdir()) == []
    assert list((tmp_path / "state" / "streamgauge" / "brokers").iterdir()) == []


IN_TERMINAL = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Gives a program the terminal of its standard input, whose end the kernel then tells it."""


@pytest.mark.kafka
@pytest.mark.spark
def test_a_run_is_recorded_now_and_analysed_later(
    broker: EmbeddedBroker, tmp_path: Path, call: Call, warm_spark: None
) -> None:
    """Nothing is judged before."""
    settings = short("phases.measure=1s", f"topic.name=recorded-{os.getpid()}")
    done = call("run", "baseline", "--record-only", "--bootstrap", broker.bootstrap, "--out", str(tmp_path), *settings)
    (root,) = tmp_path.iterdir()
    assert (done.code, done.out.splitlines()) == (
        0, [f"Recorded in {root}", f"Analyse it: streamgauge analyse {root}"],
    )  # fmt: skip
    assert {each.name for each in root.iterdir()} == {"events", "logs", "run.json"}

    assert call("analyse", str(root), "--quiet").code in {0, 4}
    delivery = json.loads((root / "result.json").read_text(encoding="utf-8"))["delivery"]
    assert delivery["delivered_once"] == delivery["sent"] > 1_000


@pytest.mark.kafka
@pytest.mark.spark
def test_a_terminal_that_is_closed_stops_the_run_and_loses_nothing(broker: EmbeddedBroker, tmp_path: Path) -> None:
    """It drains and is analysed as after Ctrl-C, with nobody there to read of it."""
    mark = {"STARTED_BY": str(tmp_path), "TERM": "xterm"}
    command = ["run", "baseline", "--bootstrap", broker.bootstrap, "--out", str(tmp_path)]
    settings = short("phases.measure=60s", f"topic.name=hung-up-{os.getpid()}")
    ours, its = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", IN_TERMINAL, *STREAMGAUGE, *command, *settings],
        stdin=its, stdout=its, stderr=its, env=os.environ | mark,
    ) as process:  # fmt: skip
        os.close(its)
        limit_ns = monotonic_ns() + 60 * NS_PER_SECOND
        while not has_received(tmp_path) and monotonic_ns() < limit_ns:
            if select.select([ours], [], [], 0.05)[0]:
                os.read(ours, 65536)
        os.close(ours)
        code = process.wait(PATIENCE_SECONDS)

    (root,) = tmp_path.iterdir()
    assert code == 130, (root / "logs" / "analysis-spark.log").read_text()
    assert read_facts(RunFolder(root)).ending == "interrupted"
    delivery = json.loads((root / "result.json").read_text(encoding="utf-8"))["delivery"]
    assert delivery["delivered_once"] == delivery["acked"] > 1_000
    assert not any("kafka.Kafka" in words for words in left_of(mark))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run"], "Missing argument 'SCENARIO'"),
        (["run", "basline"], "basline: no scenario of this name. Did you mean `baseline`?"),
        (["run", "baseline", "--set", "load.rate"], "--set load.rate: not of the form path=value"),
        (["run", "baseline", "--set", "load.client.lingr.ms=1"], 'No such configuration property: "lingr.ms"'),
        (["run", "baseline", "--client-config", "nowhere.properties"], "nowhere.properties"),
        (
            ["run", "baseline", "--keep-broker", "--bootstrap", "x:1"],
            "--keep-broker: cannot be combined with --bootstrap",
        ),
        (["run", "baseline", "--out", "/dev/null/x"], "--out /dev/null/x: cannot be written: Not a directory"),
        (["run", "baseline", "--sett", "x=1"], "No such option: --sett"),
        (["analyse", "nowhere"], "nowhere: not a run folder: it has no readable run.json. Name a folder"),
        (["scenarios", "basline"], "Did you mean `baseline`?"),
        (["scenarios", "baseline", "--set", "phases.measure=soon"], "phases.measure: 'soon': not a duration."),
        (["nonsense"], "No such command 'nonsense'"),
    ],
)
def test_bad_input_is_one_message_and_exit_2(arguments: list[str], expected: str, tmp_path: Path, call: Call) -> None:
    """Where, what, how to mend it; never a traceback, and nothing was started."""
    out = [] if "--out" in arguments or arguments[0] != "run" else ["--out", str(tmp_path / "runs")]

    done = call(*arguments, *out)

    assert done.code == 2, done.err
    assert expected in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert not (tmp_path / "runs").exists() or list((tmp_path / "runs").iterdir()) == []


def test_without_java_one_message_says_what_was_looked_for(tmp_path: Path) -> None:
    """And how to get it."""
    done = start("run", "baseline", "--out", str(tmp_path), environ={"JAVA_HOME": "", "PATH": str(tmp_path)})

    assert done.returncode == 2
    assert "Java" in done.stderr
    assert "17" in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "run.json has unexpected content"),
        ("{}", "run.json has unexpected content"),
        ("not json", "run.json has unexpected content"),
    ],
)
def test_a_broken_run_folder_is_told(tmp_path: Path, text: str, expected: str, call: Call) -> None:
    """Its rows are not touched."""
    (tmp_path / "run.json").write_text(text, encoding="utf-8")

    done = call("analyse", str(tmp_path))

    assert done.code == 2, done.err
    assert expected in done.err


def test_a_cluster_that_cannot_be_reached_is_exit_1(tmp_path: Path) -> None:
    """Something was tried, and it failed; the folder that was made for it is gone."""
    done = start("run", "baseline", "--bootstrap", "127.0.0.1:1", "--out", str(tmp_path), environ={"NO_COLOR": "1"})

    assert done.returncode == 1
    assert "no broker responds at 127.0.0.1:1" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [[], ["run"], ["analyse"], ["scenarios"], ["broker"], ["broker", "start"]])
def test_help_teaches(command: list[str], call: Call) -> None:
    """Every command says what it does, and shows an example or its commands."""
    done = call(*command, "--help")

    assert done.code == 0
    assert "Example" in done.out or " COMMAND " in done.out


def test_the_resolved_scenario_is_printed() -> None:
    """Fit to be saved and run."""
    done = start("scenarios", "baseline", "--set", "load.rate=20k/s")

    assert done.returncode == 0
    assert "rate: 20k/s" in done.stdout
    assert "linger.ms: 5" in done.stdout
