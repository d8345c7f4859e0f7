"""A worker is given plain values: it loads neither the model of scenarios nor a validation library."""

import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from streamgauge.domain.clock import ClockPair
from streamgauge.engine.board import Cells
from streamgauge.engine.ports.workers import WorkerSpec
from streamgauge.engine.supervise.start import Starter
from streamgauge.engine.supervise.workers import Workers
from streamgauge.runs.conduct.identity import Identity
from streamgauge.runs.conduct.plan import plan_of
from streamgauge.scenario import parse

MESSAGES: Final = {
    "size": {"gaussian": {"mean": 300, "deviation": 20}},
    "keys": {"zipf": {"keys": 10, "exponent": 1.0}},
    "payload": {
        "weighted": [
            {"percent": 50, "payload": {"constant": {"text": "x"}}},
            {"percent": 50, "payload": "json", "size": {"uniform": {"from": 100, "to": 200}}},
        ]
    },
}
LOADS: Final[dict[str, dict[str, Any]]] = {
    "plain": {},
    "everything": {
        "load": {"rate": {"windows": {"messages": 10, "window": "1s"}}, **MESSAGES},
        "consume": {
            "processing": {"delay": "1ms", "changes": [{"at": "1s", "delay": "2ms"}], "order": "partitions"},
            "commit": {"messages": 100},
        },
        "backpressure": {"hysteresis": {"max_lag": "1k"}},
        "connections": {"open": "1/s", "hold": {"producers": 1}},
        "faults": [{"at": "1s", "kind": "kill", "target": "producer-0"}],
    },
    "retry topics": {
        "consume": {"acknowledge": {"retry": {"delays": ["1s"]}}, "processing": {"fail": 0.1}},
    },
    "a share group": {"consume": {"acknowledge": {"share": {}}, "processing": {"fail": 0.1}}},
    "credit": {"backpressure": {"credit": {"limit": 100}}, "load": {"client": {"enable.idempotence": True}}},
    "a pipeline": {"pipeline": {"engine": "client"}, "load": {"rate": {"poisson": {"rate": "1k/s"}}}},
}
PROGRAM: Final = """
import pickle, sys
import streamgauge.jobs.query
from streamgauge.engine.worker.main import main
for each in pickle.load(sys.stdin.buffer):
    pickle.loads(each)
print(*sorted(name for name in sys.modules if name == "pydantic" or name.startswith("streamgauge.scenario")))
"""


class Noting:
    """Starts nothing, and keeps what each worker would be told."""

    def __init__(self) -> None:
        self.specs: list[WorkerSpec] = []

    def start(self, spec: WorkerSpec) -> Any:
        self.specs.append(spec)
        return SimpleNamespace(pid=1)


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_a_worker_loads_no_scenario(load: dict[str, Any]) -> None:
    """A process starts in half the time, and a plan says all that its workers need."""
    scenario = parse({"name": "x", "topic": {"name": "x"}, **load})
    plan = plan_of(scenario, Identity("run", 7, "group"), {}, Path("run"), (), pair=ClockPair(1, 5), starts=(0,))
    launcher: Any = Noting()
    Starter(plan, launcher, Workers(Cells.new(8, 8))).start(())

    told = pickle.dumps([pickle.dumps(spec) for spec in launcher.specs])
    done = subprocess.run([sys.executable, "-c", PROGRAM], input=told, capture_output=True, timeout=60, check=False)

    assert len(launcher.specs) >= 4
    assert (done.returncode, done.stdout.decode().split(), done.stderr.decode()) == (0, [], "")
