"""Runs that tests carry out, in this process or by the program, and the rows that they left."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from tests.e2e.conftest import Call

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.clock import monotonic_ns
from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import read_facts
from streamgauge.record.parts import close_left_open
from streamgauge.result import Result
from streamgauge.result.reading import parse_result
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


def finished(
    call: Call, out: Path, name: str, settings: Sequence[str], faults: int, codes: Collection[int] = (0,)
) -> tuple[RunFolder, Result]:
    """A run of the program that finished, its `faults` all carried out; `out` has no other one."""
    said = call("run", name, *(word for each in settings for word in ("--set", each)), "--out", str(out), "--quiet")

    assert said.code in codes, said
    (run,) = out.iterdir()
    folder = RunFolder(run)
    facts, result = read_facts(folder), parse_result(folder.result.read_bytes())
    assert (facts.ending, facts.reasons) == ("finished", []), said
    assert [each for each in result.faults or [] if each.error] == []
    assert len(result.scorecards or []) >= faults
    return folder, result


def rows(folder: RunFolder, kind: str, *names: str) -> pa.Table:
    """The rows of an event, of all workers."""
    files = [str(path) for path in folder.events.glob(f"{kind}/worker=*/part-*.parquet")]
    return ds.dataset(files).to_table(columns=list(names))
