"""The findings about a machine: every subject, at every border, and where nothing is told."""

import math
from dataclasses import replace
from typing import Any

import pytest

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.verdict.calibration import Calibration
from streamgauge.verdict.fitness import RULES, Finding, Machine, findings, is_ready

GIB = 1 << 30
DAY_NS = 86_400 * NS_PER_SECOND


def calibration(rate: float, days: float = 1, version: str = "1.0", miscounted: tuple[str, ...] = ()) -> Calibration:
    """A calibration that is so many days old on the thousandth day."""
    return Calibration({}, version, rate, int((1_000 - days) * DAY_NS), {}, miscounted)


GOOD = Machine(
    system="Linux",
    python="3.12.4",
    java_version="21.0.1",
    java_path="/jdk/bin/java",
    jars_missing=0,
    jars_folder="/cache/jars",
    cores=8,
    cpu_limit_cores=math.inf,
    memory_bytes=16 * GIB,
    memory_available_bytes=12 * GIB,
    memory_limit_bytes=math.inf,
    run_folder="runs",
    disk_free_bytes=100 * GIB,
    open_files=1_048_576,
    open_files_hard=math.inf,
    clock_source="tsc",
    clock_sources=("tsc", "hpet"),
    timer_slack_ns=50_000,
    huge_pages="madvise",
    governors=("performance",),
    steal_share=0.0,
    wall_ns=DAY_NS * 1_000,
    version="1.0",
    calibrations=(calibration(1_000), calibration(10_000)),
)


def finding(name: str, **changes: Any) -> Finding:
    """What is found about one subject of a good machine that is changed."""
    return next(each for each in findings(replace(GOOD, **changes)) if each.name == name)


def test_on_a_good_machine_nothing_is_to_be_mended() -> None:
    found = findings(GOOD)

    assert {each.name: each.status for each in found} == {each.name: "ok" for each in found}
    assert len({each.name for each in found}) == len(RULES)
    assert all(each.found and each.meaning for each in found)
    assert is_ready(found)


