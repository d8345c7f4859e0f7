"""Faults of links: they are done to the network that a run has, and nothing stays on, however it ends."""

from hypothesis import given
from hypothesis import strategies as st
from tests.links import FakeLinks

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.engine.fake import FakeTime
from streamgauge.engine.supervise.faults.inject import Injector
from streamgauge.engine.supervise.faults.rows import FaultRow
from streamgauge.engine.supervise.faults.targets import targets_of_links
from streamgauge.scenario.model.environment.faults.links import LinkFault
from streamgauge.scenario.model.environment.faults.schedule import occurrences

BETWEEN = (["clients", "broker-1"], ["broker-1", ["broker-2", "broker-3"]], ["consumers", "broker-2"])


def fault(at: int, lasting: int, side: int, kind: str = "cut") -> LinkFault:
    return LinkFault.model_validate({"at": f"{at}s", "for": f"{lasting}s", "kind": kind, "between": BETWEEN[side]})


def test_a_fault_of_a_link_is_a_row_when_it_begins_and_when_it_ends() -> None:
    """With the names of its sides; another link is left alone."""
    time, links, rows = FakeTime(tick_ns=0), FakeLinks(refuses={4}), list[FaultRow]()
    faults = [fault(1, 2, 1), fault(2, 3, 0, "black-hole")]
    injector = Injector(targets_of_links(links, faults), time.now_ns, rows.append)
    injector.plan(occurrences(faults, 100 * NS_PER_SECOND, 0))
    on = []
    for second in range(7):
        time.at_ns = second * NS_PER_SECOND
        injector.turn(0)
        on.append([each.kind for each in links.on])

    assert on == [[], ["cut"], ["cut", "black-hole"], ["black-hole"], ["black-hole"], [], []]
    assert [row[1:4] for row in rows] == [
        ("cut", "broker-1-broker-2+broker-3", "begin"),
        ("black-hole", "clients-broker-1", "begin"),
        ("cut", "broker-1-broker-2+broker-3", "end"),
        ("black-hole", "clients-broker-1", "end"),
    ]
    assert [row.error for row in rows] == [None, None, None, "the proxy of links has ended"]


FAULTS = st.lists(st.builds(fault, st.integers(0, 20), st.integers(1, 20), st.integers(0, 2)), max_size=8)


@given(faults=FAULTS, turns=st.lists(st.integers(0, 50), max_size=10), refuses=st.sets(st.integers(1, 16)))
def test_nothing_stays_on_however_a_run_ends(faults: list[LinkFault], turns: list[int], refuses: set[int]) -> None:
    """Whenever it is looked at, whatever the network refuses, and whenever the run is over."""
    time, links, rows = FakeTime(tick_ns=0), FakeLinks(refuses=refuses), list[FaultRow]()
    injector = Injector(targets_of_links(links, faults), time.now_ns, rows.append)
    injector.plan(occurrences(faults, 100 * NS_PER_SECOND, 0))
    for second in sorted(turns):
        time.at_ns = second * NS_PER_SECOND
        injector.turn(0)
    injector.release()

    assert links.on == []
    begun = [row.target for row in rows if row.action == "begin" and not str(row.error).endswith("it was not begun")]
    assert sorted(begun) == sorted(row.target for row in rows if row.action == "end")
