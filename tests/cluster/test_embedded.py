"""The embedded broker: what it is while it runs, and that nothing of it is left in every way of ending."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.brokers import one_broker
from tests.waiting import until

from streamgauge.cluster import data, embedded, registry
from streamgauge.cluster.data import ROOM_BYTES
from streamgauge.cluster.embedded import start_cluster
from streamgauge.cluster.nodes import starting
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.cluster.nodes.ports import free_ports
from streamgauge.domain import clock
from streamgauge.domain.errors import BadInput, BrokerError, Interrupted
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.prime import prime
from streamgauge.processes.identity import identify
from streamgauge.processes.jvm.compilers import NICE, compilers_of
from streamgauge.processes.jvm.java import Java

pytestmark = pytest.mark.kafka


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's temporary folder and the user's state, for this test alone."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return folder


def state_files(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "state" / "streamgauge" / "brokers").iterdir())


def open_ports(pid: int) -> set[tuple[str, int]]:
    listening = psutil.Process(pid).net_connections("inet")
    return {(each.laddr.ip, each.laddr.port) for each in listening if each.status == psutil.CONN_LISTEN}


def test_it_listens_on_loopback_only(broker: EmbeddedBroker) -> None:
    ports = open_ports(broker.pid)

    assert len(ports) == 2
    assert {ip.removeprefix("::ffff:") for ip, _ in ports} == {"127.0.0.1"}
    assert broker.bootstrap in {f"127.0.0.1:{port}" for _, port in ports}


def test_it_hears_no_ctrl_c_from_our_terminal(broker: EmbeddedBroker) -> None:
    assert os.getsid(broker.pid) == broker.pid != os.getsid(0)


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities of their own on Linux only")
def test_its_compilers_can_be_told_to_wait_and_nothing_else(broker: EmbeddedBroker) -> None:
    broker.compile_when_idle()

    compilers = compilers_of(broker.pid)
    nice = {each.id: os.getpriority(os.PRIO_PROCESS, each.id) for each in psutil.Process(broker.pid).threads()}
    assert compilers
    assert {thread for thread, priority in nice.items() if priority == NICE} == set(compilers)


def test_it_is_registered_under_its_owner(broker: EmbeddedBroker) -> None:
    assert broker.entry in registry.listing()
    assert broker.entry.owner == identify(os.getpid())


def test_garbage_collections_are_stamped_with_our_clock(broker: EmbeddedBroker) -> None:
    log = broker.entry.log.with_name(f"{broker.name}-gc.log")
    now = clock.clock_pair()
    age_ns = now.wall_ns - int(psutil.Process(broker.pid).create_time() * clock.NS_PER_SECOND)

    stamps = [int(line[1 : line.index("ns]")]) for line in log.read_text().splitlines()]

    assert stamps == sorted(stamps)
    assert 0 < stamps[0] - (now.monotonic_ns - age_ns) < 2 * clock.NS_PER_SECOND
    assert stamps[-1] < clock.monotonic_ns()


def test_features_of_a_new_cluster_are_all_on(broker: EmbeddedBroker) -> None:
    """Share groups and transactions need them; a storage that was not formatted properly lacks them."""
    log = broker.entry.log.read_text(encoding="utf-8")

    assert "share.version=1" in log
    assert "transaction.version=2" in log


def test_stopping_leaves_no_process_no_port_and_no_file(java: Java, tmp_path: Path, temporary: Path) -> None:
    with one_broker(logs=tmp_path / "logs", java=java) as broker:
        ports = open_ports(broker.pid)
        assert len(list(temporary.iterdir())) == 1
        assert len(state_files(tmp_path)) == 1

    assert not broker.alive
    assert broker.exit_code == 128 + signal.SIGTERM
    assert not psutil.pid_exists(broker.pid)
    for _, port in ports:
        with socket.socket() as knock:
            assert knock.connect_ex(("127.0.0.1", port)) != 0
    assert list(temporary.iterdir()) == []
    assert state_files(tmp_path) == []
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == ["broker-1-gc.log", "broker-1.log"]


def test_a_paused_broker_answers_nothing_and_then_again(java: Java, tmp_path: Path, temporary: Path) -> None:
    with one_broker(logs=tmp_path / "logs", java=java) as broker:
        Cluster(broker.bootstrap, {}).reachable()

        broker.pause()
        # One thread stops all others, once it is its turn on a busy machine; until then they answer.
        until(lambda: psutil.Process(broker.pid).status() == psutil.STATUS_STOPPED)
        assert broker.alive
        impatient = Cluster(broker.bootstrap, {}, timeout_seconds=0.5)
        with pytest.raises(BrokerError, match=f"no broker responds at {broker.bootstrap} within 0.5 s"):
            impatient.reachable()
        with pytest.raises(BrokerError, match="offsets of group g could not be set"):
            impatient.set_committed("g", "t", [0])
        broker.resume()
        Cluster(broker.bootstrap, {}).reachable()

        assert broker.how_ended() is None
        broker.check()
        broker.kill()
        assert broker.exit_code == -signal.SIGKILL
        assert broker.how_ended() == "broker-1 ended with exit code -9"
        with pytest.raises(BrokerError, match=rf"broker-1 ended with exit code -9. The end of {broker.entry.log}:"):
            broker.check()
        assert not list(Path("/tmp").glob(f"hsperfdata_*/{broker.pid}")), "Java keeps no file outside the data folder"
        broker.pause()
    broker.stop()

    assert list(temporary.iterdir()) == []
    assert state_files(tmp_path) == []


def test_kept_data_are_there_again_after_a_restart_on_other_ports(java: Java, tmp_path: Path, temporary: Path) -> None:
    data = tmp_path / "dätä dir"
    with one_broker(logs=tmp_path / "logs", java=java, data=data, keep_data=True) as first:
        Cluster(first.bootstrap, {}).create_topic("kept", 3, 1)
        with pytest.raises(BadInput, match=rf"in use by broker-1 at {first.bootstrap} \(process {first.pid}\)"):
            start_cluster(logs=tmp_path / "other", java=java, data=data)
    with one_broker(logs=tmp_path / "logs", java=java, data=data) as second:
        assert second.bootstrap != first.bootstrap
        assert Cluster(second.bootstrap, {}).partitions_of("kept") == 3

    assert (data / "topics" / "kept-0").is_dir(), "a folder that was there before is never removed"


OWNER = """
import os, sys, signal
from pathlib import Path
from streamgauge.cluster.embedded import start_cluster
from streamgauge.processes.jvm.java import find_java
cluster = start_cluster(logs=Path(sys.argv[1]), java=find_java(os.environ))
print(cluster.nodes[0].pid, flush=True)
signal.pause()
"""


@pytest.fixture
def owner(tmp_path: Path, temporary: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that starts a broker, tells its number and then does nothing."""
    command = [sys.executable, "-c", OWNER, str(tmp_path / "logs")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(temporary)}
    ) as started:
        yield started
        started.kill()
    registry.sweep()


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM], ids=lambda each: each.name)
def test_a_broker_does_not_survive_its_owner(
    owner: "subprocess.Popen[str]", ending: signal.Signals, tmp_path: Path, temporary: Path
) -> None:
    assert owner.stdout
    pid = int(owner.stdout.readline())
    assert len(list(temporary.iterdir())) == 1

    owner.send_signal(ending)
    assert owner.wait() == -ending
    if sys.platform == "linux":
        until(lambda: not psutil.pid_exists(pid))

    assert [each.process.pid for each in registry.sweep()] == [pid]
    assert not psutil.pid_exists(pid)
    assert list(temporary.iterdir()) == []
    assert state_files(tmp_path) == []


