"""Which deliveries are out of order: sequences that fall while offsets rise."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from streamgauge.delivery.deliveries import Stamp
from streamgauge.delivery.rows import Received, Sent


def reordered(deliveries: Iterable[Received], messages: Mapping[Stamp, Sent] | None = None) -> list[Received]:
    """Deliveries whose sequence is below one at a smaller offset of the same producer and partition.

    Sound stamps only; an offset that was received again counts once (its first delivery), and a message that stands at
    several offsets counts only at the lowest (partition, offset). Through a pipeline, order is that of messages of one
    partition of the source: `messages` say which, and without that a delivery is in no order.
    """
    at: dict[Stamp, Received] = {}
    for row in deliveries:
        if row.sound and row.stamp and (row.stamp not in at or row.place < at[row.stamp].place):
            at[row.stamp] = row
    lanes: dict[tuple[int | None, ...], list[Received]] = defaultdict(list)
    for stamp, row in sorted(at.items(), key=lambda each: (each[1].place, each[1].seq)):
        source = messages.get(stamp) if messages is not None else None
        if messages is None or (source is not None and source.partition is not None):
            lanes[source and source.partition, row.topic, row.partition, row.producer].append(row)
    return [row for lane in lanes.values() for row in falling(lane)]


def falling(lane: Iterable[Received]) -> list[Received]:
    """Of deliveries in the order of their offsets, those whose sequence is below an earlier one."""
    found: list[Received] = []
    highest: int | None = None
    for row in lane:
        if row.seq is None:
            continue
        if highest is not None and row.seq < highest:
            found.append(row)
        highest = row.seq if highest is None else max(highest, row.seq)
    return found
