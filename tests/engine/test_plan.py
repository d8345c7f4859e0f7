"""What the user may ask of a run, and when that means now."""

import pytest

from streamgauge.engine.supervise.plan import Interrupts, Outcome


@pytest.mark.parametrize(
    ("events", "at_once", "in_vain"),
    [
        ("", False, False),
        ("n", True, True),
        ("nn", True, True),
        ("b", False, False),
        ("bn", False, False),
        ("bnn", True, False),
        ("be", False, False),
        ("bne", False, False),
        ("bnen", True, False),
        ("ben", True, False),
        ("bnne", True, False),
        ("ne", True, True),
        ("e", False, False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_when_a_signal_means_now(events: str, at_once: bool, in_vain: bool) -> None:
    """By what happens: n a signal is noted, b the load begins, e it has ended."""
    interrupts = Interrupts()
    for event in events:
        {"n": interrupts.note, "b": interrupts.begin_load, "e": interrupts.end_load}[event]()

    assert (interrupts.at_once, interrupts.in_vain) == (at_once, in_vain)
    assert interrupts.count == events.count("n")


def test_a_run_that_failed_and_is_interrupted_has_failed() -> None:
    outcome = Outcome()

    outcome.interrupt("one")
    outcome.fail("two")
    outcome.interrupt("three")

    assert (outcome.ending, outcome.reasons) == ("failed", ["one", "two", "three"])
