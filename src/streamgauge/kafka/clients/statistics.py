"""What a client says of itself: librdkafka's statistics, read into rows of `client`.

Meaning of the fields: librdkafka's `STATISTICS.md`, and measured where it is wrong: `txmsg_bytes` and `rxmsg_bytes`
are bytes of keys and values before compression, without headers and framing; `tx_bytes` and `rx_bytes` are what went
over the sockets. Brokers that ended are forgotten with what was counted of them, also in the totals `tx_bytes` and
`rx_bytes`. `txretries` leaves out Produce requests, whose messages go into new requests: what is retried of a load is
seen in `txmsgs` alone, which counts a message each time. The text grows with the partitions, to 0.8 MB for a thousand
of them, so only what is needed is parsed.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from streamgauge.domain.blocks import NULL_INT64, Block
from streamgauge.domain.events import CLIENT

Role = Literal["producer", "consumer", "acknowledgements", "tracker-consumer", "tracker-producer"]
_SENDING: Final = frozenset({"producer", "acknowledgements", "tracker-producer"})

INTERVAL_MS: Final = 1_000
"""How often a client tells: what it last told before it is closed is at most so old."""
EVERY: Final = 2
"""Which of these texts are read: the first, every second, and the newest when rows are asked for."""

_NS_PER_US: Final = 1_000
_DECODER: Final = json.JSONDecoder()
_NUMBERS: Final = tuple(name for name in CLIENT.names if name not in {"worker", "role"})

Numbers = dict[str, int | None]
Json = Mapping[str, Any]


class ClientCounts(NamedTuple):
    """What is counted of one broker, or of several."""

    wire_bytes: int = 0
    requests: int = 0
    retries: int = 0
    tx_bytes: int = 0
    rx_bytes: int = 0
    tx_requests: int = 0

    def plus(self, other: "ClientCounts") -> "ClientCounts":
        """Both together."""
        return ClientCounts(*(own + its for own, its in zip(self, other, strict=True)))


class Ledger:
    """Counts that never fall, of a client that forgets brokers: what it had told of them last stays."""

    def __init__(self) -> None:
        self._last: Mapping[str, ClientCounts] = {}
        self._forgotten = ClientCounts()
        self._most_retried = 0

    def total(self, told: Mapping[str, ClientCounts]) -> ClientCounts:
        """What was counted by now, of all brokers that it told of; one that was forgotten begins again at nothing."""
        for name, last in self._last.items():
            now = told.get(name)
            if now is None or now.wire_bytes < last.wire_bytes:
                self._forgotten = self._forgotten.plus(last)
        self._last = told
        return reduce(ClientCounts.plus, told.values(), self._forgotten)

    def retried(self, put_into_requests: int, taken: int) -> int:
        """Messages that were put into a request again, at least: more were put into requests than were taken.

        What waits in the queue hides as many, and is told later.
        """
        self._most_retried = max(self._most_retried, put_into_requests - taken)
        return self._most_retried


class Statistics:
    """Collects what one client tells.

    A look costs 60 us with 12 partitions and 0.2 ms with 100, once in two seconds and within the client's poll.
    """

    def __init__(self, worker: str, role: Role, taken: Callable[[], int] | None = None) -> None:
        """`taken` tells how many messages a producer has taken by now, where that is known."""
        self._worker = worker
        self._role = role
        self._taken = taken
        self._told = 0
        self._newest: tuple[str, int | None] | None = None
        self._ledger = Ledger()
        self._looks: list[Numbers] = []

    @property
    def settings(self) -> dict[str, int | Callable[[str], None]]:
        """What the client's settings need beside their own."""
        return {"statistics.interval.ms": INTERVAL_MS, "stats_cb": self.callback}

    def callback(self, text: str) -> None:
        """Take what the client tells: runs within its poll."""
        self._newest = text, self._taken() if self._taken else None
        if self._told % EVERY == 0:
            self._look()
        self._told += 1

    def rows(self) -> tuple[Block, int]:
        """The rows of `client` since the last call, up to what was told last, and their number."""
        self._look()
        looks, self._looks = self._looks, []
        columns = {name: np.array([_or_null(look[name]) for look in looks], np.int64) for name in _NUMBERS}
        return {"worker": self._worker, "role": self._role, **columns}, len(looks)

    def _look(self) -> None:
        if self._newest is not None:
            text, taken = self._newest
            self._looks.append(numbers_of(text, self._role, self._ledger, taken))
            self._newest = None


def together(told: Iterable[tuple[Block, int]]) -> tuple[Block, int]:
    """The rows of several clients as one block, and their number."""
    blocks = [(block, count) for block, count in told if count]
    if not blocks:
        return {}, 0
    texts = {name: [str(block[name]) for block, count in blocks for _ in range(count)] for name in ("worker", "role")}
    numbers = {name: np.concatenate([np.asarray(block[name]) for block, _ in blocks]) for name in _NUMBERS}
    return {**texts, **numbers}, sum(count for _, count in blocks)


def _or_null(number: int | None) -> int:
    return NULL_INT64 if number is None else number


def numbers_of(text: str, role: Role, ledger: Ledger, taken: int | None = None) -> Numbers:
    """The numbers of one row of `client` from one text of statistics; `ledger` knows the texts before.

    `taken` is how many messages the client had taken when it told this, where that is known.
    """
    head = json.loads(text[: text.index('"brokers":')].rstrip(" ,") + "}")
    totals = json.loads("{" + text[text.rindex('"tx":') :])
    named = next(_objects(text, '"brokers":'))
    brokers = list(named.values())
    sends = role in _SENDING
    way, requests = ("tx", ("Produce",)) if sends else ("rx", ("Fetch", "ShareFetch"))
    counted = ledger.total(
        {
            name: ClientCounts(
                broker[f"{way}bytes"],
                sum(broker["req"].get(each, 0) for each in requests),
                broker["txretries"],
                broker["txbytes"],
                broker["rxbytes"],
                broker["tx"],
            )
            for name, broker in named.items()
        }
    )
    rtt = [broker["rtt"] for broker in brokers]
    return {
        "at_ns": head["ts"] * _NS_PER_US,
        "messages": totals[f"{way}msgs"],
        "message_bytes": totals[f"{way}msg_bytes"],
        **counted._asdict(),
        "retried_messages": None if taken is None else ledger.retried(totals[f"{way}msgs"], taken),
        "rtt_us": _mean(rtt),
        "rtt_p99_us": max((window["p99"] for window in rtt if window["cnt"]), default=None),
        "throttle_ms": max((broker["throttle"]["max"] for broker in brokers), default=0),
        "queue_us": _mean([broker["int_latency"] for broker in brokers]) if sends else None,
        "queue_messages": head["msg_cnt"] if sends else None,
        "queue_bytes": head["msg_size"] if sends else None,
        "batch_messages": _mean(_objects(text, '"batchcnt":')) if sends else None,
        "batch_bytes": _mean(_objects(text, '"batchsize":')) if sends else None,
    }


def _objects(text: str, name: str) -> Iterator[Json]:
    """Every object of this name, parsed without what lies around it."""
    at = text.find(name)
    while at >= 0:
        found, end = _DECODER.raw_decode(text, text.index("{", at))
        yield found
        at = text.find(name, end)


def _mean(windows: "Iterator[Json] | list[Json]") -> int | None:
    """The mean of all that was counted in some windows; None where nothing was."""
    summed = [(window["sum"], window["cnt"]) for window in windows]
    count = sum(each for _, each in summed)
    return round(sum(each for each, _ in summed) / count) if count else None
