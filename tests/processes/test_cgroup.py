"""The groups of a process, read from made-up trees and from this system."""

import math
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.quota import quota_group

from streamgauge.processes.cpu.groups import Groups
from streamgauge.processes.cpu.quotas import Quota, Throttling

V1 = "sys/fs/cgroup/cpu,cpuacct"
V2 = "sys/fs/cgroup"


def tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


def stat_v1(throttled: int, time_ns: int) -> str:
    return f"nr_periods 99\nnr_throttled {throttled}\nthrottled_time {time_ns}\n"


def stat_v2(throttled: int, time_us: int) -> str:
    return f"usage_usec 5\nnr_periods 99\nnr_throttled {throttled}\nthrottled_usec {time_us}\n"


CASES: dict[str, tuple[Mapping[str, str], Quota | None, Throttling | None]] = {
    "v1, the quota is one level up": (
        {
            "proc/self/cgroup": "3:cpu,cpuacct:/pod/one\n1:name=systemd:/\n",
            "proc/self/mountinfo": f"32 31 0:29 / /{V1} rw - cgroup cgroup rw,cpu,cpuacct\n",
            f"{V1}/pod/one/cpu.cfs_quota_us": "-1\n",
            f"{V1}/pod/one/cpu.cfs_period_us": "100000\n",
            f"{V1}/pod/one/cpu.stat": stat_v1(0, 0),
            f"{V1}/pod/cpu.cfs_quota_us": "150000\n",
            f"{V1}/pod/cpu.cfs_period_us": "100000\n",
            f"{V1}/pod/cpu.stat": stat_v1(4, 7_000),
            f"{V1}/cpu.stat": stat_v1(0, 0),
        },
        Quota(1.5, 100_000_000),
        Throttling(4, 7_000, 400_000_000),
    ),
    "v2, two levels have quotas": (
        {
            "proc/self/cgroup": "0::/pod/one\n",
            "proc/self/mountinfo": f"30 24 0:26 / /{V2} rw - cgroup2 cgroup2 rw\n",
            f"{V2}/pod/one/cpu.max": "50000 100000\n",
            f"{V2}/pod/one/cpu.stat": stat_v2(3, 9),
            f"{V2}/pod/cpu.max": "200000 50000\n",
            f"{V2}/pod/cpu.stat": stat_v2(2, 1),
            f"{V2}/cpu.stat": "usage_usec 5\n",
        },
        Quota(0.5, 100_000_000),
        Throttling(5, 10_000, 400_000_000),
    ),
    "v2, no quota": (
        {
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": f"30 24 0:26 / /{V2} rw - cgroup2 cgroup2 rw\n",
            f"{V2}/cpu.max": "max 100000\n",
            f"{V2}/cpu.stat": stat_v2(0, 0),
        },
        Quota(math.inf, 100_000_000),
        Throttling(0, 0, 0),
    ),
    "the controller is off": (
        {"proc/self/cgroup": "0::/\n", f"{V2}/cpu.stat": "usage_usec 5\n"},
        Quota(math.inf, 0),
        None,
    ),
    "nothing is mounted": ({"proc/self/cgroup": "0::/\n"}, None, None),
    "no cgroups": ({}, None, None),
}


@pytest.mark.parametrize(("files", "quota", "throttled"), CASES.values(), ids=CASES)
def test_quotas_of_every_level_count(
    tmp_path: Path, files: Mapping[str, str], quota: Quota | None, throttled: Throttling | None
) -> None:
    """The tightest is the quota; what all of them stopped is added up."""
    groups = Groups.of_this_process(root=tree(tmp_path, files))

    assert (groups.quota(), groups.throttling()) == (quota, throttled)


def test_a_group_that_is_gone_is_unknown(tmp_path: Path) -> None:
    files = CASES["v2, no quota"][0]
    groups = Groups.of_this_process(root=tree(tmp_path, files))
    for name in (f"{V2}/cpu.max", f"{V2}/cpu.stat"):
        (tmp_path / name).unlink()

    assert groups.throttling() is None


SPIN = """
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.processes.cpu.groups import Groups
groups, limit_ns = Groups.of_this_process(), monotonic_ns() + 20 * NS_PER_SECOND
before = groups.throttling()
while (now := groups.throttling()).periods < before.periods + 3 and monotonic_ns() < limit_ns:
    pass
print(groups.quota().cores, now.periods - before.periods, now.stopped_ns - before.stopped_ns, now.periods_ns)
"""


@pytest.mark.cgroup
def test_a_quota_that_is_used_up_is_seen_by_who_is_stopped() -> None:
    """For real: a process that spins in a group of a twentieth of a core is stopped for the most of each period.

    That much it gets on a machine that is busy, too.
    """
    with quota_group() as group:
        group.limit(0.05)
        spun = subprocess.run(
            group.entering(sys.executable, "-c", SPIN), check=True, capture_output=True, text=True, timeout=60
        )

    cores, periods, stopped_ns, periods_ns = (float(each) for each in spun.stdout.split())
    assert cores == 0.05
    assert periods >= 3
    assert stopped_ns > 50_000_000
    assert periods_ns >= 300_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has cgroups")
def test_this_system_tells_the_same_twice() -> None:
    """Or nothing; where quotas are told of, counters only rise."""
    early, late = Groups.of_this_process().throttling(), Groups.of_this_process().throttling()

    assert (early is None) == (late is None)
    if early and late:
        assert 0 <= early.stopped_ns <= late.stopped_ns