@pytest.mark.parametrize(
    ("name", "changes", "status", "found"),
    [
        ("java", {}, "ok", "21.0.1, /jdk/bin/java"),
        ("java", {"java_path": None}, "ok", "21.0.1"),
        ("java", {"java_version": None}, "fail", "none found"),
        ("java", {"java_version": None, "java_fault": "PATH: nothing found"}, "fail", "PATH: nothing found"),
        ("python", {"python": "3.11.0"}, "ok", "3.11.0"),
        ("python", {"python": "3.14.0rc1"}, "ok", "3.14.0rc1"),
        ("python", {"python": "4.0.0"}, "ok", "4.0.0"),
        ("python", {"python": "3.10.14"}, "fail", "3.10.14"),
        ("jars", {}, "ok", "all in /cache/jars"),
        ("jars", {"jars_missing": 1}, "warn", "1 to be downloaded into /cache/jars"),
        ("jars", {"jars_missing": 3, "jars_folder": None}, "warn", "3 to be downloaded into the cache"),
        ("memory", {}, "ok", "12.9 GB free of 17.2 GB"),
        ("memory", {"memory_bytes": None}, "ok", "12.9 GB free"),
        ("memory", {"memory_available_bytes": 4 * GIB}, "ok", "4.29 GB free of 17.2 GB"),
        ("memory", {"memory_available_bytes": 4 * GIB - 1}, "warn", "4.29 GB free of 17.2 GB"),
        ("memory", {"memory_available_bytes": 3 * GIB // 2}, "warn", "1.61 GB free of 17.2 GB"),
        ("memory", {"memory_available_bytes": 3 * GIB // 2 - 1}, "fail", "1.61 GB free of 17.2 GB"),
        ("memory limit", {}, "ok", "none"),
        ("memory limit", {"memory_limit_bytes": 4 * GIB}, "ok", "4.29 GB"),
        ("memory limit", {"memory_limit_bytes": 2 * GIB}, "warn", "2.15 GB"),
        ("memory limit", {"memory_limit_bytes": 1 * GIB}, "fail", "1.07 GB"),
        ("memory limit", {"memory_limit_bytes": 0}, "fail", "0 bytes"),
        ("disk", {}, "ok", "107 GB free for runs"),
        ("disk", {"run_folder": None}, "ok", "107 GB free for the run folder"),
        ("disk", {"disk_free_bytes": 5 * GIB}, "ok", "5.37 GB free for runs"),
        ("disk", {"disk_free_bytes": 5 * GIB - 1}, "warn", "5.37 GB free for runs"),
        ("disk", {"disk_free_bytes": 1 * GIB}, "warn", "1.07 GB free for runs"),
        ("disk", {"disk_free_bytes": 1 * GIB - 1}, "fail", "1.07 GB free for runs"),
        ("disk", {"disk_free_bytes": 0}, "fail", "0 bytes free for runs"),
        ("open files", {"open_files": math.inf}, "ok", "unlimited"),
        ("open files", {"open_files": 1_024}, "ok", "1,024"),
        ("open files", {"open_files": 1_023}, "warn", "1,023"),
        ("cores", {}, "ok", "8"),
        ("cores", {"cores": 4}, "ok", "4"),
        ("cores", {"cores": 3}, "warn", "3"),
        ("cores", {"cores": 1}, "warn", "1"),
        ("cpu limit", {}, "ok", "none"),
        ("cpu limit", {"cpu_limit_cores": 8.0}, "ok", "8 cores"),
        ("cpu limit", {"cpu_limit_cores": 7.5}, "warn", "7.5 cores"),
        ("cpu limit", {"cpu_limit_cores": 0.5}, "warn", "0.5 cores"),
        ("cpu limit", {"cpu_limit_cores": 1.0}, "warn", "1 core"),
        ("cpu limit", {"cpu_limit_cores": 8.0, "cores": None}, "warn", "8 cores"),
        ("steal", {"steal_share": 0.019}, "ok", "1.9 %"),
        ("steal", {"steal_share": 0.02}, "warn", "2.0 %"),
        ("steal", {"steal_share": 0.10}, "warn", "10 %"),
        ("clock source", {"clock_source": "arch_sys_counter"}, "ok", "arch_sys_counter"),
        ("clock source", {"clock_source": "kvm-clock"}, "ok", "kvm-clock"),
        ("clock source", {"clock_source": "hpet"}, "warn", "hpet"),
        ("clock source", {"clock_source": "xen"}, "warn", "xen"),
        ("clock source", {"clock_source": "sundial"}, "unknown", "sundial"),
        ("timer slack", {}, "ok", "50us"),
        ("timer slack", {"timer_slack_ns": 0}, "ok", "0s"),
        ("timer slack", {"timer_slack_ns": 50_001}, "warn", "50001ns"),
        ("timer slack", {"timer_slack_ns": 40_000_000}, "warn", "40ms"),
        ("cpu governor", {}, "ok", "performance"),
        ("cpu governor", {"governors": ("powersave",)}, "warn", "powersave"),
        ("cpu governor", {"governors": ("schedutil", "performance")}, "warn", "performance, schedutil"),
        ("huge pages", {}, "ok", "madvise"),
        ("huge pages", {"huge_pages": "never"}, "ok", "never"),
        ("huge pages", {"huge_pages": "always"}, "warn", "always"),
        ("calibration", {}, "ok", "1972-09-26, at 1,000 and 10,000 messages a second"),
        ("calibration", {"calibrations": ()}, "warn", "none"),
        (
            "calibration",
            {"calibrations": (calibration(1_000, 2, "0.9"), calibration(1_000, 3, "0.8"))},
            "warn",
            "made with version 0.9, on 1972-09-25",
        ),
        (
            "calibration",
            {"calibrations": (calibration(1_000, 31), calibration(10_000, 40), calibration(5_000, 1, "0.9"))},
            "warn",
            "1972-08-27, at 1,000 and 10,000 messages a second",
        ),
        (
            "calibration",
            {"calibrations": (calibration(1_000, 30), calibration(10_000, 40))},
            "ok",
            "1972-08-28, at 1,000 and 10,000 messages a second",
        ),
        (
            "calibration",
            {"calibrations": (calibration(1_000, miscounted=("lost",)),)},
            "warn",
            "1972-09-26, at 1,000 messages a second",
        ),
    ],
)
def test_each_subject_is_judged(name: str, changes: dict[str, Any], status: str, found: str) -> None:
    """What is to be mended comes with how, and nothing else does."""
    judged = finding(name, **changes)

    assert (judged.status, judged.found) == (status, found)
    assert bool(judged.remedy) == (judged.status in {"warn", "fail"})
    assert judged.meaning.endswith(".")


@pytest.mark.parametrize(
    ("name", "changes", "remedy"),
    [
        ("java", {"java_version": None}, "sudo apt install openjdk-17-jdk-headless"),
        ("java", {"java_version": None, "system": "Darwin"}, "brew install openjdk@17"),
        ("jars", {"jars_missing": 1}, "streamgauge broker start && streamgauge broker stop"),
        ("huge pages", {"huge_pages": "always"}, "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
        ("calibration", {"calibrations": ()}, "streamgauge calibrate"),
        ("calibration", {"calibrations": (calibration(1_000, 31),)}, "streamgauge calibrate"),
        ("cpu governor", {"governors": ("powersave",)}, "sudo cpupower frequency-set -g performance"),
        (
            "clock source",
            {"clock_source": "hpet", "clock_sources": ("hpet", "kvm-clock", "tsc")},
            "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
        (
            "clock source",
            {"clock_source": "hpet", "clock_sources": ("hpet",)},
            "Measure on another machine: this has no faster clock",
        ),
        ("timer slack", {"timer_slack_ns": 1_000_000}, "echo 50000 | sudo tee /proc/$$/timerslack_ns"),
        ("open files", {"open_files": 256}, "ulimit -n 1024"),
        ("open files", {"open_files": 256, "open_files_hard": None}, "ulimit -n 1024"),
        ("open files", {"open_files": 256, "open_files_hard": 1_024}, "ulimit -n 1024"),
        (
            "open files",
            {"open_files": 256, "open_files_hard": 512},
            "Let the administrator raise the hard limit: ulimit -H -n",
        ),
    ],
)
def test_the_remedy_is_the_one_of_this_machine(name: str, changes: dict[str, Any], remedy: str) -> None:
    assert finding(name, **changes).remedy == remedy


def test_much_steal_makes_a_run_invalid_and_is_no_lack_of_the_machine() -> None:
    """The next moment may be better."""
    assert "not valid" not in finding("steal", steal_share=0.099).meaning
    assert "not valid" in finding("steal", steal_share=0.1).meaning
    assert is_ready(findings(replace(GOOD, steal_share=0.5)))


@pytest.mark.parametrize("missing", [{"java_version": None}, {"disk_free_bytes": 0}, {"memory_available_bytes": 0}])
def test_a_machine_that_lacks_something_is_not_ready(missing: dict[str, Any]) -> None:
    assert not is_ready(findings(replace(GOOD, **missing)))


LINUX_ONLY = {"memory limit", "cpu limit", "steal", "clock source", "timer slack", "cpu governor", "huge pages"}


@pytest.mark.parametrize(
    ("system", "nothing"), [("Linux", "Linux does not report it"), ("Darwin", "macOS has no equivalent")]
)
def test_what_is_not_told_is_unknown_and_says_so(system: str, nothing: str) -> None:
    """It may be that the system has no such thing; neither is a fault. Only Java is known to be missing."""
    found = {each.name: each for each in findings(Machine(system=system))}

    assert found.pop("java").status == "fail"
    assert {each.status for each in found.values()} == {"unknown"}
    assert {each.remedy for each in found.values()} == {""}
    assert {name for name, each in found.items() if each.found == nothing} >= LINUX_ONLY
    if system == "Darwin":
        assert {each.found for name, each in found.items() if name not in LINUX_ONLY} == {"macOS does not report it"}
