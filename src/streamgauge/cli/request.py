"""From command-line options to a checked request: everything that can be wrong is found before anything starts."""

import os
from collections.abc import Sequence
from pathlib import Path

from streamgauge.cli.conduct import Request
from streamgauge.cli.scenario_file import load_scenario
from streamgauge.cli.wiring import check_settings
from streamgauge.domain.errors import BadInput, Fault
from streamgauge.kafka.client_config import mask_command, read_client_config
from streamgauge.kafka.java import Java, find_java

_BOOTSTRAP = "bootstrap.servers"


def checked_java() -> Java:
    """The Java that brokers and Spark will use; Spark finds it by JAVA_HOME."""
    java = find_java(os.environ)
    os.environ["JAVA_HOME"] = str(java.path.parent.parent)
    return java


def request_of(
    scenario: str,
    settings: Sequence[str],
    out: Path,
    *,
    command: Sequence[str],
    bootstrap: str | None,
    client_config: Path | None,
    keep_broker: bool,
    allow_reset: bool,
) -> Request:
    """The request that the options make; raises BadInput with all faults of all options."""
    faults: list[Fault] = []
    connection: dict[str, str] = {}
    try:
        resolved = load_scenario(scenario, settings)
        check_settings(resolved)
    except BadInput as error:
        faults += error.faults
    try:
        connection = read_client_config(client_config) if client_config else {}
    except BadInput as error:
        faults += error.faults
    bootstrap = bootstrap or connection.pop(_BOOTSTRAP, None)
    connection.pop(_BOOTSTRAP, None)
    if client_config and not bootstrap and not faults:
        mend = f"Say --bootstrap HOST:PORT, or write {_BOOTSTRAP} into the file"
        faults.append(Fault(f"--client-config {client_config}", "names no cluster", mend))
    if keep_broker and bootstrap:
        faults.append(Fault("--keep-broker", "has no meaning with --bootstrap", "Leave one of them out"))
    try:
        java = checked_java()
    except BadInput as error:
        faults += error.faults
    if faults:
        raise BadInput(faults)
    return Request(
        scenario=resolved,
        out=out,
        command=mask_command(command),
        java=java,
        bootstrap=bootstrap,
        connection=connection,
        keep_broker=keep_broker,
        allow_reset=allow_reset,
    )
