"""Faults of brokers that outlive us: whoever starts next undoes what is left of them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.waiting import until

from streamgauge.cluster import outages, registry
from streamgauge.cluster.outages import StandingBroker, standing
from streamgauge.cluster.registry import Entry
from streamgauge.processes.identity import identify

BOOTSTRAP = "127.0.0.1:1"


def command(data: Path) -> list[str]:
    """What looks like a broker, and sleeps."""
    sleeps = "import time; time.sleep(600)"
    return [sys.executable, "-c", sleeps, f"{registry.MARKER}stands", str(data / registry.PROPERTIES)]


@pytest.fixture
def stands(tmp_path: Path) -> Iterator[StandingBroker]:
    """A process in the place of a broker that `broker start` started; whatever it has become is ended."""
    data = tmp_path / "data"
    data.mkdir()
    (data / registry.PROPERTIES).write_text("process.roles=broker,controller\nnode.id=1\n", encoding="ascii")
    with subprocess.Popen(command(data)) as process:
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
    assert (stands.name, stands.number, stands.is_broker, stands.has_ended) == ("stands", 1, True, False)
    assert standing("127.0.0.1:2") == []


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
    monkeypatch.setattr(outages, "_COMMAND_SECONDS", 0.0)
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
    monkeypatch.setattr(outages, "_GONE_SECONDS", 0.01)
    with pytest.raises(OSError, match="has not ended"):
        stands.restart()


def test_one_that_was_left_dead_is_started_again(stands: StandingBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    before = stands.pid
    stands.signal(signal.SIGKILL)
    os.waitpid(before, 0)
    left_by_somebody_dead(monkeypatch)

    (again,) = standing(BOOTSTRAP)
    assert (again.name, again.pid != before, again.has_ended) == ("stands", True, False)
    assert notes() == []
