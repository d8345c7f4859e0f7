"""Rules for what disturbs a measurement: too few cores, clocks, and what stops a process for a while."""

import math
from typing import Final

from streamgauge.domain.text.numbers import percent, plural
from streamgauge.domain.text.quantities import format_duration
from streamgauge.verdict.checks.machine import STEAL_FAIL, STEAL_WARN
from streamgauge.verdict.fitness.machine import ELSEWHERE, Finding, Machine, untold

CORES_AMPLE: Final = 4
"""Below, workers, an embedded broker and their compilers wait for each other."""
SLACK_USUAL_NS: Final = 50_000
FAST_CLOCKS: Final = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "riscv_clocksource")
"""Clock sources that are read without a call of the kernel, the best first."""
SLOW_CLOCKS: Final = frozenset(("hpet", "acpi_pm", "jiffies", "refined-jiffies", "xen", "hyperv_clocksource_msr"))

_CHOICE: Final = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def cores(machine: Machine) -> Finding:
    """Whether workers and an embedded broker can run side by side."""
    if machine.cores is None:
        return untold("cores", machine, "Whether workers and broker share cores is not known.")
    if machine.cores < CORES_AMPLE:
        what = "Workers and an embedded broker wait for each other's cores: the tails are longer. A lower rate is safe."
        remedy = f"Measure a broker on another host: {ELSEWHERE}"
        return Finding("cores", "warn", str(machine.cores), what, remedy)
    return Finding("cores", "ok", str(machine.cores), "Workers and an embedded broker run side by side.")


def cpu_limit(machine: Machine) -> Finding:
    """Whether a container may be made to stand still."""
    limit = machine.cpu_limit_cores
    if limit is None:
        return untold("cpu limit", machine, "A limit would stop all threads at once when it is used up.", linux=True)
    if math.isinf(limit):
        return Finding("cpu limit", "ok", "none", "No CPU throttling.")
    found = f"{limit:g} {plural(limit, 'core')}"
    if machine.cores is not None and limit >= machine.cores:
        return Finding("cpu limit", "ok", found, "All cores can be used all the time.")
    what = "Once it is used up all threads are throttled for up to 100 ms, as if the broker were paused."
    what += " A run that was stopped for long is not valid (check `cpu_quota`)."
    remedy = "Give the container whole cores instead of a share of all: docker run --cpuset-cpus=0-3"
    return Finding("cpu limit", "warn", found, what, remedy)


def steal(machine: Machine) -> Finding:
    """Whether a hypervisor takes CPU away now."""
    share = machine.steal_share
    if share is None:
        return untold("steal", machine, "CPU that a hypervisor takes away would be seen as latency.", linux=True)
    if share < STEAL_WARN:
        return Finding("steal", "ok", percent(share), "At this moment no hypervisor takes away enough to be seen.")
    what = "Steal time may affect tails and rates."
    what += " A run with so much of it is not valid." if share >= STEAL_FAIL else ""
    return Finding("steal", "warn", percent(share), what, "Measure on a machine that is not shared, or at another time")


def clock_source(machine: Machine) -> Finding:
    """Whether reading the clock, which happens several times a message, is cheap."""
    source = machine.clock_source
    if source is None:
        return untold("clock source", machine, "A slow clock would cost each message a microsecond.", linux=True)
    if source in FAST_CLOCKS:
        return Finding("clock source", "ok", source, "Reading it takes some ten nanoseconds.")
    if source not in SLOW_CLOCKS:
        return Finding("clock source", "unknown", source, "Whether reading it needs a system call is not known.")
    what = "Each reading is a system call of a microsecond or more, and each message needs several."
    better = next((name for name in FAST_CLOCKS if name in machine.clock_sources), None)
    remedy = f"echo {better} | sudo tee {_CHOICE}" if better else "Measure on another machine: this has no faster clock"
    return Finding("clock source", "warn", source, what, remedy)


def timer_slack(machine: Machine) -> Finding:
    """How much later than asked a sleep may end."""
    slack = machine.timer_slack_ns
    if slack is None:
        return untold("timer slack", machine, "Sleeps may end late; the verdict tells by how much.", linux=True)
    found = format_duration(slack)
    if slack <= SLACK_USUAL_NS:
        return Finding("timer slack", "ok", found, "Workers set their own to 1ns; a broker's waits end so much later.")
    what = "A broker's waits end so much later, and its answers with them; workers set their own to 1ns."
    return Finding("timer slack", "warn", found, what, f"echo {SLACK_USUAL_NS} | sudo tee /proc/$$/timerslack_ns")


def governor(machine: Machine) -> Finding:
    """Whether cores change their speed while something is measured."""
    if not machine.governors:
        what = "Cores may change their speed; those of a virtual machine are its host's affair."
        return untold("cpu governor", machine, what, linux=True)
    found = ", ".join(sorted(machine.governors))
    if set(machine.governors) == {"performance"}:
        return Finding("cpu governor", "ok", found, "Cores keep their speed.")
    what = "Cores slow down when there is little to do: low rates show longer latencies than high ones."
    return Finding("cpu governor", "warn", found, what, "sudo cpupower frequency-set -g performance")


def huge_pages(machine: Machine) -> Finding:
    """Whether the kernel may stop a process to put its memory together."""
    mode = machine.huge_pages
    if mode is None:
        return untold(
            "huge pages", machine, "Compacting memory for huge pages can stall a process now and then.", linux=True
        )
    if mode == "always":
        what = "The kernel compacts memory for huge pages while a process waits: occasional stalls."
        remedy = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"
        return Finding("huge pages", "warn", mode, what, remedy)
    return Finding("huge pages", "ok", mode, "No process waits for huge pages that it did not ask for.")
