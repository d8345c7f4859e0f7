"""Requests to a cluster, waited for in bounded time and sent again while the cluster is not ready for them."""

import contextlib
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

import confluent_kafka as ck
import confluent_kafka.admin
from confluent_kafka import KafkaError, KafkaException

from streamgauge.domain.blocks import Settings
from streamgauge.domain.errors import BadInput, BrokerError
from streamgauge.kafka.patience import patiently
from streamgauge.processes.patience import Check, awaited, no_check

_LOG_LINES: Final = 3
_GRACE_SECONDS: Final = 1.0
"""A client that is told to give up after some seconds does so a moment later."""
# The module does not say which of its names are meant for others, so that mypy takes none of them.
_admin: Final[Any] = confluent_kafka.admin

_OLD_METADATA: Final = frozenset(
    {
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError._NOENT,
    }
)
"""Answers to a client that takes an earlier life of a broker, or another broker, for the leader."""

_T = TypeVar("_T")


class Asker:
    """An admin client that asks: each answer comes within `timeout_seconds`, or a BrokerError says why it does not.

    While the cluster is not ready a request is sent again, for `patience_seconds`; with 0 it is sent once, and what
    goes wrong is told without what the client said before. `check` is asked some twenty times a second while an answer
    is awaited; what it raises ends the waiting.
    """

    def __init__(
        self, settings: Settings, timeout_seconds: float, patience_seconds: float, check: Check = no_check
    ) -> None:
        self.timeout_seconds = timeout_seconds
        self.check = check
        self._patience_seconds = patience_seconds
        self._settings = dict(settings)
        self._said = _LastLines(_LOG_LINES if patience_seconds else 0)
        self._logger = logging.Logger("streamgauge.kafka.asking")  # noqa: LOG001 - its lines are for our errors alone
        self._logger.addHandler(self._said)
        self._given_up: list[Any] = []
        self.admin: Any = self._client()

    def _client(self) -> Any:
        try:
            return _admin.AdminClient(self._settings, logger=self._logger)
        except KafkaException as error:
            raise BadInput.single("client settings", text_of(error), "See librdkafka's CONFIGURATION.md") from error

    def ask(
        self, what: str, send: Callable[..., dict[Any, Future[Any]]], asked: Any, *, gone: int | None = None
    ) -> dict[Any, Any]:
        """The answers to a request; none on the error `gone`. `what` tells in an error what could not be done."""

        def once() -> dict[Any, Any]:
            try:
                answers = send(asked, request_timeout=self.timeout_seconds)
                return {key: self.answer(future) for key, future in answers.items()}
            except KafkaException as error:
                if error.args[0].code() == gone:
                    return {}
                if error.args[0].code() in _OLD_METADATA:
                    # The client would go on asking with the leaders that it knows, for minutes.
                    with contextlib.suppress(KafkaException):
                        self.admin.list_topics(timeout=self.timeout_seconds)
                raise

        return self.patiently(what, once)

    def answer(self, future: Future[_T]) -> _T:
        """What a client answers; raises KafkaException if it does not, long after it should have given up.

        A request to the coordinator of a group may never end while its brokers restart. Such a client is left to
        itself, and the next request has a new one: freeing it now would wait for the request.
        """
        try:
            return future.result(self.timeout_seconds + _GRACE_SECONDS)
        except TimeoutError as error:
            self._given_up.append(self.admin)
            self.admin = self._client()
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "the client did not answer")) from error

    def patiently(self, what: str, once: Callable[[], _T]) -> _T:
        """What `once` returns, tried again while the cluster is not ready for it; raises BrokerError if it fails."""
        try:
            return patiently(lambda: self.awaited(once), self._patience_seconds)
        except KafkaException as error:
            raise BrokerError(f"{what}: {self.why(error)}") from error

    def awaited(self, call: Callable[[], _T]) -> _T:
        """What a call returns, made in a thread of its own; but for who asks once, and waits for nothing else."""
        return awaited(call, self.check) if self._patience_seconds else call()

    def consumer(self, group: str) -> ck.Consumer:
        """A client that knows a group without joining it.

        The admin client could ask about a group's offsets too, but it dereferences null while a coordinator is on the
        move, as after the birth of a cluster (librdkafka's issue 5040).
        """
        own: dict[str, str | int | float | bool] = {"group.id": group, "enable.auto.commit": False}
        if self._patience_seconds:
            # A commit waits this long for a coordinator, and this long for its answer; closing waits for the commit.
            patience_ms = max(10, int(self.timeout_seconds * 1000))
            own |= {"session.timeout.ms": patience_ms, "socket.timeout.ms": patience_ms}
        return ck.Consumer({**self._settings, **own}, logger=self._logger)

    def why(self, error: KafkaException) -> str:
        """What an error says, and what the client said last, where the reason often stands."""
        # Brings what librdkafka has said to our logger.
        self.admin.poll(0)
        return "; ".join([text_of(error), *self._said.lines])


class _LastLines(logging.Handler):
    """Keeps the last things that librdkafka said; shows nothing."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.lines: deque[str] = deque(maxlen=count)

    def emit(self, record: logging.LogRecord) -> None:
        # What comes before names threads of librdkafka, what comes after differs from one attempt to the next.
        text = record.getMessage().rpartition("]: ")[2].partition(" (after ")[0]
        if text not in self.lines:
            self.lines.append(text)


def text_of(error: KafkaException) -> str:
    """What an error says."""
    return str(error.args[0].str())
