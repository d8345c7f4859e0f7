"""Faults of brokers that outlive us: whoever starts next undoes what is left of them."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.cluster.test_disks import fault, partition, sizes
from tests.waiting import until

from streamgauge.cluster import outages, registry
from streamgauge.cluster import standing as nodes
from streamgauge.cluster.registry import Entry
from streamgauge.cluster.standing import StandingBroker, standing
from streamgauge.domain.errors import BrokerError
from streamgauge.processes.identity import identify

BOOTSTRAP = "127.0.0.1:1"


SLEEPS = "import time; time.sleep(600)"
LINGERS = """
import signal
import sys
import time

def end(*_):
    time.sleep(1.5)
    sys.exit()

signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
time.sleep(600)
"""
"""Obeys SIGTERM after a while, as a broker does in its controlled shutdown."""


def command(data: Path, program: str = SLEEPS) -> list[str]:
    """What looks like a broker, and sleeps."""
    return [sys.executable, "-c", program, f"{registry.MARKER}stands", str(data / registry.PROPERTIES)]


@pytest.fixture
def stands(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[StandingBroker]:
    """A process in the place of a broker that `broker start` started; whatever it has become is ended."""
    data = tmp_path / "data"
    (data / "topics").mkdir(parents=True)
    settings = f"process.roles=broker,controller\nnode.id=1\nlog.dirs={data / 'topics'}\n"
    (data / registry.PROPERTIES).write_text(settings, encoding="ascii")
    program = getattr(request, "param", SLEEPS)
    with subprocess.Popen(command(data, program), stdout=subprocess.PIPE) as process:
        assert process.stdout
        if program == LINGERS:
            process.stdout.readline()
        entry = Entry(
            name="stands", process=identify(process.pid), owner=None, bootstrap=BOOTSTRAP, version="4", data=data,
            temporary=False, log=tmp_path / "stands.log",
        )  # fmt: skip
        try:
            registry.register(entry)
            (broker,) = standing(BOOTSTRAP)
            yield broker
        finally:
            process.kill()
            for left in outages._LEFT:
                left.kill()
                left.wait(10)
            outages._LEFT.clear()
            for path in registry.file_of(entry).parent.iterdir():
                path.unlink()


def left_by_somebody_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if whoever noted it had been killed."""
    monkeypatch.setattr(outages, "is_gone", lambda _: True)


def is_paused(broker: StandingBroker) -> bool:
    return psutil.Process(broker.pid).status() == psutil.STATUS_STOPPED


def notes() -> list[Path]:
    return list(registry.file_of(registry.listing()[0]).parent.glob("*.outage")) if registry.listing() else []


def test_it_is_known_by_its_address(stands: StandingBroker) -> None:
    assert (stands.number, stands.is_broker, stands.has_ended) == (1, True, False)
    assert standing("127.0.0.1:2") == []
    for same in ("localhost:1", "LOCALHOST:1", "[::1]:1", "elsewhere:1,localhost:1"):
        assert [each.pid for each in standing(same)] == [stands.pid]
    assert standing("elsewhere:1") == []


def test_its_name_in_a_run_has_the_number_that_kafka_knows(stands: StandingBroker) -> None:
    """As rows, leaders and resources have it; the registry may have given that name to a broker of another cluster."""
    assert (stands.entry.name, stands.name) == ("stands", "broker-1")


