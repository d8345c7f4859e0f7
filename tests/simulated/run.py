"""A load through queues, event by event: with an instrument that is starved, and with one that costs no time at all.

What the instrument without cost saw is the truth.
"""

import numpy as np
from tests.simulated.clients import ConsumerThread, ProducerThread, Row
from tests.simulated.system import Message, Plan, System
from tests.simulated.threads import Loop


def rows(plan: Plan) -> tuple[list[Row], list[Row]]:
    """Rows of `sent` and `received` of a run."""
    sent, received, _ = _carried_out(plan, is_ideal=False)
    stamps = {(row["producer"], row["seq"]): row for row in sent}
    for row in received:
        row |= {name: stamps[row["producer"], row["seq"]][name] for name in ("due_ns", "sent_ns")}
    return sent, received


def truths(plan: Plan) -> dict[Message, dict[str, int]]:
    """Of each message its latency until the acknowledgement and until the delivery, had the instrument cost nothing."""
    *_, system = _carried_out(plan.ideal, is_ideal=True)
    return {
        (producer, seq): {"ack": system.acked[producer, seq] - due, "end_to_end": system.delivered[producer, seq] - due}
        for producer, dues in enumerate(plan.dues)
        for seq, due in enumerate(dues)
    }


def _carried_out(plan: Plan, *, is_ideal: bool) -> tuple[list[Row], list[Row], System]:
    draw, loop, sent, received = np.random.default_rng(plan.seed + 1), Loop(), list[Row](), list[Row]()
    # Where producers wait for reports, what each wait costs would add up, and no column tells how far.
    is_free = is_ideal or plan.flush > 0

    def cost(most_ns: int) -> int:
        return 0 if is_free else int(draw.integers(0, most_ns + 1))

    system = System(plan, loop)
    clients = (
        *(ProducerThread(number, system, queue, cost, sent) for number, queue in enumerate(system.reports)),
        *(ConsumerThread(number, system, queue, cost, received) for number, queue in enumerate(system.fetched)),
    )
    for number, client in enumerate(clients):
        loop.add(client.run(), plan.stalls[number] if number < len(plan.stalls) else ())
    loop.run()
    return sent, received, system
