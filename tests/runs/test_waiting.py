"""When a run stops waiting: for its user, and for a broker that is gone."""

from contextlib import nullcontext

import pytest

from streamgauge.domain.errors import BrokerError, Interrupted
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.runs.conduct.waiting import IN_VAIN, LAST_ANSWERS_NS, Waiting


def test_before_the_load_one_signal_ends_every_wait() -> None:
    interrupts = Interrupts()
    waiting = Waiting(interrupts)

    waiting()
    interrupts.note()

    with pytest.raises(Interrupted, match=IN_VAIN):
        waiting()


def test_during_the_load_it_takes_two() -> None:
    interrupts = Interrupts()
    waiting = Waiting(interrupts)
    interrupts.begin_load()

    interrupts.note()
    waiting()
    interrupts.note()

    with pytest.raises(Interrupted, match="the cluster was not queried any more"):
        waiting()


def test_after_the_load_a_cluster_has_a_moment_for_its_last_answers() -> None:
    interrupts, now_ns = Interrupts(), [0]
    waiting = Waiting(interrupts, now_ns=lambda: now_ns[0])
    interrupts.begin_load()
    interrupts.note()
    interrupts.end_load()

    now_ns[0] = 5 * LAST_ANSWERS_NS
    waiting()
    interrupts.note()
    waiting()
    now_ns[0] += LAST_ANSWERS_NS - 1
    waiting()
    now_ns[0] += 1

    with pytest.raises(Interrupted):
        waiting()


def test_a_wait_that_was_broken_off_before_takes_nothing_from_the_last_answers() -> None:
    """A sampler may have noticed long before the workers were gone."""
    interrupts, now_ns = Interrupts(), [0]
    waiting = Waiting(interrupts, now_ns=lambda: now_ns[0])
    interrupts.note()
    with pytest.raises(Interrupted):
        waiting()

    now_ns[0] = 2 * LAST_ANSWERS_NS
    interrupts.end_load()
    waiting()


@pytest.mark.parametrize(("is_ours", "patient"), [(True, False), (False, True)])
def test_where_nothing_was_measured_only_a_cluster_of_the_users_is_tidied_up(is_ours: bool, patient: bool) -> None:
    interrupts = Interrupts()
    waiting = Waiting(interrupts, is_ours=is_ours, now_ns=lambda: 0)
    interrupts.note()
    interrupts.end_load()

    with nullcontext() if patient else pytest.raises(Interrupted, match=IN_VAIN):
        waiting()


def test_a_broker_that_is_gone_ends_every_wait() -> None:
    def gone() -> None:
        raise BrokerError("it ended")

    with pytest.raises(BrokerError, match="it ended"):
        Waiting(Interrupts(), gone)()
