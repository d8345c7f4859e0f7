"""What is read of a machine, from made-up trees of /proc and /sys."""

import math
import resource
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge.record.probe import WATCHED_SECONDS, probe
from streamgauge.verdict.fitness import Machine, findings

CLOCKS = "sys/devices/system/clocksource/clocksource0"
CPU = "sys/devices/system/cpu"
STAT = "cpu  {} 0 0 {} 0 0 0 {} 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\nctxt 5\n"


def tree(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def read(root: Path, files: dict[str, str | bytes], pause: Callable[[float], None] = lambda _: None) -> Machine:
    return probe(root / "runs", tree(root / "tree", files), pause)


def test_the_settings_of_the_kernel_are_read(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        {
            f"{CLOCKS}/current_clocksource": "hpet\n",
            f"{CLOCKS}/available_clocksource": "tsc hpet acpi_pm \n",
            "proc/self/timerslack_ns": "50000\n",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave\n",
            f"{CPU}/cpu1/cpufreq/scaling_governor": "performance\n",
            f"{CPU}/cpu10/cpufreq/scaling_governor": "powersave\n",
        },
    )

    assert (found.clock_source, found.clock_sources) == ("hpet", ("tsc", "hpet", "acpi_pm"))
    assert (found.timer_slack_ns, found.huge_pages) == (50_000, "madvise")
    assert found.governors == ("performance", "powersave")


@pytest.mark.parametrize("content", [None, "", "\n", "no number", b"\xff\xfe\x00", "-", "9" * 99])
def test_what_is_missing_or_broken_is_unknown(tmp_path: Path, content: str | bytes | None) -> None:
    """Never an error, and every finding can be made of it."""
    names = (
        "proc/self/timerslack_ns",
        "proc/stat",
        "sys/kernel/mm/transparent_hugepage/enabled",
        "sys/fs/cgroup/other",
    )
    found = read(tmp_path, {} if content is None else dict.fromkeys(names, content))

    assert (found.clock_source, found.clock_sources, found.governors) == (None, (), ())
    assert (found.timer_slack_ns, found.huge_pages, found.steal_share) == (None, None, None)
    assert (found.cpu_limit_cores, found.memory_limit_bytes) == (None, None)
    assert findings(found)


def test_what_every_system_tells_is_told(tmp_path: Path) -> None:
    found = read(tmp_path, {})

    assert found.python
    assert found.cores
    assert found.memory_bytes
    assert found.memory_available_bytes
    assert found.open_files


def test_room_is_that_of_the_folder_that_will_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def usage(path: Path) -> Any:
        asked.append(path)
        return SimpleNamespace(free=7)

    monkeypatch.setattr("streamgauge.processes.disk.shutil.disk_usage", usage)
    found = probe(tmp_path / "not" / "yet", tmp_path, lambda _: None)

    assert (found.disk_free_bytes, asked) == (7, [tmp_path])
    assert found.run_folder == str(tmp_path / "not" / "yet")


def test_a_disk_that_does_not_answer_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def usage(path: Path) -> Any:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("streamgauge.processes.disk.shutil.disk_usage", usage)

    assert read(tmp_path, {}).disk_free_bytes is None


def test_a_limit_that_is_not_set_is_infinite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamgauge.record.probe.resource.getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    found = read(tmp_path, {})

    assert (found.open_files, found.open_files_hard) == (256, math.inf)


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        ((100, 100, 10), (150, 140, 20), 0.1),
        ((100, 100, 10), (150, 150, 10), 0.0),
        ((100, 100, 10), (100, 100, 10), None),
        ((100, 100, 10), (200, 200, 9), 0.0),
    ],
)
def test_steal_is_a_share_of_what_passed_between_two_looks(
    tmp_path: Path, before: tuple[int, ...], after: tuple[int, ...], share: float | None
) -> None:
    waited: list[float] = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        tree(tmp_path / "tree", {"proc/stat": STAT.format(*after)})

    found = read(tmp_path, {"proc/stat": STAT.format(*before)}, pause)

    assert found.steal_share == share
    assert waited == [WATCHED_SECONDS]


