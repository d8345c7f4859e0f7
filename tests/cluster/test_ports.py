"""Ports that no client is given."""

import socket
from pathlib import Path

import pytest

from streamgauge.cluster.nodes import ports
from streamgauge.cluster.nodes.ports import ephemeral_range, free_ports


def test_ports_are_free_differ_and_lie_outside_the_range_of_clients() -> None:
    first, last = ephemeral_range()

    found = free_ports(20)

    assert len(set(found)) == 20
    assert [port for port in found if first <= port <= last] == []
    with socket.create_server(("127.0.0.1", found[0])):
        pass


@pytest.mark.parametrize(
    ("told", "range_"), [("15000\t20000\n", (15_000, 20_000)), ("", (32_768, 60_999)), (None, (32_768, 60_999))]
)
def test_the_system_tells_its_range(tmp_path: Path, told: str | None, range_: tuple[int, int]) -> None:
    file = tmp_path / "range"
    if told is not None:
        file.write_text(told)

    assert ephemeral_range(file) == range_


def test_what_is_taken_or_reserved_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, three = free_ports(3)
    monkeypatch.setattr(ports, "_outside", lambda _: iter([one, two, three]))

    with socket.create_server(("127.0.0.1", one)):
        assert free_ports(1, {two}) == [three]
        with pytest.raises(OSError, match="fewer than 2 ports"):
            free_ports(2, {two})


def test_where_clients_may_be_given_any_port_so_may_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "ephemeral_range", lambda: (1024, 65_535))

    assert len(free_ports(2)) == 2
