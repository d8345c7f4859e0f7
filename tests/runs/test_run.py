"""One run as a whole: what it says of its scenario before it begins, and what it does when the user has had enough."""

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.report.conftest import FACTS
from tests.watch.looks import look

from streamgauge.domain.errors import Interrupted
from streamgauge.domain.folder.facts import Ending, RunFolder, parse_facts
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import write_facts
from streamgauge.runs import run as running
from streamgauge.runs.request.request import Request
from streamgauge.scenario import parse
from streamgauge.verdict.exits import Exit
from streamgauge.watch.display import Display, Quiet
from streamgauge.watch.metrics.endpoint import Metrics


class Told(Quiet):
    """Keeps what it is to say."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


@pytest.mark.parametrize(("free", "said"), [(10**6, ["--out runs: its disk has 1.00 MB left"]), (10**15, [])])
def test_a_disk_that_may_become_full_is_told_before_anything_begins(
    free: int, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As advice: the run may end before."""

    def conduct(*_: object) -> None:
        raise Interrupted("it begins")

    monkeypatch.setattr(running, "conducted", conduct)
    monkeypatch.setattr("streamgauge.runs.request.request.free_bytes", lambda _: free)
    scenario = parse({"name": "x", "topic": {"name": "x"}, "load": {"rate": "100k/s", "size": 512}})
    request = Request(scenario, Path("runs"), [], Java(Path("/jdk/bin/java"), "17", 17), bootstrap="there:9092")
    display = Told()
    told: Display = display
    with pytest.raises(Interrupted, match="it begins"):
        running.run(request, told)

    assert [line[: len(begin)] for line, begin in zip(display.lines, said, strict=True)] == said


@pytest.mark.parametrize(
    ("rate", "kind"),
    [("1k/s", "response"), ("RAMP_10_1k_10k_1m", "response"), ("max", "service"), ("closed", "service")],
)
def test_latencies_count_from_the_due_time_where_there_is_one(rate: str, kind: str) -> None:
    """Also where a rate says no mean."""
    scenario = parse({"name": "x", "topic": {"name": "x"}, "load": {"rate": rate}})
    metrics = running.metrics_of(
        Request(scenario, Path("runs"), [], Java(Path("java"), "17", 17)), "", 0, "streamgauge"
    )
    assert metrics
    metrics.show(look())
    kinds = {sample.labels["kind"] for each in metrics.collect() for sample in each.samples if "kind" in sample.labels}
    assert kinds == {kind}


def test_impatience_that_comes_when_the_run_is_just_over_is_heeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is analysed; how to do that is said."""

    @contextlib.contextmanager
    def conducted(_: object, interrupts: Interrupts, *__: object) -> Iterator[RunFolder]:
        interrupts.begin_load()
        interrupts.note()
        interrupts.end_load()
        interrupts.note()
        yield RunFolder(tmp_path)

    monkeypatch.setattr(running, "conducted", conducted)
    scenario = parse({"name": "x", "topic": {"name": "x"}, "load": {"rate": "1/s", "size": 512}})
    request = Request(scenario, Path("runs"), [], Java(Path("/jdk/bin/java"), "17", 17), bootstrap="there:9092")
    with pytest.raises(Interrupted, match=f"^stopped at once; recorded events are kept: .* {tmp_path}$"):
        running.run(request, show=lambda *_: pytest.fail("analysed"))


def test_metrics_are_served_until_the_report_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the last scrape sees final counts; nobody listens afterwards."""
    metrics = Metrics("x", None, scheduled=False)
    served: list[bool] = []

    @contextlib.contextmanager
    def conducted(*_: object) -> Iterator[RunFolder]:
        yield RunFolder(tmp_path)

    def analyse(*_: object, **__: object) -> Exit:
        with socket.create_connection(("127.0.0.1", metrics.port), timeout=60):
            served.append(True)
        return Exit.DONE

    monkeypatch.setattr(running, "conducted", conducted)
    monkeypatch.setattr(running, "analyse", analyse)
    scenario = parse({"name": "x", "topic": {"name": "x"}, "load": {"rate": "1/s", "size": 512}})
    request = Request(scenario, Path("runs"), [], Java(Path("/jdk/bin/java"), "17", 17), bootstrap="there:9092")
    running.run(request, metrics=metrics)

    assert served
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", metrics.port), timeout=60)


def test_a_run_keeps_its_folder_until_its_report_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An `analyse` from outside, just after the load, must not be what the run itself has to wait for."""
    kept: list[bool] = []

    @contextlib.contextmanager
    def conducted(*_: object) -> Iterator[RunFolder]:
        kept.append(True)
        yield RunFolder(tmp_path)
        kept.clear()

    def analyse(*_: object, owned: bool, **__: object) -> Exit:
        assert owned
        assert kept
        return Exit.DONE

    monkeypatch.setattr(running, "conducted", conducted)
    monkeypatch.setattr(running, "analyse", analyse)
    scenario = parse({"name": "x", "topic": {"name": "x"}, "load": {"rate": "1/s", "size": 512}})
    request = Request(scenario, Path("runs"), [], Java(Path("/jdk/bin/java"), "17", 17), bootstrap="there:9092")
    assert running.run(request).code == Exit.DONE
    assert not kept


@pytest.mark.parametrize(("ending", "code"), [("finished", Exit.DONE), ("failed", Exit.FAILED)])
def test_a_run_that_is_only_recorded_is_not_analysed(
    ending: Ending, code: Exit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No Spark is started for it; the exit code says how the run ended."""
    folder, overs = RunFolder(tmp_path), list[object]()
    write_facts(folder, parse_facts(json.dumps({**FACTS, "ending": ending}).encode()))

    @contextlib.contextmanager
    def conducted(_: object, __: object, ___: object, ____: object, over: object) -> Iterator[RunFolder]:
        overs.append(over)
        yield folder

    monkeypatch.setattr(running, "conducted", conducted)
    monkeypatch.setattr(running, "analyse", lambda *_, **__: pytest.fail("analysed"))
    scenario = parse({"name": "x", "topic": {"name": "x"}, "load": {"rate": "1/s", "size": 512}})
    request = Request(scenario, Path("runs"), [], Java(Path("/jdk/bin/java"), "17", 17), bootstrap="there:9092")

    assert running.run(request, record_only=True) == running.Ended(folder, code)
    assert overs != [running._start_spark]