@pytest.mark.parametrize("content", [None, "", "cpu 1 2 3 4\n", "cpu 1 2 3 4 5 6 7 x\n", "intr 1 2 3 4 5 6 7 8\n"])
def test_without_steal_nothing_is_waited_for(tmp_path: Path, content: str | None) -> None:
    found = read(tmp_path, {} if content is None else {"proc/stat": content}, lambda _: pytest.fail("waited"))

    assert found.steal_share is None


def test_a_second_look_that_fails_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "tree" / "proc" / "stat"
    found = read(tmp_path, {"proc/stat": STAT.format(1, 1, 1)}, lambda _: path.unlink())

    assert found.steal_share is None


GROUPS = "sys/fs/cgroup"
V1 = "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n"
CASES: dict[str, tuple[dict[str, str], float | None, float | None]] = {
    "v2, in a container": (
        {"proc/self/cgroup": "0::/\n", f"{GROUPS}/cpu.max": "150000 100000\n", f"{GROUPS}/memory.max": "4096\n"},
        1.5,
        4096,
    ),
    "v2, without limits": (
        {"proc/self/cgroup": "0::/\n", f"{GROUPS}/cpu.max": "max 100000\n", f"{GROUPS}/memory.max": "max\n"},
        math.inf,
        math.inf,
    ),
    "v2, on a host: the group above is tighter": (
        {
            "proc/self/cgroup": "0::/user.slice/one.scope\n",
            f"{GROUPS}/user.slice/one.scope/cpu.max": "300000 100000\n",
            f"{GROUPS}/user.slice/cpu.max": "200000 100000\n",
            f"{GROUPS}/user.slice/one.scope/memory.max": "4096\n",
            f"{GROUPS}/user.slice/memory.max": "max\n",
        },
        2.0,
        4096,
    ),
    "v2, at the root, which has no limits": ({"proc/self/cgroup": "0::/\n", f"{GROUPS}/x": ""}, math.inf, math.inf),
    "v1, in a container that does not see its path": (
        {
            "proc/self/cgroup": V1,
            f"{GROUPS}/cpu/cpu.cfs_quota_us": "50000\n",
            f"{GROUPS}/cpu/cpu.cfs_period_us": "100000\n",
            f"{GROUPS}/memory/memory.limit_in_bytes": "8192\n",
        },
        0.5,
        8192,
    ),
    "v1, on a host": (
        {
            "proc/self/cgroup": V1,
            f"{GROUPS}/cpu/docker/abc/cpu.cfs_quota_us": "400000\n",
            f"{GROUPS}/cpu/docker/abc/cpu.cfs_period_us": "100000\n",
            f"{GROUPS}/memory/docker/abc/memory.limit_in_bytes": "8192\n",
            f"{GROUPS}/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
        4.0,
        8192,
    ),
    "v1, without limits": (
        {
            "proc/self/cgroup": V1,
            f"{GROUPS}/cpu/cpu.cfs_quota_us": "-1\n",
            f"{GROUPS}/cpu/cpu.cfs_period_us": "100000\n",
            f"{GROUPS}/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
        math.inf,
        math.inf,
    ),
    "broken": (
        {
            "proc/self/cgroup": "what\n0::/\n4:memory\n3:cpu:/\n",
            f"{GROUPS}/cpu.max": "100000\n",
            f"{GROUPS}/memory.max": "much\n",
            f"{GROUPS}/cpu/cpu.cfs_quota_us": "100000\n",
            f"{GROUPS}/cpu/cpu.cfs_period_us": "0\n",
        },
        math.inf,
        math.inf,
    ),
    "not mounted": ({"proc/self/cgroup": "0::/\n"}, None, None),
    "not there": ({f"{GROUPS}/cpu.max": "100000 100000\n"}, None, None),
}


@pytest.mark.parametrize(("files", "cores", "size"), CASES.values(), ids=CASES)
def test_the_tightest_limit_of_a_container_counts(
    tmp_path: Path, files: dict[str, str | bytes], cores: float | None, size: float | None
) -> None:
    found = read(tmp_path, files)

    assert (found.cpu_limit_cores, found.memory_limit_bytes) == (cores, size)
