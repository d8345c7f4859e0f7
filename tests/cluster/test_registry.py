"""No embedded broker outlives its purpose: what is an orphan, and what becomes of it."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from streamgauge.cluster import embedded, registry
from streamgauge.cluster.embedded import EmbeddedCluster
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.cluster.nodes.layout import ClusterPlan, Member
from streamgauge.cluster.nodes.node import Node
from streamgauge.cluster.registry import Entry, orphans
from streamgauge.domain.errors import BadInput, BrokerError
from streamgauge.processes.identity import ProcessId, identify, is_alive
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.places import state_folder

LIVING, DEAD, ELSEWHERE = (ProcessId(pid=pid, start_ticks=1) for pid in (1, 2, 3))
ME = identify(os.getpid())
NOBODY = ME.model_copy(update={"pid": 2**22 - 3})
PYTHON = [sys.executable, "-S", "-c"]
POLITE = "import signal, sys; signal.signal(15, lambda *_: print('bye', flush=True) or sys.exit()); print(flush=True)"


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
    pytest.param(ELSEWHERE, ELSEWHERE, False, id="a run on another machine, which sees the same folder"),
    pytest.param(ELSEWHERE, None, False, id="a broker that was asked to stay on another machine"),
]


@pytest.mark.parametrize(("process", "owner", "orphaned"), CASES)
def test_an_orphan_is_what_nobody_looks_after(process: ProcessId, owner: ProcessId | None, orphaned: bool) -> None:
    each = entry(process, owner)

    found = orphans([each], lambda asked: asked.process == DEAD, lambda asked: asked == DEAD)

    assert found == ([each] if orphaned else [])


def test_a_broker_that_is_to_start_again_has_its_ports_meanwhile(brokers: Path) -> None:
    """Another cluster that starts while a fault keeps it down would else listen there."""
    down = entry(NOBODY, ME).model_copy(update={"ports": (30_001, 30_002)})
    registry.register(down)

    assert registry.listing() == []
    assert registry.reserved_ports() == {30_001, 30_002}


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


def test_what_is_registered_is_listed_until_it_is_forgotten(brokers: Path, process: "subprocess.Popen[bytes]") -> None:
    kept = entry(identify(process.pid), None)

    registry.register(kept)
    listed = registry.listing()
    process.kill()
    process.wait()

    assert listed == [kept]
    assert registry.forget(kept)
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


def test_a_folder_in_which_a_broker_was_being_made_goes_with_its_owner(brokers: Path, tmp_path: Path) -> None:
    """Not before."""
    for name in ("mine", "left"):
        (tmp_path / name).mkdir()
    with registry.claimed(tmp_path / "mine"):
        registry.sweep()
        assert (tmp_path / "mine").exists()
    assert list(brokers.iterdir()) == []

    claim(brokers, tmp_path / "left")
    assert registry.sweep() == []

    assert {path.name for path in tmp_path.iterdir()} == {"mine", "state"}
    assert list(brokers.iterdir()) == []


def claim(brokers: Path, data: Path, *, temporary: bool = True) -> Path:
    """What somebody left who was killed while he started brokers there."""
    found = brokers / "left.claim"
    registry.write(found, registry.Claim(owner=NOBODY, data=data, temporary=temporary))
    return found


@contextmanager
def broker_in(data: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process with the command line of a broker in a data folder, which says `bye` when it is asked to end."""
    data.mkdir(parents=True)
    properties = str(data / "server.properties")
    words = [*PYTHON, f"{POLITE}; signal.pause()", "-Dstreamgauge.broker=broker-1", "kafka.Kafka", properties]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as started:
        assert started.stdout
        started.stdout.readline()
        try:
            yield started
        finally:
            started.kill()