def test_a_command_line_that_the_system_has_not_set_yet_is_waited_for(
    stands: StandingBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = psutil.Process(stands.pid).cmdline()
    answers = iter(([], [], known))
    monkeypatch.setattr(psutil.Process, "cmdline", lambda _: next(answers))
    assert [each.pid for each in standing(BOOTSTRAP)] == [stands.pid]


def test_one_that_never_tells_its_command_line_is_not_known(
    stands: StandingBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "_COMMAND_SECONDS", 0.0)
    monkeypatch.setattr(psutil.Process, "cmdline", lambda _: [])
    assert standing(BOOTSTRAP) == []


def test_a_pause_is_noted_until_it_is_over(stands: StandingBroker) -> None:
    stands.signal(signal.SIGSTOP)
    until(lambda: is_paused(stands))
    assert len(notes()) == 1
    # Who noted it lives, and will see to it.
    assert outages.undo() == []
    stands.signal(signal.SIGCONT)
    until(lambda: not is_paused(stands))
    assert notes() == []


def test_a_pause_that_was_left_is_ended(stands: StandingBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    stands.signal(signal.SIGSTOP)
    until(lambda: is_paused(stands))
    left_by_somebody_dead(monkeypatch)

    assert outages.undo() == [stands.entry]
    until(lambda: not is_paused(stands))
    assert notes() == []


def test_a_kill_ends_with_another_life_on_the_same_data(
    stands: StandingBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stands.pid
    stands.signal(signal.SIGKILL)
    os.waitpid(before, 0)
    assert stands.has_ended
    # Nobody takes it for a broker that is gone, whose data may go.
    assert registry.sweep() == []
    with pytest.raises(ProcessLookupError):
        stands.signal(signal.SIGSTOP)
    stands.restart()

    assert stands.pid != before
    assert [each.process.pid for each in registry.listing()] == [stands.pid]
    assert notes() == []
    monkeypatch.setattr(outages, "GONE_SECONDS", 0.01)
    with pytest.raises(OSError, match="has not ended"):
        stands.restart()


def test_one_that_was_left_dead_is_started_again(stands: StandingBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    before = stands.pid
    stands.signal(signal.SIGKILL)
    os.waitpid(before, 0)
    left_by_somebody_dead(monkeypatch)

    (again,) = standing(BOOTSTRAP)
    assert (again.entry.name, again.pid != before, again.has_ended) == ("stands", True, False)
    assert notes() == []


def left_alone(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the brokers that are there after whoever starts next has looked; data of none are taken away."""
    left_by_somebody_dead(monkeypatch)
    outages.undo()
    assert notes() == []
    assert registry.sweep() == []
    return [each.name for each in registry.listing()]


@pytest.mark.parametrize("stands", [LINGERS], indirect=True)
@pytest.mark.parametrize("patience", [outages.GONE_SECONDS, 0.2])
def test_one_that_was_left_ending_is_started_again(
    stands: StandingBroker, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """Whether it ends in time or has to be killed: it would end later, and be taken for one that nobody wants."""
    monkeypatch.setattr(outages, "GONE_SECONDS", patience)
    before = stands.pid
    stands.signal(signal.SIGTERM)

    assert left_alone(monkeypatch) == ["stands"]
    assert registry.listing()[0].process.pid != before
    assert not psutil.pid_exists(before) or psutil.Process(before).status() == psutil.STATUS_ZOMBIE


def test_one_whose_end_was_noted_only_is_started_again(stands: StandingBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can know whether it was told; and one that is paused hears of nothing."""
    os.kill(stands.pid, signal.SIGSTOP)
    stands.note(signal.SIGTERM)

    assert left_alone(monkeypatch) == ["stands"]
    assert registry.listing()[0].process.pid != stands.pid


def test_notes_of_earlier_versions_are_read(stands: StandingBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not tell what was done."""
    stands.signal(signal.SIGSTOP)
    (path,) = notes()
    path.write_text(path.read_text().replace('"signal": 19', '"signal": null'))
    assert "19" not in path.read_text().partition("signal")[2]

    assert left_alone(monkeypatch) == ["stands"]
    assert not is_paused(stands)


def test_what_could_not_be_undone_stays_noted(
    stands: StandingBroker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And the data with it, until it can be."""
    stands.kill()
    left_by_somebody_dead(monkeypatch)
    with monkeypatch.context() as broken:
        broken.setattr(outages, "spawn", lambda *_: (_ for _ in ()).throw(FileNotFoundError("java")))
        assert outages.undo() == []
        assert registry.sweep() == []
    with monkeypatch.context() as broken:
        broken.setattr(registry, "succeed", lambda *_: (_ for _ in ()).throw(BrokerError("no space")))
        assert outages.undo() == []
    assert registry.brokers_in(tmp_path / "data") == []

    assert left_alone(monkeypatch) == ["stands"]


def test_what_runs_already_is_not_started_twice(
    stands: StandingBroker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever started it again was killed before that was written down."""
    stands.kill()
    with subprocess.Popen(command(tmp_path / "data")) as again:
        until(lambda: registry.brokers_in(tmp_path / "data"))
        assert left_alone(monkeypatch) == ["stands"]
        assert [each.process.pid for each in registry.listing()] == [again.pid]
        again.kill()


def test_of_data_that_are_gone_nothing_is_started(
    stands: StandingBroker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stands.kill()
    shutil.rmtree(tmp_path / "data")
    left_by_somebody_dead(monkeypatch)
    outages.undo()

    assert list(registry.file_of(stands.entry).parent.glob("*.outage")) == []
    assert registry.brokers_in(tmp_path / "data") == []


def test_one_that_was_asked_to_end_stays_noted_when_it_goes_on(stands: StandingBroker) -> None:
    stands.note(signal.SIGTERM)
    stands.signal(signal.SIGCONT)
    assert len(notes()) == 1


@pytest.mark.parametrize("kind", ["lose-data", "truncate-tail"])
def test_what_its_disk_lost_is_lost_while_it_is_dead(stands: StandingBroker, tmp_path: Path, kind: str) -> None:
    """Noted until it is started again."""
    folder, before = partition(tmp_path / "data" / "topics", "t-0", 200_000), stands.pid
    stands.disk.begin(fault(kind))
    assert stands.has_ended
    assert registry.sweep() == []
    stands.disk.end(fault(kind))

    assert (stands.pid != before, stands.has_ended) == (True, False)
    assert sizes(folder) == ([200_000 - 65_536] if kind == "truncate-tail" else [])
    assert notes() == []


@pytest.mark.skipif(sys.platform != "linux", reason="limits of other processes are Linux's")
def test_a_disk_that_was_left_failing_is_that_of_another_life(
    stands: StandingBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes next cannot tell whether a write has failed."""
    before = stands.pid
    stands.disk.begin(fault("disk-fails"))
    assert psutil.Process(before).rlimit(psutil.RLIMIT_FSIZE)[0] != psutil.RLIM_INFINITY

    assert left_alone(monkeypatch) == ["stands"]
    (entry,) = registry.listing()
    assert entry.process.pid != before
    assert psutil.Process(entry.process.pid).rlimit(psutil.RLIMIT_FSIZE)[0] == psutil.RLIM_INFINITY


@pytest.mark.skipif(sys.platform != "linux", reason="limits of other processes are Linux's")
def test_one_that_its_disk_did_not_end_is_ended_and_started_again(stands: StandingBroker) -> None:
    """A write that failed at the last moment may end it a moment later, when nobody would start it again."""
    before = stands.pid
    stands.disk.begin(fault("disk-fails"))
    with pytest.raises(OSError, match="the broker did not end"):
        stands.disk.end(fault("disk-fails"))

    assert stands.pid != before
    assert stands.alive
    assert psutil.Process(stands.pid).rlimit(psutil.RLIMIT_FSIZE)[0] == psutil.RLIM_INFINITY
    assert notes() == []


def test_a_single_directory_of_it_cannot_fail(stands: StandingBroker) -> None:
    """It would have to pass through us since its start; and nothing is noted of what was not done."""
    for act in (stands.disk.begin, stands.disk.end):
        with pytest.raises(OSError, match="directory 1 does not pass through"):
            act(fault("dir-full"))
    assert notes() == []
