"""The process of the yardstick ends with who started it."""

import pickle
import subprocess
import sys
from collections.abc import Callable

import psutil
import pytest

from streamgauge.domain.query import QuerySpec
from streamgauge.kafka.embedded import EmbeddedBroker

pytestmark = pytest.mark.kafka

PATIENCE_SECONDS = 30
PARENT = """
import pickle, sys
from streamgauge.domain import clock
from streamgauge.kafka.forward import ClientQuery
query = ClientQuery(pickle.load(sys.stdin.buffer))
query.start()
heard = []
while not any(each.what == "ready" for each in heard):
    assert query.alive(), heard
    clock.sleep_seconds(0.02)
    heard += query.news()
print(query.processes()["driver"], flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    "paused", [False, pytest.param(True, marks=pytest.mark.skipif(sys.platform != "linux", reason="a call of Linux"))]
)
def test_it_does_not_outlive_its_parent(
    broker: EmbeddedBroker, fresh_topic: Callable[[int], str], make_spec: Callable[..., QuerySpec], paused: bool
) -> None:
    connection = {"bootstrap.servers": broker.bootstrap}
    spec = make_spec(engine="client", source=fresh_topic(2), sink=fresh_topic(2), connection=connection)
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(pickle.dumps(spec))
        parent.stdin.flush()
        process = psutil.Process(int(parent.stdout.readline()))
        if paused:
            process.suspend()
        parent.kill()

    gone, alive = psutil.wait_procs([process], PATIENCE_SECONDS)
    for left in alive:
        left.kill()
    assert gone == [process]
