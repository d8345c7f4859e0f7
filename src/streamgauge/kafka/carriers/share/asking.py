"""How far share groups are, and where they begin: asked by requests of our own.

Neither confluent-kafka nor kafka-python has DescribeShareGroupOffsets or AlterShareGroupOffsets. kafka-python makes
messages from Kafka's descriptions of them, which are in `protocol/`, and sends what it is given.
"""

import contextlib
import warnings
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar

from streamgauge.domain import clock
from streamgauge.domain.blocks import ClientSpec, Settings
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.asking import Asker
from streamgauge.kafka.metadata.library import library, opened
from streamgauge.kafka.offsets import KafkaOffsets

_PROTOCOL: Final = "streamgauge.kafka.carriers.share.protocol"
_PAUSE_SECONDS: Final = 0.1
_FEATURE: Final = "share.version"
_SHARE_FETCH: Final = 78
_SINCE: Final = 2
"""Version of ShareFetch that brokers have from 4.2 on, where share groups are for production."""

_T = TypeVar("_T")


class ShareStand(NamedTuple):
    """How far a share group is in a partition."""

    start: int
    """Below this offset every message has its final outcome."""
    lag: int
    """Messages that have none."""

    def committed(self, end: int) -> int:
        """The offset that a group with this lag would have committed that is done with messages in their order."""
        return end - self.lag

    def settled(self, end: int) -> int:
        """The offset below which all is done with; the broker moves `start` late where messages are given up."""
        return self.start if self.lag else max(end, self.start)


class ShareAsker:
    """Asks the coordinators of share groups, on connections that it keeps.

    An answer comes within `timeout_seconds`, or BrokerError says why it does not; with `patience_seconds` it is asked
    again for so long while the cluster is not ready.
    """

    def __init__(self, settings: Settings, timeout_seconds: float, patience_seconds: float) -> None:
        self._settings = settings
        self._milliseconds = int(timeout_seconds * 1000)
        self._patience_seconds = patience_seconds
        self._client: Any = None

    def why_not(self) -> str | None:
        """Why the cluster has no share groups to be relied on; None where it has."""
        request = library().protocol.metadata.ApiVersionsRequest

        async def ask(manager: Any) -> Any:
            asked = request(client_software_name="streamgauge", client_software_version="1", min_version=3)
            return await manager.send(asked, request_timeout_ms=self._milliseconds)

        answer = self._asked("what the cluster can do was not read", ask)
        features = {each.name: each.max_version_level for each in answer.finalized_features or ()}
        versions = {each.api_key: each.max_version for each in answer.api_keys}
        return lacking(features, versions)

    def stands(self, group: str, topics: Sequence[str], partitions: int) -> list[ShareStand | None]:
        """How far a group is in each place; None where it has not begun."""

        async def ask(manager: Any) -> Any:
            request = _messages()["DescribeShareGroupOffsetsRequest"]
            asked = request.DescribeShareGroupOffsetsRequestGroup
            topic = asked.DescribeShareGroupOffsetsRequestTopic
            wanted = [topic(topic_name=name, partitions=list(range(partitions))) for name in topics]
            groups = [asked(group_id=group, topics=wanted)]
            node = await self._client._find_coordinator_id(group)
            answer = await manager.send(request(groups=groups, min_version=1), node)
            (found,) = answer.groups
            self._check(found.error_code)
            for each in (partition for name in found.topics for partition in name.partitions):
                self._check(each.error_code)
            return found

        found = self._asked(f"how far share group {group} is was not read", ask)
        known = {
            (topic.topic_name, each.partition_index): ShareStand(each.start_offset, each.lag)
            for topic in found.topics
            for each in topic.partitions
            if each.start_offset >= 0 and each.lag >= 0
        }
        return [known.get((name, number)) for name in topics for number in range(partitions)]

    def begin(self, group: str, topic: str, offsets: Sequence[int]) -> None:
        """Let a group without members begin at these offsets, of each partition in order; makes the group."""

        async def ask(manager: Any) -> None:
            request = _messages()["AlterShareGroupOffsetsRequest"]
            asked = request.AlterShareGroupOffsetsRequestTopic
            partition = asked.AlterShareGroupOffsetsRequestPartition
            places = [partition(partition_index=number, start_offset=offset) for number, offset in enumerate(offsets)]
            node = await self._client._find_coordinator_id(group)
            answer = await manager.send(
                request(group_id=group, topics=[asked(topic_name=topic, partitions=places)]), node
            )
            self._check(answer.error_code)
            for each in (place for name in answer.responses for place in name.partitions):
                self._check(each.error_code)

        self._asked(f"the start of share group {group} could not be set", ask)

    def close(self) -> None:
        """Let go of the connections."""
        if self._client is not None:
            with contextlib.suppress(library().errors.KafkaError):
                self._client.close()
            self._client = None

    def _check(self, code: int) -> None:
        if code:
            raise library().errors.for_code(code)

    def _asked(self, what: str, ask: Callable[[Any], Awaitable[_T]]) -> _T:
        """The answer, asked for again while there is patience; raises BrokerError that says `what` failed."""
        until_ns = clock.monotonic_ns() + int(self._patience_seconds * NS_PER_SECOND)
        while True:
            try:
                if self._client is None:
                    ms = self._milliseconds
                    self._client = opened(self._settings, request_ms=ms, bootstrap_ms=ms)
                answer: _T = self._client._manager.run(ask, self._client._manager)
            except (library().errors.KafkaError, OSError, AssertionError) as error:
                # The next attempt begins anew: what is known of the cluster may be old.
                self.close()
                if clock.monotonic_ns() >= until_ns:
                    raise BrokerError(f"{what}: {error or type(error).__name__}") from error
                clock.sleep_seconds(_PAUSE_SECONDS)
            else:
                return answer


