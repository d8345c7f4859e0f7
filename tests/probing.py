"""A bare client beside a run: an independent witness of how long partitions could not be written.

It is a process of its own, so that what else the process of a test does never keeps it from a core: `python -m
tests.probing BOOTSTRAP TOPIC PARTITIONS` sends until its input ends, and prints what it saw as JSON.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from types import TracebackType
from typing import Any, Final

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND, monotonic_ns, sleep_seconds

EVERY_NS: Final = 5 * NS_PER_MS
PATIENCE_S: Final = 30
SOON: Final[Mapping[str, int]] = {
    "retry.backoff.ms": 5,
    "retry.backoff.max.ms": 10,
    "reconnect.backoff.ms": 5,
    "reconnect.backoff.max.ms": 10,
    "topic.metadata.refresh.fast.interval.ms": 10,
}
"""A client that looks for a new leader again at once: else the patience of clients is what differs between two.

With many requests in flight, it was seen to take up to 43 s to write again after a kill.
"""


class Probe:
    """A process that sends a message every 5 ms to each partition, from when the topic is there until it is stopped."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._command = [sys.executable, "-m", "tests.probing", bootstrap, topic, str(partitions)]
        self._process: subprocess.Popen[str] | None = None
        self.acked_ns: list[list[int]] = []
        """When messages of each partition were acknowledged; known when it is stopped."""
        self.failed: list[str] = []

    def __enter__(self) -> "Probe":
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Wait for what is on its way; may be called again."""
        if self._process is None:
            return
        process, self._process = self._process, None
        try:
            told, _ = process.communicate(timeout=2 * PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        self.acked_ns, self.failed = json.loads(told)


class _Client:
    """What the process does."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._topic = topic
        own: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0}
        self._admin = AdminClient(own)
        self._client = ck.Producer({**own, **SOON, "acks": "all", "linger.ms": 0, "max.in.flight": 1})
        self.acked_ns: list[list[int]] = [[] for _ in range(partitions)]
        self.failed: list[str] = []

    def run(self, over: threading.Event) -> None:
        while not over.is_set() and not self._is_there():
            sleep_seconds(0.1)
        next_ns = monotonic_ns()
        while not over.is_set():
            next_ns = max(next_ns + EVERY_NS, monotonic_ns())
            for partition in range(len(self.acked_ns)):
                with suppress(BufferError):
                    self._client.produce(
                        self._topic, b"probe", partition=partition, on_delivery=partial(self._told, partition)
                    )
            while (left_ns := next_ns - monotonic_ns()) > 0:
                self._client.poll(left_ns / NS_PER_SECOND)
        self._client.flush(PATIENCE_S)

    def _is_there(self) -> bool:
        with suppress(ck.KafkaException):
            found = self._admin.list_topics(self._topic, timeout=1).topics[self._topic]
            return len(found.partitions) == len(self.acked_ns)
        return False

    def _told(self, partition: int, error: Any, _message: Any) -> None:
        if error is None:
            self.acked_ns[partition].append(monotonic_ns())
        else:
            self.failed.append(str(error))


def longest_ns(acked_ns: Sequence[int], begin_ns: int, until_ns: int, last_ns: int) -> int:
    """The longest time without an acknowledgement that begins before `until_ns`.

    It counts from `begin_ns` at the earliest, and to `last_ns`, when the next fault begins, at the latest. `acked_ns`
    are those of one partition, in their order.
    """
    steps = [
        (max(one, begin_ns), min(other, last_ns))
        for one, other in pairwise(acked_ns)
        if one <= min(until_ns, last_ns) and other >= begin_ns
    ]
    return max((other - one for one, other in steps), default=0)


def main() -> None:
    """Send until the input ends."""
    bootstrap, topic, partitions = sys.argv[1:]
    client, over = _Client(bootstrap, topic, int(partitions)), threading.Event()
    sending = threading.Thread(target=client.run, args=(over,))
    sending.start()
    sys.stdin.read()
    over.set()
    sending.join()
    json.dump((client.acked_ns, client.failed), sys.stdout)


if __name__ == "__main__":
    main()
