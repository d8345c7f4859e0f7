"""What is done to the disk of a broker: limits, files that are lost or cut, and directories that pass through us."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import psutil
import pytest

from streamgauge.cluster.disks import limits, mounts
from streamgauge.cluster.disks.broker_disk import BrokerDisk
from streamgauge.cluster.disks.files import cut_tails
from streamgauge.cluster.disks.mounts import mounted, unmount_below, why_not
from streamgauge.domain.errors import BadInput
from streamgauge.scenario.model.environment.faults.disks import DiskFault


def fault(kind: str, **more: Any) -> DiskFault:
    return DiskFault.model_validate({"at": "1s", "kind": kind, "target": "broker-1", "for": "1s", **more})


class Owner:
    """A broker that notes what is done to it."""

    pid = os.getpid()
    is_down_on_purpose = False

    def __init__(self, *, alive: bool = True) -> None:
        self.alive = alive
        self.done: list[str] = []

    def kill(self) -> None:
        self.done.append("kill")

    def restart(self) -> None:
        self.done.append("restart")


def partition(directory: Path, name: str, *sizes: int) -> Path:
    """A partition with segments of these sizes."""
    folder = directory / name
    folder.mkdir(parents=True)
    for number, size in enumerate(sizes):
        (folder / f"{number:020}.log").write_bytes(bytes(size))
        (folder / f"{number:020}.index").write_bytes(b"index")
    return folder


def sizes(folder: Path) -> list[int]:
    return [path.stat().st_size for path in sorted(folder.glob("*.log"))]


def test_the_tail_of_the_last_segment_is_cut(tmp_path: Path) -> None:
    """Of each partition but Kafka's own; never more than there is."""
    long, short = partition(tmp_path, "t-0", 1000, 500), partition(tmp_path, "t-1", 60)
    own = partition(tmp_path, "__consumer_offsets-0", 900)
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0")

    assert cut_tails([tmp_path], 100) == 160

    assert (sizes(long), sizes(short), sizes(own)) == ([1000, 400], [0], [900])
    with pytest.raises(OSError, match="no partition on it has a message"):
        cut_tails([tmp_path / "t-1"], 100)


def test_data_are_lost_and_metadata_are_not(tmp_path: Path) -> None:
    partition(tmp_path / "topics", "t-0", 10)
    (tmp_path / "topics" / "meta.properties").write_text("x")
    (tmp_path / "metadata").mkdir()
    # As earlier versions kept them.
    partition(tmp_path / "topics", "__cluster_metadata-0", 10)
    owner = Owner()

    disk = BrokerDisk(owner, [tmp_path / "topics"], [], {})
    disk.begin(fault("lose-data"))
    # Without what says whose it is, no broker would start on it.
    left = {each.name for each in (tmp_path / "topics").iterdir()}
    assert left == {"meta.properties", "__cluster_metadata-0"}
    assert (tmp_path / "metadata").is_dir()
    disk.end(fault("lose-data"))

    assert owner.done == ["kill", "restart"]


def test_a_tail_is_cut_while_the_broker_is_dead(tmp_path: Path) -> None:
    folder, owner = partition(tmp_path, "t-0", 200_000), Owner()

    disk = BrokerDisk(owner, [tmp_path], [], {})
    disk.begin(fault("truncate-tail"))
    disk.end(fault("truncate-tail"))

    assert sizes(folder) == [200_000 - 65_536]
    assert owner.done == ["kill", "restart"]


