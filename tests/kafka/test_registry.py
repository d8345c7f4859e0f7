"""No embedded broker outlives its purpose: what is an orphan, and what becomes of it."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from streamgauge.kafka import registry
from streamgauge.kafka.embedded import EmbeddedBroker
from streamgauge.kafka.registry import Entry, ProcessId, identify, is_alive, orphans, state_folder

LIVING, DEAD = ProcessId(pid=1, created=1.0), ProcessId(pid=2, created=1.0)
NOBODY = ProcessId(pid=2**22 - 3, created=1.0)
ME = identify(os.getpid())
PYTHON = [sys.executable, "-S", "-c"]


def entry(
    process: ProcessId, owner: ProcessId | None, data: Path = Path("/nowhere"), *, temporary: bool = True
) -> Entry:
    return Entry(
        name="broker-1",
        process=process,
        owner=owner,
        bootstrap="127.0.0.1:9",
        version="4",
        data=data,
        temporary=temporary,
        log=Path("/nowhere/broker-1.log"),
    )


CASES = [
    pytest.param(LIVING, LIVING, False, id="a run's broker"),
    pytest.param(LIVING, None, False, id="a broker that was asked to stay"),
    pytest.param(LIVING, DEAD, True, id="a broker whose run was killed"),
    pytest.param(DEAD, LIVING, False, id="a broker that died and may be started again by its run"),
    pytest.param(DEAD, None, True, id="a broker that was asked to stay and died"),
    pytest.param(DEAD, DEAD, True, id="a machine that was switched off"),
]


@pytest.mark.parametrize(("process", "owner", "orphaned"), CASES)
def test_an_orphan_is_what_nobody_looks_after(process: ProcessId, owner: ProcessId | None, orphaned: bool) -> None:
    each = entry(process, owner)

    assert orphans([each], lambda asked: asked == LIVING) == ([each] if orphaned else [])


@pytest.fixture
def brokers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a registry that is empty."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "streamgauge" / "brokers"


@pytest.fixture
def process() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that stands for a broker; does nothing for a long time."""
    with subprocess.Popen([*PYTHON, "import signal; signal.pause()"]) as started:
        yield started
        started.kill()


def test_a_process_is_known_by_its_start_too(process: "subprocess.Popen[bytes]") -> None:
    known = identify(process.pid)

    assert is_alive(known)
    assert not is_alive(known.model_copy(update={"created": known.created - 60}))
    assert not is_alive(NOBODY)


def test_a_zombie_is_not_alive(process: "subprocess.Popen[bytes]") -> None:
    known = identify(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE
    assert not is_alive(known)


def test_what_is_registered_is_listed_until_it_is_forgotten(brokers: Path, process: "subprocess.Popen[bytes]") -> None:
    kept = entry(identify(process.pid), None)

    registry.register(kept)
    listed = registry.listing()
    registry.forget(kept)

    assert listed == [kept]
    assert registry.listing() == []
    assert list(brokers.iterdir()) == []


def test_a_broker_without_its_owner_is_ended_and_cleared_away(
    brokers: Path, tmp_path: Path, process: "subprocess.Popen[bytes]"
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "topic").touch()
    left = entry(identify(process.pid), NOBODY, tmp_path / "data")
    registry.register(left)

    assert registry.sweep() == [left]

    assert not psutil.pid_exists(process.pid)
    assert not (tmp_path / "data").exists()
    assert list(brokers.iterdir()) == []


def test_a_paused_broker_need_not_be_killed(brokers: Path) -> None:
    polite = (
        "import signal, sys; signal.signal(15, lambda *_: print('bye', flush=True) or sys.exit()); print(flush=True)"
    )
    with subprocess.Popen([*PYTHON, f"{polite}; signal.pause()"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        registry.register(entry(identify(process.pid), NOBODY))

        registry.sweep()

        assert process.stdout.read() == "bye\n"


def test_a_broker_that_will_not_end_is_made_to(brokers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_PATIENCE_SECONDS", 0.1)
    stubborn = "import signal; signal.signal(15, signal.SIG_IGN); print(flush=True); signal.pause()"
    with subprocess.Popen([*PYTHON, stubborn], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.read(1)
        registry.register(entry(identify(process.pid), NOBODY))

        registry.sweep()

        assert not psutil.pid_exists(process.pid)


def test_what_others_may_still_want_is_left_alone(
    brokers: Path, tmp_path: Path, process: "subprocess.Popen[bytes]"
) -> None:
    (tmp_path / "kept").mkdir()
    mine = entry(identify(process.pid), identify(os.getpid()))
    ended = entry(NOBODY, None, tmp_path / "kept", temporary=False)
    registry.register(mine)
    registry.register(ended)

    assert registry.sweep() == [ended]

    assert process.poll() is None
    assert (tmp_path / "kept").is_dir()
    assert registry.listing() == [mine]


def test_a_number_used_again_does_not_end_a_stranger(brokers: Path, process: "subprocess.Popen[bytes]") -> None:
    stranger = identify(process.pid)
    registry.register(entry(stranger.model_copy(update={"created": stranger.created - 60}), NOBODY))

    assert len(registry.sweep()) == 1

    assert process.poll() is None


def test_a_file_that_cannot_be_read_is_removed(brokers: Path) -> None:
    brokers.mkdir(parents=True)
    (brokers / "7.json").write_text("{", encoding="utf-8")

    assert registry.sweep() == []
    assert list(brokers.iterdir()) == []


def test_state_is_kept_where_the_user_wants_it() -> None:
    assert state_folder({"XDG_STATE_HOME": "/elsewhere"}) == Path("/elsewhere/streamgauge")
    assert state_folder({}) == Path.home() / ".local" / "state" / "streamgauge"


@pytest.mark.parametrize("owned", [True, False], ids=["ours", "detached"])
def test_the_end_of_the_block_ends_a_broker_that_is_ours(brokers: Path, owned: bool) -> None:
    process = subprocess.Popen([*PYTHON, "import signal; signal.pause()"])
    known = identify(process.pid)

    with EmbeddedBroker(entry(known, ME if owned else None), process):
        # From here on only the broker holds it, which must not be told off for a child that nobody waits for.
        del process

    gc.collect()
    alive = is_alive(known)
    registry.end(entry(known, None))
    assert alive is not owned
