"""What jobs are to make of messages, in plain Python: what Spark does is compared with it."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, NamedTuple

from streamgauge.domain import stamp
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.query import QuerySpec
from streamgauge.processes.functions import ORACLE_ARGUMENTS, load_function
from streamgauge.scenario.model.jobs import SUBSET

Expected = Callable[[bytes | None, bytes, bytes | None], bool]
"""Key, value and stamp of a message, in the order of the source -> whether it comes out; a foreign one has no stamp."""
_STATUS: Final = re.compile(rb'" ([1-5][0-9]{2}) ')
_REGIONS: Final = 7


def oracle_of(spec: QuerySpec) -> Expected | None:
    """Which messages are to come out, where somebody knows; None otherwise.

    Raises WorkerError where a user's oracle cannot be imported.
    """
    if spec.job == "filter":
        text = str(spec.options["contains"]).encode()
        return lambda _key, value, _head: text in value
    if spec.job == "dedup":
        seen = FirstAppearance()
        return lambda _key, _value, head: seen.expects(head)
    expects = spec.options.get("expects") if spec.job == "function" and spec.does == SUBSET else None
    if expects is None:
        return None
    theirs = load_function(expects, ORACLE_ARGUMENTS, spec.folder)
    return lambda key, value, _head: bool(theirs(key, value))


@dataclass(slots=True)
class FirstAppearance:
    """The oracle of `dedup`: messages in any order, each once is to come out."""

    _seen: set[bytes] = field(default_factory=set)

    def expects(self, head: bytes | None) -> bool:
        """Whether the message with this stamp is to come out; one without a stamp always is."""
        if head is None:
            return True
        origin = head[4:12] + head[16:24]
        is_first = origin not in self._seen
        self._seen.add(origin)
        return is_first


class Message(NamedTuple):
    """One message as a job is given it; the value without its stamp."""

    key: bytes | None
    body: bytes
    at_ms: int
    """Event time."""
    head: bytes | None = None
    """Its stamp."""


class Counted(NamedTuple):
    """What `count` says of a key in a window."""

    from_ms: int
    key: bytes | None
    messages: int
    head: bytes | None


class Alert(NamedTuple):
    """What `log-alert` says of a window."""

    from_ms: int
    lines: int
    errors: int
    head: bytes | None


class Features(NamedTuple):
    """What `feature-store` says of a key in a window."""

    from_ms: int
    key: bytes | None
    messages: int
    size_sum: int
    first_ms: int
    last_ms: int
    head: bytes | None


def newest(heads: Iterable[bytes | None]) -> bytes | None:
    """The stamp of the newest message: by due time, or sent time where there is no schedule, and then by its bytes."""
    known = [head for head in heads if head is not None]
    return max(known, key=_newness) if known else None


def _newness(head: bytes) -> tuple[int, bytes]:
    _, _, flags, _, _, _, _, due_ns, sent_ns = stamp.ONE.unpack(head)
    return (sent_ns if flags & stamp.NO_SCHEDULE else due_ns), head


def enriched(key: bytes | None, body: bytes, rows: int) -> bytes:
    """The value that `enrich` makes."""
    is_known = key is not None and key.isdigit() and str(int(key)).encode() == key and int(key) < rows
    return body + (b" region=%d" % (int(key or b"") % _REGIONS) if is_known else b" region=none")


def counted(messages: Iterable[Message], window_ns: int) -> list[Counted]:
    """What `count` comes to in the end, by window and key."""
    return [
        Counted(begin, key, len(group), newest(each.head for each in group))
        for begin, key, group in _by_window_and_key(messages, window_ns)
    ]


def features(messages: Iterable[Message], window_ns: int, stamp_bytes: int = 0) -> list[Features]:
    """What `feature-store` writes of windows that are over; sizes include so many bytes of a stamp in the value."""
    return [
        Features(
            begin,
            key,
            len(group),
            sum(len(each.body) + stamp_bytes for each in group),
            min(each.at_ms for each in group),
            max(each.at_ms for each in group),
            newest(each.head for each in group),
        )
        for begin, key, group in _by_window_and_key(messages, window_ns)
    ]


def alerts(messages: Iterable[Message], window_ns: int, share: float) -> list[Alert]:
    """What `log-alert` says of windows that are over."""
    said = []
    for begin, group in _by_window(messages, window_ns):
        statuses = [status for each in group for status in _STATUS.findall(each.body)]
        errors = sum(status.startswith(b"5") for status in statuses)
        if statuses and errors / len(statuses) > share:
            said.append(Alert(begin, len(statuses), errors, newest(each.head for each in group)))
    return said


def counts_in(value: bytes) -> tuple[int, int]:
    """Begin of the window in ms, and the count, in a value that `count` wrote."""
    read = json.loads(value)
    return int(read["from_ms"]), int(read["count"])


def _by_window(messages: Iterable[Message], window_ns: int) -> Iterator[tuple[int, list[Message]]]:
    window_ms = window_ns // NS_PER_MS

    def begin(message: Message) -> int:
        return message.at_ms // window_ms * window_ms

    for at, group in groupby(sorted(messages, key=begin), begin):
        yield at, list(group)


def _by_window_and_key(
    messages: Iterable[Message], window_ns: int
) -> Iterator[tuple[int, bytes | None, list[Message]]]:
    def key(message: Message) -> tuple[bool, bytes]:
        return message.key is not None, message.key or b""

    for begin, group in _by_window(messages, window_ns):
        for (has_key, text), same in groupby(sorted(group, key=key), key):
            yield begin, text if has_key else None, list(same)
