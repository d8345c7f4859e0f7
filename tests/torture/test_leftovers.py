"""Who looks for what a case left finds it: listeners, and brokers of which there are too few, or too many."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.torture import outliving
from tests.torture.child import left_of
from tests.torture.place import Place
from tests.torture.ports import listeners, ports_of

from streamgauge.cluster.registry import Entry
from streamgauge.processes.identity import identify

LISTENS = """
import socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
time.sleep(600)
"""


@contextmanager
def listening(environ: dict[str, str]) -> Iterator[int]:
    """A process that listens; its port."""
    command = [sys.executable, "-S", "-c", LISTENS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environ}) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(tmp_path)
    found.make()
    return found


def entries(count: int) -> list[Entry]:
    return [
        Entry(
            name=f"broker-{number}", process=identify(os.getpid()), owner=None, bootstrap="127.0.0.1:1", version="4",
            data=Path("/nowhere"), temporary=True, log=Path("/nowhere/log"), ports=(1, number + 1),
        )
        for number in range(1, count + 1)
    ]  # fmt: skip


def test_a_port_is_free_when_nobody_of_the_case_listens(place: Place) -> None:
    """Also somebody who has lost the mark of the case; who keeps its state elsewhere is of another test."""
    with listening(place.environ) as port:
        assert ports_of(place) == {port}
        assert [each.partition(",")[0] for each in listeners({port}, place)] == [f"port {port}"]
        assert listeners({port + 1}, place) == []
        assert len(left_of(place.mark)) == 1
    assert listeners({port}, place) == []
    with listening({"XDG_STATE_HOME": str(place.state)}) as port:
        assert ports_of(place) == set()
        assert len(listeners({port}, place)) == 1
    with listening({"XDG_STATE_HOME": str(place.root / "elsewhere")}) as port:
        assert listeners({port}, place) == []


@pytest.mark.parametrize(
    ("brokers", "is_told", "is_silent", "is_wanted", "fault"),
    [
        pytest.param(0, False, False, False, None, id="interrupted before the load"),
        pytest.param(0, False, True, False, None, id="killed before it was there"),
        pytest.param(0, True, False, True, "the brokers that were to be kept are gone", id="gone though kept"),
        pytest.param(3, False, False, False, "3 brokers run of which nobody was told", id="kept and not told"),
        pytest.param(2, True, False, True, "2 brokers run of 3", id="one has ended"),
        pytest.param(1, False, True, False, "1 brokers run of 3", id="killed while they were started"),
        pytest.param(3, True, False, True, None, id="kept"),
        pytest.param(3, False, True, False, None, id="killed while they are warmed up"),
    ],
)
def test_brokers_are_kept_or_gone(
    monkeypatch: pytest.MonkeyPatch, brokers: int, is_told: bool, is_silent: bool, is_wanted: bool, fault: str | None
) -> None:
    monkeypatch.setattr(outliving, "serves", lambda _: [])
    found = outliving.kept_holds(entries(brokers), is_told=is_told, is_silent=is_silent, is_wanted=is_wanted, brokers=3)
    assert found == ([fault] if fault else [])


def test_brokers_that_do_not_serve_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where nobody listens at their addresses."""
    monkeypatch.setattr(outliving, "WHOLE_SECONDS", 0.1)
    assert outliving.serves(entries(3)) == ["0 brokers serve of 3"]


def test_what_is_left_of_a_fault_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note that nobody took away, a broker that is dead."""
    monkeypatch.setattr(outliving, "running", lambda _: entries(2))
    folder = place.state / "streamgauge" / "brokers"
    folder.mkdir(parents=True)
    note = folder / "7.outage"
    note.touch()

    assert outliving.standing_holds(place) == [f"still noted: {note}", "2 brokers run of 3"]
