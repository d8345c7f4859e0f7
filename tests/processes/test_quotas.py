"""Where the files of control groups are, and what they say, in the forms of both versions."""

import math

import pytest

from streamgauge.processes.cpu.quotas import (
    Quota,
    Throttling,
    folders,
    quota_v1,
    quota_v2,
    throttling,
    together,
)

V1_MOUNTS = """\
22 1 0:20 / /proc rw,relatime - proc proc rw
32 31 0:29 {root} /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 {root} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
"""
V2_MOUNTS = "30 24 0:26 {root} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
HYBRID = V1_MOUNTS + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
V1 = "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n"
CPU = "/sys/fs/cgroup/cpu,cpuacct"

FOLDERS: dict[str, tuple[str, str | None, list[tuple[int, str]]]] = {
    "v1, on a host": (
        V1,
        V1_MOUNTS.format(root="/"),
        [(1, f"{CPU}/docker/abc"), (1, f"{CPU}/docker"), (1, CPU)],
    ),
    "v1, in a container: its group is mounted, its path is the host's": (
        V1,
        V1_MOUNTS.format(root="/docker/abc"),
        [(1, CPU)],
    ),
    "v1, below a group that is mounted": (
        "3:cpu:/docker/abc/inner\n",
        V1_MOUNTS.format(root="/docker/abc"),
        [(1, f"{CPU}/inner"), (1, CPU)],
    ),
    "v1, in a container of another path": (V1, V1_MOUNTS.format(root="/kubepods/x"), [(1, CPU)]),
    "a name that only begins like the mounted one": (
        "3:cpu:/docker/abcd\n",
        V1_MOUNTS.format(root="/docker/abc"),
        [(1, CPU)],
    ),
    "both versions, processors in v1": (
        "3:cpu,cpuacct:/a\n0::/b\n",
        HYBRID.format(root="/"),
        [(1, f"{CPU}/a"), (1, CPU), (2, "/sys/fs/cgroup/unified/b"), (2, "/sys/fs/cgroup/unified")],
    ),
    "v2, on a host": (
        "0::/user.slice/one.scope\n",
        V2_MOUNTS.format(root="/"),
        [(2, "/sys/fs/cgroup/user.slice/one.scope"), (2, "/sys/fs/cgroup/user.slice"), (2, "/sys/fs/cgroup")],
    ),
    "v2, in a container with groups of its own": ("0::/\n", V2_MOUNTS.format(root="/"), [(2, "/sys/fs/cgroup")]),
    "v2, moved out of what is mounted": ("0::/../other\n", V2_MOUNTS.format(root="/"), [(2, "/sys/fs/cgroup")]),
    "a mount with a blank in its path": (
        "0::/a b\n",
        "30 24 0:26 / /mnt/my\\040groups rw - cgroup2 none rw\n",
        [(2, "/mnt/my groups/a b"), (2, "/mnt/my groups")],
    ),
    "two mounts: the one that shows more": (
        "0::/pod/one\n",
        V2_MOUNTS.format(root="/pod/one") + "31 24 0:26 / /host/cgroup rw - cgroup2 none rw\n",
        [(2, "/host/cgroup/pod/one"), (2, "/host/cgroup/pod"), (2, "/host/cgroup")],
    ),
    "mounts are not told, v1": (
        "3:cpu:/a\n",
        None,
        [(1, "/sys/fs/cgroup/cpu/a"), (1, "/sys/fs/cgroup/cpu")],
    ),
    "mounts are not told, v2": (
        "0::/a\n",
        None,
        [
            (2, "/sys/fs/cgroup/a"),
            (2, "/sys/fs/cgroup"),
            (2, "/sys/fs/cgroup/unified/a"),
            (2, "/sys/fs/cgroup/unified"),
        ],
    ),
    "no group for processors": ("4:memory:/a\n", V1_MOUNTS.format(root="/"), []),
    "v1 without a mount of it": ("3:cpu:/a\n", V2_MOUNTS.format(root="/"), []),
    "nothing is told": ("", "", []),
    "not of this world": ("what\n3:cpu\n0:\n::\n", "32 31 - cgroup\n - - -\n", []),
}


@pytest.mark.parametrize(("membership", "mountinfo", "expected"), FOLDERS.values(), ids=FOLDERS)
def test_the_groups_of_a_process(membership: str, mountinfo: str | None, expected: list[tuple[int, str]]) -> None:
    """From its own up to the outermost."""
    found = folders(membership, mountinfo, "cpu")

    assert [(each.version, str(each.path)) for each in found] == expected


@pytest.mark.parametrize(
    ("told", "quota"),
    [
        ("150000 100000\n", Quota(1.5, 100_000_000)),
        ("5000 10000", Quota(0.5, 10_000_000)),
        ("max 100000", Quota(math.inf, 100_000_000)),
        ("100000", None),
        ("max", None),
        ("max 0", None),
        ("0 100000", None),
        ("-1 100000", None),
        ("x 100000", None),
        ("1 2 3", None),
        ("", None),
        (None, None),
    ],
)
def test_a_quota_of_version_2(told: str | None, quota: Quota | None) -> None:
    assert quota_v2(told) == quota


@pytest.mark.parametrize(
    ("quota_us", "period_us", "quota"),
    [
        ("50000\n", "100000\n", Quota(0.5, 100_000_000)),
        ("-1\n", "100000\n", Quota(math.inf, 100_000_000)),
        ("50000", None, None),
        ("50000", "0", None),
        (None, "100000", None),
        ("0", "100000", None),
        ("-2", "100000", None),
        ("much", "100000", None),
    ],
)
def test_a_quota_of_version_1(quota_us: str | None, period_us: str | None, quota: Quota | None) -> None:
    assert quota_v1(quota_us, period_us) == quota


HALF = Quota(0.5, 100_000_000)
V1_STAT = "nr_periods 300\nnr_throttled 279\nthrottled_time 21000000000\nnr_bursts 0\nburst_time 0\n"
V2_STAT = "usage_usec 9\nuser_usec 8\nsystem_usec 1\nnr_periods 300\nnr_throttled 279\nthrottled_usec 21000000\n"


@pytest.mark.parametrize(
    ("stat", "quota", "expected"),
    [
        (V1_STAT, HALF, Throttling(279, 21_000_000_000, 27_900_000_000)),
        (V2_STAT, HALF, Throttling(279, 21_000_000_000, 27_900_000_000)),
        (V2_STAT, None, Throttling(279, 21_000_000_000, None)),
        ("nr_periods 0\nnr_throttled 0\nthrottled_time 0\n", None, Throttling(0, 0, 0)),
        # Version 2 without the CPU controller tells what was used, and nothing of quotas.
        ("usage_usec 9\nuser_usec 8\nsystem_usec 1\n", None, None),
        ("nr_throttled 3\n", HALF, None),
        ("nr_throttled x\nthrottled_time 5\n", HALF, None),
        ("nr_throttled\nthrottled_time 5 6\n", HALF, None),
        ("", HALF, None),
        (None, HALF, None),
    ],
)
def test_what_a_quota_did(stat: str | None, quota: Quota | None, expected: Throttling | None) -> None:
    """The two versions count in different units."""
    assert throttling(stat, quota) == expected


def test_every_level_stops_threads() -> None:
    """What is not known of one level is not known of all; where there is no level nothing is."""
    outer, inner, untold = Throttling(1, 50, 100), Throttling(2, 30, 20), Throttling(4, 7, None)

    assert together([]) is None
    assert together([outer]) == outer
    assert together([inner, outer]) == Throttling(3, 80, 120)
    assert together([inner, outer, untold]) == Throttling(7, 87, None)
