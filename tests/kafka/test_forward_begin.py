"""Where the yardstick of a pipeline goes on, by what its group has committed; no cluster is asked."""

from collections.abc import Callable
from contextlib import closing

import pytest

from streamgauge.domain.errors import BrokerError
from streamgauge.domain.query import Advance, QuerySpec
from streamgauge.kafka import forward
from streamgauge.kafka.offsets import KafkaOffsets


def test_it_goes_on_where_it_has_committed_and_begins_where_it_has_not(
    make_spec: Callable[..., QuerySpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def committed(_self: KafkaOffsets, group: int) -> list[int | None]:
        asked.append(group)
        return [None, 7]

    monkeypatch.setattr(KafkaOffsets, "committed", committed)
    with closing(forward.Forwarder(make_spec(engine="client", starts=(3, 4)))) as forwarder:
        left = forwarder.left

    assert asked == [0]
    assert left is not None
    assert left.advances == [Advance(1, 4, 7, None)]


def test_what_is_not_known_is_not_taken_for_nothing(
    make_spec: Callable[..., QuerySpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    def committed(_self: KafkaOffsets, _group: int) -> list[int | None]:
        raise BrokerError("commits of group test were not read")

    monkeypatch.setattr(KafkaOffsets, "committed", committed)
    with pytest.raises(BrokerError, match="were not read"):
        forward.Forwarder(make_spec(engine="client", starts=(3, 4)))
