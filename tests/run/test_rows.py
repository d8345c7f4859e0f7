"""What the parent records of the end of a run that its user does not want to wait for."""

from pathlib import Path
from typing import Any

from streamgauge.domain.errors import Interrupted
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.engine.supervise.plan import Outcome
from streamgauge.run.conduct import _ask_final
from streamgauge.run.prepared import Topics
from streamgauge.run.rows import record_source
from streamgauge.scenario import parse


class Impatient:
    """A cluster whose user waits for none of its answers."""

    def check(self) -> None:
        raise Interrupted("enough")

    def __getattr__(self, name: str) -> Any:
        def ask(*_: object) -> None:
            self.check()

        return ask


def topics() -> Topics:
    cluster: Any = Impatient()
    return Topics(cluster, parse({"name": "x", "pipeline": {"job": "pass"}}), ("g",), lambda: None, starts=[0])


def test_log_ends_that_nobody_waited_for_interrupt_the_run() -> None:
    outcome = Outcome()

    assert _ask_final(topics(), outcome) is None

    assert outcome.ending == "interrupted"
    assert outcome.reasons == ["log ends at the end of the run are not known: enough"]


def test_a_source_that_nobody_waited_for_interrupts_the_run(tmp_path: Path, make_spec: Any) -> None:
    outcome, asked = Outcome(), topics()

    record_source(RunFolder(tmp_path), asked.scenario, make_spec(), asked, 7, outcome)

    assert outcome.ending == "interrupted"
    assert outcome.reasons == ["the source of the pipeline was not read again: enough"]


def test_groups_that_nobody_waited_for_are_named() -> None:
    outcome = Outcome()

    topics().leave(outcome)

    assert outcome.reasons == ["group g was not removed: enough"]
