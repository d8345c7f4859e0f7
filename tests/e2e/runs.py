"""Runs that tests carry out in this process, and the rows that they left."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.clock import monotonic_ns
from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.processes.jvm.java import Java
from streamgauge.record.parts import close_left_open
from streamgauge.runs.conduct.conduct import conducted
from streamgauge.runs.conduct.prepare import prepare_run
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.trust import Trust
from streamgauge.runs.rows.recover import alone
from streamgauge.scenario import parse

Conducted = Callable[..., RunFolder]


def conducting(broker: EmbeddedBroker, java: Java, out: Path, plain: Mapping[str, Any]) -> Conducted:
    """Carries out a scenario that differs from a plain one, on the broker of the tests or on one of its own."""

    def run(*, embedded: bool = False, **given: Any) -> RunFolder:
        scenario = parse({"name": f"run-{monotonic_ns()}", **plain, **given})
        bootstrap = None if embedded else broker.bootstrap
        request = Request(scenario, out, ["test"], java, bootstrap=bootstrap, trust=Trust(allow_code=True))
        return carried_out(request)

    return run


def carried_out(request: Request) -> RunFolder:
    """The folder of a run that is over, its rows ready to be read."""
    with conducted(prepare_run(request), Interrupts(), lambda _: None) as folder:
        # Until its analysis holds it, nobody else can.
        with pytest.raises(BadInput, match="is still active"):
            alone(folder)
        alone(folder, owned=True).close()
    close_left_open(folder)
    return folder


def rows(folder: RunFolder, kind: str, *names: str) -> pa.Table:
    """The rows of an event, of all workers."""
    files = [str(path) for path in folder.events.glob(f"{kind}/worker=*/part-*.parquet")]
    return ds.dataset(files).to_table(columns=list(names))
