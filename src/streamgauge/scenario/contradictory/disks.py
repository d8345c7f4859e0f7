"""Faults of disks that do not fit the rest of a scenario."""

from collections.abc import Iterator

from streamgauge.domain.errors import Fault
from streamgauge.scenario.model.environment.faults.disks import DiskFault
from streamgauge.scenario.model.scenario import Scenario


def disks(scenario: Scenario) -> Iterator[Fault]:
    """One directory of several must be one that the broker has."""
    directories = scenario.cluster.data_dirs
    for place, fault in enumerate(scenario.faults):
        if not isinstance(fault, DiskFault) or not fault.is_of_one_directory:
            continue
        if directories == 1:
            what = f"{fault.kind} is done to one of several log directories, and brokers have one"
            yield Fault(f"faults.{place}.kind", what, "Write `cluster: {data_dirs: 2}`, or kind: disk-fails")
        elif fault.directory and fault.directory > directories:
            what = f"{fault.directory}: each broker has {directories}"
            yield Fault(f"faults.{place}.directory", what, "Name one of them, or raise cluster.data_dirs")
