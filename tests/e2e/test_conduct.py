"""Whole runs on a real broker, up to the run folder: what happens when things end as nobody planned."""

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest
from tests.brokers import one_broker
from tests.scenario.earlier import without_later

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.clock import NS_PER_SECOND, clock_pair, monotonic_ns, sleep_seconds
from streamgauge.domain.errors import BadInput, Interrupted
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.domain.look import Look
from streamgauge.engine.produce.loop import BLOCK
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.kafka.admin import Cluster
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import read_facts
from streamgauge.record.parts import close_left_open
from streamgauge.runs.conduct.conduct import conduct
from streamgauge.runs.conduct.topics import Topics
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.scenario_file import load_scenario
from streamgauge.scenario.profile import profile_of, recorded_profile
from streamgauge.verdict import checks

pytestmark = [pytest.mark.kafka, pytest.mark.e2e]

STREAMGAUGE = (sys.executable, "-m", "streamgauge")
PATIENCE_NS = 120 * NS_PER_SECOND


@dataclass
class Run:
    """A run in a thread of its own, so that the test can interfere with it."""

    request: Request
    interrupts: Interrupts
    thread: threading.Thread
    said: list[str]
    folders: list[RunFolder]
    looks: list[Look]

    def await_said(self, text: str) -> None:
        """Wait until the run has said so."""
        self.await_true(lambda: any(text in line for line in self.said), f"the run to say {text!r}")

    def await_true(self, condition: Callable[[], Any], what: str) -> None:
        """Wait, with a limit, until something is the case."""
        limit_ns = monotonic_ns() + PATIENCE_NS
        while not condition():
            assert monotonic_ns() < limit_ns, f"waited in vain for {what}; it said {self.said}"
            assert self.thread.is_alive(), f"the run ended before {what}; it said {self.said}"
            sleep_seconds(0.02)

    def worker(self, name: str) -> psutil.Process:
        """The process of a worker, found by the open part that it writes."""
        kinds = {"producer": "sent", "consumer": "received"}
        marker = f"events/{kinds[name.split('-')[0]]}/worker={name}/"
        for child in psutil.Process().children(recursive=True):
            if any(marker in file.path for file in child.open_files()):
                return child
        raise AssertionError(f"no process of {name}")

    def end(self) -> tuple[RunFolder, RunFacts]:
        """Wait for the end of the run; every process of it must be gone."""
        self.thread.join(PATIENCE_NS / NS_PER_SECOND)
        assert not self.thread.is_alive(), f"the run hangs; it said {self.said}"
        (folder,) = self.folders
        facts = read_facts(folder)
        assert facts.profile == profile_of(self.request.scenario).model_dump(mode="json")
        assert close_left_open(folder) == []
        assert not any(psutil.pid_exists(worker.pid) for worker in facts.workers if worker.pid)
        return folder, facts


@pytest.fixture
def begin(tmp_path: Path, java: Java) -> Iterator[Callable[..., Run]]:
    """Starts runs; none is left behind."""
    runs: list[Run] = []

    def start(bootstrap: str, *settings: str, name: str = "baseline") -> Run:
        topic = f"topic.name=e2e-{os.getpid()}-{monotonic_ns()}"
        scenario = load_scenario(name, ["phases.warmup=500ms", "phases.drain=10s", topic, *settings])
        request = Request(scenario, tmp_path, ["test"], java, bootstrap=bootstrap)
        interrupts, said, folders, looks = Interrupts(), list[str](), list[RunFolder](), list[Look]()
        thread = threading.Thread(
            target=lambda: folders.append(conduct(request, interrupts, said.append, looks.append))
        )
        runs.append(Run(request, interrupts, thread, said, folders, looks))
        thread.start()
        return runs[-1]

    yield start
    for run in runs:
        run.interrupts.count = 2
        run.thread.join(PATIENCE_NS / NS_PER_SECOND)


def rows(folder: RunFolder, kind: str) -> list[dict[str, Any]]:
    files = sorted(folder.events.glob(f"{kind}/worker=*/part-*.parquet"))
    return [row for file in files for row in pq.read_table(file, partitioning=None).to_pylist()]