WRITER = """
import sys
log = open(sys.argv[1], "wb", buffering=0)
print("ready", flush=True)
for line in sys.stdin:
    try:
        log.write(bytes(int(line)))
    except OSError as error:
        print(error.strerror, flush=True)
    else:
        print("written", flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of other processes are Linux's")
def test_writes_of_a_running_process_fail_beyond_a_limit(tmp_path: Path) -> None:
    """As a broker's do; its own logs may still grow a little."""
    own = tmp_path / "own.log"
    own.write_bytes(bytes(1000))
    command = [sys.executable, "-c", WRITER, str(tmp_path / "segment")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def writes(size: int) -> str:
            assert process.stdin
            assert process.stdout
            process.stdin.write(f"{size}\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        assert process.stdout
        process.stdout.readline()
        limits.limit_files(process.pid, [own, tmp_path / "missing"])
        assert writes(limits.HEADROOM_BYTES + 1000) == "written"
        assert writes(1) == "File too large"

    with pytest.raises(ProcessLookupError, match="is not running"):
        limits.limit_files(process.pid, [])


@pytest.mark.parametrize(
    ("said", "is_told"),
    [
        pytest.param("WARN LogManager Stopping serving logs in dir /data/topics\n", False, id="it was about to end"),
        pytest.param("INFO all is well\n", True, id="nothing was written to"),
        pytest.param(None, True, id="it had no time to say anything"),
    ],
)
def test_a_disk_that_nobody_wrote_to_did_not_fail(
    said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_told: bool
) -> None:
    """A broker that ended is started again; one that lives is ended before, as it may end at any moment."""
    done: list[str] = []
    monkeypatch.setattr("streamgauge.cluster.disks.broker_disk.limit_files", lambda *_: done.append("limit"))
    dead, alive, log = Owner(alive=False), Owner(), tmp_path / "broker.log"
    if said is not None:
        log.write_text(said)

    for owner in (dead, alive):
        BrokerDisk(owner, [], [log], {}).begin(fault("disk-fails"))
    BrokerDisk(dead, [], [log], {}).end(fault("disk-fails"))
    with pytest.raises(OSError, match="the broker did not end") if is_told else nullcontext():
        BrokerDisk(alive, [], [log], {}).end(fault("disk-fails"))

    assert (done, dead.done, alive.done) == (["limit", "limit"], ["restart"], ["kill", "restart"])


def test_a_directory_that_does_not_pass_through_us_is_told() -> None:
    with pytest.raises(OSError, match="directory 2 does not pass through"):
        BrokerDisk(Owner(), [Path("a"), Path("b")], [], {}).begin(fault("dir-full"))


def test_reasons_why_no_directory_can_pass_through(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each of them is told before anything starts."""
    monkeypatch.setattr(mounts, "which", lambda _: "/bin/fusermount3")
    monkeypatch.setattr(sys, "platform", "linux")
    assert why_not(tmp_path / "fuse") == f"{tmp_path / 'fuse'} cannot be opened: No such file or directory"
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert why_not() == "the Python package mfusepy is not installed"
    monkeypatch.setattr(mounts, "which", lambda _: None)
    assert "fusermount3 is not installed" in str(why_not())
    monkeypatch.setattr(sys, "platform", "darwin")
    assert why_not() == "FUSE is used on Linux only"


def test_what_is_mounted_below_a_folder_is_found(tmp_path: Path) -> None:
    told = tmp_path / "mountinfo"
    told.write_text(
        "1 0 8:1 / /data rw - ext4 /dev/sda rw\n"
        "2 1 0:5 / /data/a\\040b/topics-2 rw - fuse streamgauge rw\n"
        "3 1 0:6 / /data/a\\040b/topics-2/x rw - fuse.other y rw\n"
        "4 1 0:7 / /database rw - fuse z rw\n"
    )

    found = mounts.points_below(Path("/data"), told)

    assert found == [Path("/data/a b/topics-2/x"), Path("/data/a b/topics-2")]
    assert mounts.points_below(Path("/data"), tmp_path / "none") == []


def how(act: Callable[[], object]) -> str:
    try:
        act()
    except OSError as error:
        return str(error.strerror)
    return "works"


@pytest.mark.slow
@pytest.mark.parametrize("proves", ["the refusal" if why_not() else "the faults of a directory"])
def test_a_directory_fails_as_it_is_told_or_is_refused(
    proves: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Where FUSE can be used, what each fault does to files; where it cannot, that mounting says why."""
    behind, point, log = tmp_path / "behind", tmp_path / "a point", tmp_path / "log"
    mount, refusal = None, ""
    try:
        mount = mounted(behind, point, log)
    except BadInput as refused:
        refusal = str(refused)
    if mount is None:
        # Where nothing speaks against it, it may be refused all the same: in a container, for instance.
        record_property("proved", f"the refusal: {refusal}")
        assert "cannot be mounted with FUSE: " in refusal
        assert list(point.iterdir()) == []
        return
    assert why_not() is None
    record_property("proved", proves)
    try:
        segment = point / "t-0" / "0.log"
        segment.parent.mkdir()
        segment.write_bytes(b"old")

        def tried() -> tuple[str, str, str]:
            def write() -> None:
                with segment.open("ab", buffering=0) as file:
                    file.write(b"new")

            return how(segment.read_bytes), how(write), how((point / "more").mkdir)

        assert tried() == ("works", "works", "works")
        (point / "more").rmdir()
        failed, full = "Input/output error", "No space left on device"
        for kind, expected in (
            ("dir-fails", (failed, failed, failed)),
            ("dir-unreadable", (failed, "works", "works")),
            ("dir-full", ("works", full, full)),
        ):
            mount.tell(fault(kind))
            assert tried() == expected, kind
            mount.tell(None)
            if "works" in expected[2]:
                (point / "more").rmdir()
        assert segment.read_bytes() == b"oldnewnew"
        assert (behind / "t-0" / "0.log").read_bytes() == b"oldnewnew"
        # What was read before is read again, not remembered.
        with segment.open("rb", buffering=0) as file:
            file.read()
            mount.tell(fault("dir-unreadable"))
            assert how(lambda: (file.seek(0), file.read())) == failed
        # A server that was killed with all that it started leaves nothing mounted either.
        for each in (*psutil.Process(mount.process.pid).children(), psutil.Process(mount.process.pid)):
            each.kill()
        mount.process.wait(10)
    finally:
        mount.end()
        left = mounts.points_below(tmp_path)
        unmount_below(tmp_path)
    assert left == []
    assert list(point.iterdir()) == []