@pytest.mark.parametrize(("temporary", "said"), [(True, b""), (False, b"bye\n")])
def test_brokers_whose_start_was_not_over_go_with_who_started_them(
    brokers: Path, tmp_path: Path, temporary: bool, said: bytes
) -> None:
    """Although they were to stay: nobody was told of them. The last one is not even registered.

    In order where their data are kept.
    """
    cluster = tmp_path / "left"
    with broker_in(cluster / "broker-1") as one, broker_in(cluster / "broker-2") as other:
        first = entry(identify(one.pid), None, cluster / "broker-1", temporary=temporary)
        first = first.model_copy(update={"cluster": cluster})
        registry.register(first)
        with registry.claimed(cluster, temporary=temporary):
            assert registry.sweep() == []
        assert (one.poll(), other.poll()) == (None, None)
        claim(brokers, cluster, temporary=temporary)

        assert registry.sweep() == [first]

        assert not any(psutil.pid_exists(each.pid) for each in (one, other))
        assert other.stdout
        assert other.stdout.read() == said
    assert cluster.exists() != temporary
    assert list(brokers.iterdir()) == []


def test_one_of_them_that_cannot_be_ended_keeps_its_data(
    brokers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is known until it can be."""
    monkeypatch.setattr(registry, "_PATIENCE_SECONDS", 0.01)
    with broker_in(tmp_path / "left"), monkeypatch.context() as unheard:
        unheard.setattr(psutil.Process, "kill", lambda _self: None)
        left = claim(brokers, tmp_path / "left")
        assert registry.sweep() == []
        assert left.exists()
        assert (tmp_path / "left").exists()


@pytest.mark.parametrize(
    ("temporary", "cluster", "said"),
    [
        pytest.param(True, None, b"bye\n", id="as earlier versions wrote it"),
        pytest.param(True, "data", b"bye\n", id="one alone"),
        pytest.param(True, ".", b"", id="one of several"),
        pytest.param(False, ".", b"bye\n", id="one of several whose data are kept"),
    ],
)
def test_a_broker_ends_in_order_unless_it_would_wait_for_others_that_have_ended(
    brokers: Path, tmp_path: Path, temporary: bool, cluster: str | None, said: bytes
) -> None:
    with broker_in(tmp_path / "data") as process:
        left = entry(identify(process.pid), None, tmp_path / "data", temporary=temporary)
        registry.end(left.model_copy(update={"cluster": tmp_path / cluster if cluster else None}))

        assert process.stdout
        assert process.stdout.read() == said


def test_a_paused_broker_need_not_be_killed(brokers: Path) -> None:
    with subprocess.Popen([*PYTHON, f"{POLITE}; signal.pause()"], stdout=subprocess.PIPE, text=True) as process:
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
    before = {"start_ticks": (stranger.start_ticks or 0) - 1, "created": 1.0}
    registry.register(entry(stranger.model_copy(update=before), NOBODY))

    assert len(registry.sweep()) == 1

    assert process.poll() is None


def test_half_a_file_is_removed_and_one_of_another_version_is_not(brokers: Path) -> None:
    brokers.mkdir(parents=True)
    (brokers / "7.json").write_text("{", encoding="utf-8")
    (brokers / "8.json").write_text('{"format": 9}', encoding="utf-8")

    assert registry.sweep() == []
    assert registry.listing() == []
    assert [path.name for path in brokers.iterdir()] == ["8.json"]


def data_of(tmp_path: Path) -> Path:
    """A data folder with something in it."""
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / "topic").touch()
    return tmp_path / "data"


def step_of_the_wall_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the boot seem to have been at another time, which is what a step comes to for who asks when it was."""
    before = psutil.boot_time()
    monkeypatch.setattr("psutil._psplatform.boot_time", lambda: before + seconds)
    assert psutil.boot_time() == before + seconds


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere times of creation do not move with the clock")
@pytest.mark.parametrize("seconds", [-3600, -3, 3, 3600])
@pytest.mark.parametrize("owned", [True, False], ids=["of a run", "asked to stay"])
def test_a_step_of_the_wall_clock_ends_nothing(
    brokers: Path,
    tmp_path: Path,
    process: "subprocess.Popen[bytes]",
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    owned: bool,
) -> None:
    mine = entry(identify(process.pid), identify(os.getpid()) if owned else None, data_of(tmp_path))
    registry.register(mine)

    step_of_the_wall_clock(monkeypatch, seconds)

    assert registry.sweep() == []
    assert registry.listing() == [mine]
    assert process.poll() is None
    assert (mine.data / "topic").exists()


@pytest.fixture
def broker_like(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """One in the data folder of `data_of`."""
    with broker_in(tmp_path / "data") as started:
        yield started


def earlier(process: int, owner: int | None = None) -> tuple[ProcessId, ProcessId | None]:
    """Processes as an earlier version wrote them, at a time by the wall clock that is wrong by now."""
    return ProcessId(pid=process, created=1.0), None if owner is None else ProcessId(pid=owner, created=1.0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere times of creation are what is written today")
def test_what_an_earlier_version_wrote_of_a_living_broker_is_kept(
    brokers: Path, tmp_path: Path, broker_like: "subprocess.Popen[bytes]"
) -> None:
    kept = entry(*earlier(broker_like.pid), data_of(tmp_path))
    registry.register(kept)
    assert [path.name for path in brokers.iterdir()] == [f"{broker_like.pid}.json"]

    assert registry.sweep() == []
    assert not registry.forget(kept)

    assert registry.listing() == [kept]
    assert (kept.data / "topic").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere times of creation are what is written today")
def test_an_owner_of_whom_an_earlier_version_wrote_is_believed_to_live(
    brokers: Path, tmp_path: Path, broker_like: "subprocess.Popen[bytes]"
) -> None:
    """Its number lives: nothing tells that it is not the owner."""
    kept = entry(*earlier(broker_like.pid, os.getpid()), data_of(tmp_path))
    registry.register(kept)

    assert registry.sweep() == []
    assert (kept.data / "topic").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere times of creation are what is written today")
def test_a_number_that_an_earlier_version_wrote_and_a_stranger_has_is_no_broker(
    brokers: Path, tmp_path: Path, process: "subprocess.Popen[bytes]"
) -> None:
    left = entry(*earlier(process.pid), data_of(tmp_path))
    registry.register(left)

    assert registry.sweep() == [left]

    assert process.poll() is None
    assert not left.data.exists()


def test_an_owner_that_died_while_it_started_its_broker_again_leaves_nothing(
    brokers: Path, tmp_path: Path, broker_like: "subprocess.Popen[bytes]"
) -> None:
    """The file still names the process of before; the one that took its place works in the data folder."""
    left = entry(NOBODY, NOBODY, data_of(tmp_path))
    registry.register(left)
    assert not registry.forget(left), "somebody works in the folder"
    assert (left.data / "topic").exists()

    assert registry.sweep() == [left]

    assert not psutil.pid_exists(broker_like.pid)
    assert not left.data.exists()
    assert list(brokers.iterdir()) == []


def test_a_living_broker_is_never_forgotten(brokers: Path, tmp_path: Path, process: "subprocess.Popen[bytes]") -> None:
    mine = entry(identify(process.pid), None, data_of(tmp_path))
    registry.register(mine)

    assert not registry.forget(mine)

    assert registry.listing() == [mine]
    assert (mine.data / "topic").exists()


def test_what_cannot_be_ended_keeps_its_data_and_its_file(
    brokers: Path, tmp_path: Path, process: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a process whose disk does not answer, which no signal reaches."""
    left = entry(identify(process.pid), NOBODY, data_of(tmp_path))
    registry.register(left)
    monkeypatch.setattr(registry, "_PATIENCE_SECONDS", 0.01)
    for name in ("terminate", "kill"):
        monkeypatch.setattr(psutil.Process, name, lambda _self: None)

    assert registry.sweep() == []
    with pytest.raises(
        BrokerError, match=rf"broker-1 \(process {process.pid}\) could not be stopped; its data are kept"
    ):
        registry.end(left)

    assert registry.listing() == [left]
    assert (left.data / "topic").exists()


def test_two_sweeps_at_once_do_not_disturb_each_other(
    brokers: Path, tmp_path: Path, process: "subprocess.Popen[bytes]"
) -> None:
    left = [entry(NOBODY.model_copy(update={"start_ticks": at}), NOBODY, tmp_path / str(at)) for at in range(20)]
    for each in left:
        (each.data / "topics").mkdir(parents=True)
        registry.register(each)
    mine = entry(identify(process.pid), ME, data_of(tmp_path))
    registry.register(mine)

    with ThreadPoolExecutor(2) as pool:
        swept = [future.result() for future in [pool.submit(registry.sweep) for _ in range(2)]]

    assert {each.data for sweep in swept for each in sweep} == {each.data for each in left}
    assert not any(each.data.exists() for each in left)
    assert registry.listing() == [mine]
    assert (mine.data / "topic").exists()


def test_a_number_that_is_used_again_at_once_has_a_file_of_its_own(
    brokers: Path, process: "subprocess.Popen[bytes]"
) -> None:
    """A sweep that began before may still remove the file of who had the number."""
    mine = entry(identify(process.pid), ME)
    before = entry(mine.process.model_copy(update={"start_ticks": 1, "created": 1.0}), NOBODY)
    registry.register(before)
    registry.register(mine)

    assert registry.forget(before)

    assert registry.listing() == [mine]


def test_a_state_folder_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file stands where the folder would be: nobody may write there, not even root."""
    (tmp_path / "state").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    with pytest.raises(BadInput) as caught:
        registry.check_writable()

    assert str(caught.value) == (
        f"state folder {tmp_path}/state/streamgauge/brokers: the list of running brokers cannot be "
        "written there: Not a directory. Check its permissions and its disk, or set XDG_STATE_HOME to another "
        "folder"
    )
    with pytest.raises(BrokerError, match=r"a broker cannot be registered in .*/brokers: Not a directory"):
        registry.register(entry(ME, None))


def test_a_full_disk_of_the_state_folder_is_told(brokers: Path) -> None:
    """A limit on the size of files acts as a disk that is full; it is put on a process of its own."""
    code = (
        "import resource, signal; from streamgauge.cluster import registry; signal.signal(25, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)); registry.check_writable()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "BadInput: state folder" in done.stderr
    assert list(brokers.iterdir()) == []


def test_a_state_folder_that_can_be_written_is_left_empty(brokers: Path) -> None:
    registry.check_writable()

    assert list(brokers.iterdir()) == []


def test_state_is_kept_where_the_user_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/elsewhere")
    assert state_folder() == Path("/elsewhere/streamgauge")


@pytest.mark.parametrize("owned", [True, False], ids=["ours", "detached"])
def test_the_end_of_the_block_ends_a_broker_that_is_ours(
    brokers: Path, owned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[EmbeddedBroker] = []
    monkeypatch.setattr(embedded, "_LEFT", left)
    process = subprocess.Popen([*PYTHON, "import signal; signal.pause()"])
    known = identify(process.pid)

    member = Member(1, "broker-1")
    node = Node("broker-1", member, brokers, brokers, Java(Path("java"), "17", 17), [], "1g", detached=not owned)
    plan, mine = ClusterPlan(), entry(known, ME if owned else None)
    with EmbeddedCluster([EmbeddedBroker(mine, process, node)], plan):
        # From here on only the broker holds it, which must not be told off for a child that nobody waits for.
        del process

    gc.collect()
    alive = is_alive(known)
    registry.end(entry(known, None))
    for each in left:
        each.process.wait()
    assert alive is not owned