def lacking(features: dict[str, int], versions: dict[int, int]) -> str | None:
    """What a cluster lacks for share groups, by its features and the versions of requests that it takes."""
    if versions.get(_SHARE_FETCH, -1) < _SINCE:
        return "the cluster is older than Kafka 4.2, the first whose share groups are for production"
    if features.get(_FEATURE, 0) < 1:
        return f"the feature {_FEATURE} of the cluster is off"
    return None


@cache
def _messages() -> dict[str, Any]:
    """The messages by their names; made when they are needed first, as the library is."""
    library()
    from kafka.protocol.api_message import ApiMessage

    names = [f"{what}ShareGroupOffsets{way}" for what in ("Describe", "Alter") for way in ("Request", "Response")]
    with warnings.catch_warnings():
        # It reads descriptions with a call that Python has deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        return {name: type(ApiMessage)(name, (ApiMessage,), {}, load_json=_PROTOCOL) for name in names}


class ShareOffsets(KafkaOffsets):
    """Where partitions stand, and share groups: a group counts as committed up to what it is not done with.

    It is done with messages in any order. What is told is the log end less the messages without a final outcome, as
    the broker counts them: their number is the lag.
    """

    def __init__(
        self,
        asker: Asker,
        share: ShareAsker,
        topics: Sequence[str],
        partitions: int,
        groups: Sequence[str] = (),
        every_ns: int = 0,
    ) -> None:
        """`every_ns` is for who asks at every turn: what was told stays true for so long."""
        super().__init__(asker, topics, partitions, groups)
        self._every_ns = every_ns
        self._last: dict[int, tuple[int, list[int | None]]] = {}
        self._share, self._names, self._count, self._of = share, topics, partitions, groups

    def committed(self, group: int) -> list[int | None]:
        """Log end less the messages that a group is not done with, in each place; None where it has not begun."""
        now_ns = clock.monotonic_ns()
        if group not in self._last or now_ns - self._last[group][0] >= self._every_ns:
            self._last[group] = now_ns, self._told(group, ShareStand.committed)
        return self._last[group][1]

    def settled(self, group: int) -> list[int | None]:
        """The offset below which a group is done with everything, in each place: the log end if nothing is left."""
        return self._told(group, ShareStand.settled)

    def close(self) -> None:
        """Let go of the clients."""
        super().close()
        self._share.close()

    def _told(self, group: int, tell: Callable[[ShareStand, int], int]) -> list[int | None]:
        def ask() -> list[ShareStand | None]:
            return self._share.stands(self._of[group], self._names, self._count)

        # Ends are asked before the group: what comes to the log meanwhile makes the lag larger, never smaller.
        ends, stands = self.log_ends(), self._asker.awaited(ask)
        return [None if stand is None else tell(stand, end) for end, stand in zip(ends, stands, strict=True)]


def open_share_offsets(
    spec: ClientSpec, groups: Sequence[str], partitions: int, timeout_seconds: float
) -> ShareOffsets:
    """As `open_offsets`, of share groups: asks once each time."""
    share = ShareAsker(spec.settings, timeout_seconds, 0)
    return ShareOffsets(Asker(spec.settings, timeout_seconds, 0), share, spec.topics, partitions, groups)