def test_a_port_that_is_lost_on_the_way_is_replaced(
    java: Java, tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        choices = iter([[taken.getsockname()[1], *free_ports(1)], free_ports(2)])
        monkeypatch.setattr(embedded, "free_ports", lambda *_: next(choices))

        with one_broker(logs=tmp_path / "logs", java=java) as broker:
            Cluster(broker.bootstrap, {}).reachable()

    assert list(temporary.iterdir()) == []
    assert state_files(tmp_path) == []


def test_a_broker_that_cannot_start_says_why_and_leaves_nothing(java: Java, tmp_path: Path, temporary: Path) -> None:
    with pytest.raises(BrokerError, match=r"(?s)broker-1 ended \(1\) .*broker-1\.log:.*Invalid initial heap size"):
        start_cluster(ClusterPlan(heap="5z"), logs=tmp_path / "logs", java=java)

    assert list(temporary.iterdir()) == []
    assert state_files(tmp_path) == []


def test_a_broker_that_is_never_ready_is_given_up(
    java: Java, tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "_START_SECONDS", 0)

    with pytest.raises(BrokerError, match="broker-1 was not ready after 0 s"):
        start_cluster(logs=tmp_path / "logs", java=java)

    assert list(temporary.iterdir()) == []
    assert state_files(tmp_path) == []


def test_jars_that_are_no_broker_are_told(java: Java, tmp_path: Path, temporary: Path) -> None:
    with pytest.raises(BrokerError, match=r"(?s)could not be formatted.*StorageTool"):
        start_cluster(logs=tmp_path / "logs", java=java, jars=[tmp_path / "none.jar"])

    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("stage", ["formatting", "starting"])
def test_a_start_can_be_given_up_and_leaves_nothing(java: Java, tmp_path: Path, temporary: Path, stage: str) -> None:
    folder = tmp_path / "state" / "streamgauge" / "brokers"

    def check() -> None:
        if stage == "formatting" or (folder.is_dir() and any(folder.glob("*.json"))):
            raise Interrupted("enough")

    with pytest.raises(Interrupted, match="enough"):
        start_cluster(logs=tmp_path / "logs", java=java, check=check)

    assert list(temporary.iterdir()) == []
    assert state_files(tmp_path) == []
    assert [each for each in psutil.Process().children() if str(temporary) in " ".join(each.cmdline())] == []


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize("temporary_data", [True, False])
def test_brokers_are_claimed_before_they_are_registered(
    java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary_data: bool
) -> None:
    """Who is killed meanwhile leaves no broker that nobody knows of, and takes no data along that are to be kept."""
    claims: list[registry.Claim] = []
    folder = tmp_path / "state" / "streamgauge" / "brokers"

    def cut_off(_: object) -> None:
        claims.extend(registry.Claim.model_validate_json(path.read_bytes()) for path in folder.glob("*.claim"))
        raise Interrupted("enough")

    monkeypatch.setattr("streamgauge.cluster.embedded._start", cut_off)
    with pytest.raises(Interrupted, match="enough"):
        start_cluster(logs=tmp_path / "logs", java=java, data=tmp_path / "data", keep_data=not temporary_data)

    assert [(each.data, each.temporary) for each in claims] == [(tmp_path / "data", temporary_data)]
    assert state_files(tmp_path) == []


@pytest.fixture
def _never(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be started."""
    for name in ("prepare", "launch"):
        monkeypatch.setattr(embedded, name, lambda *_: pytest.fail("something was started"))


@pytest.mark.usefixtures("_never")
def test_too_small_a_disk_is_told_before_anything_starts(
    java: Java, tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "free_bytes", lambda _folder: 26_000_000)

    with pytest.raises(BadInput) as caught:
        start_cluster(logs=tmp_path / "logs", java=java, data=tmp_path / "data")

    assert str(caught.value) == (
        f"data folder {tmp_path}/data: its disk has 26.0 MB left; a broker needs 64.0 MB. "
        "Free space, or choose a folder on another disk"
    )
    assert not (tmp_path / "data").exists()


@pytest.mark.usefixtures("_never")
def test_a_state_folder_that_cannot_be_written_is_told_before_anything_starts(
    java: Java, tmp_path: Path, temporary: Path
) -> None:
    (tmp_path / "state").touch()

    with pytest.raises(BadInput, match=r"state folder .*/state/streamgauge/brokers: .*Not a directory.*XDG_STATE_HOME"):
        start_cluster(logs=tmp_path / "logs", java=java)

    assert list(temporary.iterdir()) == []


def _blocks(folder: Path) -> int:
    """Blocks of the disk that a folder takes, whose files the broker may remove meanwhile."""
    blocks = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                blocks += (Path(where) / name).stat().st_blocks
    return blocks


def test_a_start_and_priming_fit_into_the_room_that_is_asked_for(java: Java, tmp_path: Path, temporary: Path) -> None:
    with one_broker(logs=tmp_path / "logs", java=java, data=tmp_path / "data") as broker:
        begun = _blocks(tmp_path)
        prime(Cluster(broker.bootstrap, {}, check=broker.check))
        primed = _blocks(tmp_path)

    # How much priming writes in its seconds depends on the machine; that it does shows that the right folder is read.
    assert 0 < begun * 512 < primed * 512 < ROOM_BYTES


@pytest.mark.parametrize(
    ("name", "said"), [("a,b", "comma"), ("file", "not a folder"), ("file/below", "cannot be used")]
)
def test_a_data_folder_that_cannot_be_is_refused(
    java: Java, tmp_path: Path, temporary: Path, name: str, said: str
) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(BadInput, match=said):
        start_cluster(logs=tmp_path / "logs", java=java, jars=[tmp_path], data=tmp_path / name)
