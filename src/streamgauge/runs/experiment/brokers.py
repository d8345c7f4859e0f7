"""The embedded broker of an experiment, whose runs share it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Self

from streamgauge.cluster.embedded import EmbeddedBroker
from streamgauge.processes.patience import Progress


class SharedBrokers:
    """The embedded broker that runs share; another one takes the place of one that died."""

    def __init__(self, start: Callable[[], AbstractContextManager[EmbeddedBroker]] | None, say: Progress) -> None:
        self._start, self._say = start, say
        self._broker: EmbeddedBroker | None = None
        self._owned = ExitStack()

    def current(self) -> EmbeddedBroker | None:
        """The broker for the next run; None where each run has its own, or the user's cluster is measured."""
        if self._start is None:
            return None
        if self._broker is not None and not self._broker.alive:
            self._say("the shared broker has died; starting another")
            self._owned.close()
            self._broker = None
        if self._broker is None:
            self._broker = self._owned.enter_context(self._start())
        return self._broker

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._owned.close()