def latency_ms(rows: list[dict[str, Any]], end: str, begin: str) -> Any:
    return np.array([row[end] - row[begin] for row in rows if row[end] is not None]) / 1e6


@pytest.mark.timing
def test_what_was_sent_is_what_was_received(broker: EmbeddedBroker, begin: Callable[..., Run]) -> None:
    """Exactly: every message that was due, once, intact, with the offset that its report named."""
    run = begin(broker.bootstrap, "phases.measure=2s", "load.rate=2k/s", "load.codecs=true")
    folder, facts = run.end()

    assert facts.codecs is not None
    assert len(facts.codecs["codecs"]) == 5
    # Its run.json would mean the same if an earlier version had written it, which knew less of the scenario.
    assert facts.profile is not None
    assert recorded_profile(without_later(facts.profile), facts.scenario) == recorded_profile(facts.profile, {})
    sent, received, lag = (rows(folder, kind) for kind in ("sent", "received", "lag"))
    key = ("producer", "seq", "partition", "offset", "due_ns", "sent_ns")
    assert (facts.ending, facts.drained, facts.reasons) == ("finished", True, [])
    assert len(sent) == 5_000
    assert sorted(tuple(row[k] for k in key) for row in sent) == sorted(tuple(row[k] for k in key) for row in received)
    assert {row["intact"] for row in received} == {True}
    assert {row["error"] for row in sent} == {None}
    assert [phase.to_ns - phase.from_ns for phase in facts.phases[:2]] == [NS_PER_SECOND // 2, 2 * NS_PER_SECOND]
    ends = [row for row in lag if row["moment"] == "final" and row["consumer"] is None]
    # A consumer that leaves first hands its partitions to the other, which then tells their positions too.
    positions: dict[int, int] = {}
    for row in lag:
        if row["consumer"] is not None:
            positions[row["partition"]] = max(row["position"], positions.get(row["partition"], 0))
    assert sum(row["end"] for row in ends) == sum(positions.values()) == 5_000
    assert {row["process"] for row in rows(folder, "resources")} >= {"producer-0", "consumer-1", "supervisor", "host"}
    # Those who watched saw the same in the end.
    last = run.looks[-1]
    assert (last.sent, last.acked, last.received, last.outstanding) == (5_000, 5_000, 5_000, 0)
    assert last.total("producer", "message_bytes") == last.total("consumer", "message_bytes") == 5_000 * 512
    assert last.ack.sum() == last.end_to_end.sum() == 5_000
    assert {"starting", "measure", "ending"} <= {look.stage for look in run.looks}


def test_a_begin_that_was_missed_is_told_of_and_makes_the_run_invalid(
    broker: EmbeddedBroker, begin: Callable[..., Run]
) -> None:
    """It is asked for sooner than workers can be ready; nothing but the begin is wrong."""
    start_ns = clock_pair().wall_ns + NS_PER_SECOND // 2
    start_at = datetime.fromtimestamp(start_ns / NS_PER_SECOND, tz=UTC).isoformat()
    run = begin(broker.bootstrap, "phases.measure=1s", "load.rate=1k/s", f"phases.start_at={start_at}")
    folder, facts = run.end()

    (warned,) = (line for line in run.said if "after phases.start_at" in line)
    late_s = float(warned.split()[4])
    assert late_s > 0.3
    (check,) = (each for each in checks(facts, {}) if each.name == "start")
    assert (check.about, check.status) == ("instrument", "fail")
    # Both clocks were read at the end, too, and every half second.
    assert facts.ended_wall_ns
    assert facts.ended_monotonic_ns
    leads = [row["wall_ns"] - row["at_ns"] for row in rows(folder, "resources") if row["process"] == "host"]
    leads.append(facts.ended_wall_ns - facts.ended_monotonic_ns)
    assert len(leads) > 3
    assert max(abs(lead - facts.wall_ns + facts.monotonic_ns) for lead in leads) < NS_PER_SECOND // 1_000


@dataclass
class Pause:
    """When something stood still, and how the messages that were due meanwhile fared."""

    began_ns: int
    ended_ns: int

    @property
    def half_ms(self) -> float:
        """Half of the pause: the mean of waits for its end that are spread evenly over it."""
        return (self.ended_ns - self.began_ns) / 2e6

    def due_meanwhile(self, sent: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The messages that were due in the pause."""
        return [row for row in sent if self.began_ns <= row["due_ns"] < self.ended_ns]

    def outstanding(self, sent: list[dict[str, Any]]) -> int:
        """How many messages were sent and not acknowledged in the middle of the pause."""
        middle_ns = (self.began_ns + self.ended_ns) // 2
        return sum(row["sent_ns"] <= middle_ns < row["acked_ns"] for row in sent)

    def assert_waited_for(self, response_ms: Any) -> None:
        """The response times of the messages due meanwhile are those of the pause, plus the time to wake up after it.

        What wakes up on a busy machine takes some time to answer, which the first message waits for too. Dues are
        spread evenly over the pause, so the waits are spread evenly between the longest and the shortest.
        """
        longest_ms = response_ms.max()
        assert 2 * self.half_ms * 0.95 < longest_ms < 2 * self.half_ms * 1.5
        assert response_ms.mean() == pytest.approx((longest_ms + response_ms.min()) / 2, rel=0.05)


def pause(stop: Callable[[], None], go_on: Callable[[], None]) -> Pause:
    """Two seconds of standing still, two seconds from now."""
    sleep_seconds(2)
    stop()
    began_ns = monotonic_ns()
    sleep_seconds(2)
    go_on()
    return Pause(began_ns, monotonic_ns())


@pytest.mark.timing
def test_a_producer_stopped_for_two_seconds_shows_in_response_time_only(
    broker: EmbeddedBroker, begin: Callable[..., Run]
) -> None:
    """SIGSTOP and SIGCONT: the messages of the pause are sent late, at once, with the due times that they had."""
    run = begin(broker.bootstrap, "phases.measure=7s", "load.rate=500/s", "load.producers=1")
    run.await_said("measure")
    process = run.worker("producer-0")
    stopped = pause(process.suspend, process.resume)
    folder, _ = run.end()

    sent = rows(folder, "sent")
    meanwhile = stopped.due_meanwhile(sent)
    response, service = (latency_ms(meanwhile, "acked_ns", name) for name in ("due_ns", "sent_ns"))
    assert len(sent) == 3_750
    assert len(meanwhile) == pytest.approx(stopped.half_ms, rel=0.05)
    stopped.assert_waited_for(response)
    # In service time only what was in flight when the process was stopped can show it: a linger of 5 ms holds three.
    assert (service > stopped.half_ms).sum() <= 10
    assert np.median(service) < stopped.half_ms / 5


@pytest.mark.timing
@pytest.mark.parametrize("limit", [100_000, 100])
def test_a_broker_stopped_for_two_seconds_shows_in_both(
    java: Java, tmp_path: Path, begin: Callable[..., Run], limit: int
) -> None:
    """With room in the queue the messages are sent on time and acknowledged late; with room for 100, hardly any are."""
    with one_broker(logs=tmp_path / "logs", java=java) as broker:
        queue = f"load.client.queue.buffering.max.messages={limit}"
        # One request at a time: else the client sends hundreds of small ones meanwhile, and the broker, which takes
        # them one after the other, is busy with them for some time that theory leaves out.
        one = "load.client.max.in.flight.requests.per.connection=1"
        run = begin(broker.bootstrap, "phases.measure=7s", "load.rate=500/s", "load.producers=1", queue, one)
        run.await_said("measure")
        stopped = pause(broker.pause, broker.resume)
        folder, facts = run.end()

    sent = rows(folder, "sent")
    meanwhile = stopped.due_meanwhile(sent)
    response, service = (latency_ms(meanwhile, "acked_ns", name) for name in ("due_ns", "sent_ns"))
    assert facts.ending == "finished"
    assert len(sent) == 3_750
    stopped.assert_waited_for(response)
    if limit > len(meanwhile):
        assert service.mean() == pytest.approx(response.mean(), rel=0.05)
    else:
        # In the middle of the outage the queue is full, also with messages sent before it.
        assert stopped.outstanding(sent) == limit
        assert np.median(service) < stopped.half_ms / 2


@pytest.mark.timing
def test_the_rows_of_a_killed_producer_are_kept(broker: EmbeddedBroker, begin: Callable[..., Run]) -> None:
    """kill -9 in mid-run: rows up to the last block, and what it would have sent as unsent; nothing hangs."""
    run = begin(broker.bootstrap, "phases.measure=4s", "load.rate=2k/s")
    run.await_said("measure")
    sleep_seconds(2)
    process = run.worker("producer-0")
    # What it counts is final before it dies: how much of it is in flight is the machine's affair.
    process.suspend()
    suspended_ns = monotonic_ns()
    run.await_true(lambda: run.looks[-1].at_ns > suspended_ns, "a look at the producer that stands still")
    (last,) = (worker for worker in run.looks[-1].workers if worker.name == "producer-0")
    process.kill()
    folder, facts = run.end()

    sent = [row for row in rows(folder, "sent") if row["producer"] == 0]
    known = [row for row in sent if row["error"] is None]
    unsent = [row for row in sent if row["error"] == "unsent"]
    assert facts.ending == "failed"
    assert facts.reasons == ["producer-0 died: killed by signal 9"]
    assert [worker.exit_code for worker in facts.workers[:2]] == [-9, 0]
    assert len(known) > 500
    assert len(unsent) > 500
    # What lies between was handed over and its fate died with the process: what was in flight, and the block under way.
    assert last.known is not None
    assert last.known <= len(known) <= last.messages
    assert last.messages <= 4_500 - len(unsent) <= last.messages + BLOCK
    assert sorted(row["seq"] for row in unsent) == list(range(4_500 - len(unsent), 4_500))
    assert {row["sent_ns"] for row in unsent} == {None}


def test_a_killed_consumer_is_replaced_and_told(broker: EmbeddedBroker, begin: Callable[..., Run]) -> None:
    """The other one takes over, and reads again what the dead one had not committed."""
    session = ["consume.client.session.timeout.ms=6000", "consume.client.heartbeat.interval.ms=500"]
    run = begin(broker.bootstrap, "phases.measure=3s", "load.rate=2k/s", "phases.drain=20s", *session)
    run.await_said("measure")
    sleep_seconds(1)
    run.worker("consumer-0").kill()
    folder, facts = run.end()

    received = {(row["producer"], row["seq"]) for row in rows(folder, "received")}
    assert facts.ending == "failed"
    assert facts.reasons == ["consumer-0 died: killed by signal 9"]
    assert facts.drained is True
    assert received == {(producer, seq) for producer in (0, 1) for seq in range(3_500)}


def test_interrupted_once_it_stops_drains_and_keeps(broker: EmbeddedBroker, begin: Callable[..., Run]) -> None:
    """Everything that was sent is also received."""
    run = begin(broker.bootstrap, "phases.measure=60s", "load.rate=2k/s")
    run.await_said("measure")
    sleep_seconds(2)
    run.interrupts.note()
    folder, facts = run.end()

    sent, received = (rows(folder, kind) for kind in ("sent", "received"))
    sent = [row for row in sent if row["error"] != "unsent"]
    assert (facts.ending, facts.drained) == ("interrupted", True)
    assert 1_000 < len(sent) < 20_000
    assert {(row["producer"], row["seq"]) for row in sent} == {(row["producer"], row["seq"]) for row in received}
    assert facts.phases[1].to_ns - facts.phases[1].from_ns < 10 * NS_PER_SECOND


@pytest.mark.timing
def test_interrupted_before_the_load_it_leaves_quietly(broker: EmbeddedBroker, begin: Callable[..., Run]) -> None:
    """Workers are still starting: nothing was measured, and nothing failed."""
    run = begin(broker.bootstrap, "phases.measure=60s")
    run.await_said("starting")
    run.interrupts.note()
    _, facts = run.end()

    assert (facts.ending, facts.phases) == ("interrupted", [])
    assert facts.reasons == ["interrupted before the load started"]


def test_interrupted_while_topics_are_made_it_says_what_is_left(
    broker: EmbeddedBroker, java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a cluster of the user's: the folder that names its topics is kept, and an empty one is not."""
    topic, interrupts = f"e2e-{os.getpid()}-{monotonic_ns()}", Interrupts()
    scenario = load_scenario("baseline", [f"topic.name={topic}"])
    request = Request(scenario, tmp_path, ["test"], java, bootstrap=broker.bootstrap)
    begin = Topics.begin

    def interrupted(topics: Topics) -> None:
        interrupts.note()
        begin(topics)

    monkeypatch.setattr(Topics, "begin", interrupted)
    said = f"topics and groups that it had created are still on {broker.bootstrap}"
    with pytest.raises(Interrupted, match=said):
        conduct(request, interrupts, lambda _text: None)
    (root,) = tmp_path.iterdir()
    assert [each.name for each in read_facts(RunFolder(root)).topics if each.uuid] == [topic]

    with pytest.raises(Interrupted, match=said):
        conduct(request, interrupts, lambda _text: None)
    assert list(tmp_path.iterdir()) == [root]
    Cluster(broker.bootstrap, {}).delete_topic(topic)


def test_interrupted_twice_it_stops_at_once(broker: EmbeddedBroker, begin: Callable[..., Run]) -> None:
    """What was recorded is kept."""
    run = begin(broker.bootstrap, "phases.measure=60s", "load.rate=2k/s")
    run.await_said("measure")
    sleep_seconds(2)
    began_ns = monotonic_ns()
    run.interrupts.count = 2
    folder, facts = run.end()

    assert monotonic_ns() - began_ns < 40 * NS_PER_SECOND
    assert facts.ending == "interrupted"
    assert len(rows(folder, "sent")) > 1_000


def test_a_killed_broker_ends_the_run_in_bounded_time(java: Java, tmp_path: Path, begin: Callable[..., Run]) -> None:
    """Messages time out within the drain; ends and commits that nobody can tell any more are named."""
    with one_broker(logs=tmp_path / "logs", java=java) as broker:
        run = begin(broker.bootstrap, "phases.measure=3s", "load.rate=1k/s", "phases.drain=2s")
        run.await_said("measure")
        sleep_seconds(1.5)
        broker.kill()
        folder, facts = run.end()

    sent = rows(folder, "sent")
    errors = {row["error"] for row in sent}
    assert facts.ending == "failed"
    assert len(sent) == 3_500
    assert None in errors
    assert errors <= {None, "_MSG_TIMED_OUT", "_PURGE_QUEUE", "_PURGE_INFLIGHT", "unsent"}
    assert len(errors) > 1


def test_only_producing_and_only_consuming(broker: EmbeddedBroker, begin: Callable[..., Run]) -> None:
    """Either side may be off; a full topic is read from its beginning and the run ends when it is read."""
    topic = f"topic.name=full-{os.getpid()}-{monotonic_ns()}"
    produced, facts = begin(broker.bootstrap, topic, "consume=off", "phases.measure=1s", "load.rate=2k/s").end()
    assert (facts.ending, facts.drained, facts.groups) == ("finished", None, [])

    read, facts = begin(broker.bootstrap, topic, "load=off", "phases.measure=60s", "phases.warmup=0s").end()

    sent, received = rows(produced, "sent"), rows(read, "received")
    assert facts.ending == "finished"
    assert facts.phases[1].to_ns - facts.phases[1].from_ns < 30 * NS_PER_SECOND
    assert len(sent) == len(received) == 3_000
    assert {row["due_ns"] for row in received} == {row["sent_ns"] for row in received} == {None}
    assert {row["intact"] for row in received} == {True}
    assert min(row["received_ns"] for row in received) >= facts.phases[0].from_ns


def test_secrets_are_written_nowhere(broker: EmbeddedBroker, begin: Callable[..., Run]) -> None:
    """Neither into run.json nor into any log of the run."""
    run = begin(broker.bootstrap, "phases.measure=1s", "load.rate=100/s", "load.client.sasl.password=hunter2hunter2")
    folder, facts = run.end()

    assert facts.scenario["load"]["client"]["sasl.password"] == "***"
    assert facts.ending == "finished"
    for path in folder.root.rglob("*"):
        assert not path.is_file() or b"hunter2" not in path.read_bytes(), path


def test_a_full_disk_ends_the_run_and_keeps_its_rows(broker: EmbeddedBroker, tmp_path: Path) -> None:
    """No file may grow beyond 1 MB, as if the disk were full: workers give up by name, and the rows so far are read."""
    settings = [f"--set=topic.name=disk-{os.getpid()}", "--set=phases.measure=60s", "--set=phases.drain=5s"]
    command = [*STREAMGAUGE, "run", "baseline", "--bootstrap", broker.bootstrap, "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, *settings],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
    )

    (root,) = tmp_path.iterdir()
    folder = RunFolder(root)
    facts = read_facts(folder)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert facts.ending == "failed"
    assert any("rows cannot be written: File too large" in reason for reason in facts.reasons)
    assert sum(worker.dropped_rows for worker in facts.workers) > 0
    assert len(rows(folder, "received")) > 5_000


def test_a_run_without_its_parent_ends_by_itself(broker: EmbeddedBroker, tmp_path: Path, java: Java) -> None:
    """kill -9 of the parent: workers see that it is gone, close their parts and leave, also one that was paused.

    The faults that it had injected by then are known.
    """
    settings = [f"--set=topic.name=orphan-{os.getpid()}", "--set=phases.warmup=100ms", "--set=phases.measure=60s"]
    settings += ["--set=faults=[{at: 0s, kind: pause, target: consumer-1, for: 100ms}]"]
    command = [*STREAMGAUGE, "run", "baseline", "--bootstrap", broker.bootstrap, "--out", str(tmp_path)]
    parent = subprocess.Popen([*command, *settings], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        limit_ns = monotonic_ns() + PATIENCE_NS
        while not any(part.stat().st_size > 100_000 for part in tmp_path.glob("*/events/received/*/_open-0")):
            assert monotonic_ns() < limit_ns
            sleep_seconds(0.05)
        (server,) = psutil.Process(parent.pid).children()
        workers = server.children()
        sleep_seconds(2)
        if sys.platform == "linux":
            workers[0].suspend()
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    gone, alive = psutil.wait_procs([server, *workers], timeout=20)
    for each in alive:
        each.kill()

    assert len(gone) == 1 + 6
    assert alive == []
    folder = RunFolder(next(tmp_path.iterdir()))
    assert read_facts(folder).ending is None
    assert len(rows(folder, "sent")) > 1_000
    close_left_open(folder)
    marks = rows(folder, "faults")
    assert [(mark["target"], mark["action"]) for mark in marks] == [("consumer-1", "begin"), ("consumer-1", "end")]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            ["topic.partitions=5"],
            "topic.partitions: topic {topic} exists with 4 partitions, not 5. Set topic.partitions=4",
        ),
        (["topic.partitions=4", "topic.reset=true"], "topic.reset: topic {topic} exists and would be deleted"),
        (
            ["load=off", "topic.name=nowhere"],
            "topic.name: topic nowhere does not exist, and the run does not produce to it",
        ),
    ],
)
def test_a_cluster_that_does_not_fit_is_told_before_anything_starts(
    broker: EmbeddedBroker,
    fresh_topic: Callable[[int], str],
    java: Java,
    tmp_path: Path,
    settings: list[str],
    expected: str,
) -> None:
    """One message, no folder left, nobody's topic deleted."""
    topic = fresh_topic(4)
    scenario = load_scenario("baseline", [f"topic.name={topic}", *settings])
    request = Request(scenario, tmp_path / "runs", [], java, bootstrap=broker.bootstrap)

    with pytest.raises(BadInput) as caught:
        conduct(request, Interrupts(), lambda _text: None)

    assert expected.format(topic=topic) in str(caught.value)
    assert list((tmp_path / "runs").iterdir()) == []
