"""Every exception that Streamgauge raises on purpose.

StreamgaugeError
├── BadInput            what the user gave cannot be used; nothing was started (exit code 2)
├── Interrupted         the user wanted to wait no longer (exit code 130)
└── RunFailed           the work began and could not be done (exit code 1)
    ├── BrokerError     a broker could not be started, reached or asked
    ├── RecordError     a row could not be written or a run folder could not be read
    ├── WorkerError     a worker could not be started or did not get ready
    └── AnalysisError   the pipeline could not answer from the rows

BadValue, a ValueError, says what is wrong with one value; whoever knows where it stands makes a Fault of it.

A message that fails is a row, never an exception.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


class StreamgaugeError(Exception):
    """Root of the tree; its text is fit to be shown to a user as it stands."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with an input: where it is, what is wrong, how to mend it."""

    where: str
    what: str
    mend: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.mend}"


class BadValue(ValueError):
    """A value that cannot be used: what is wrong with it, and how to mend it."""

    def __init__(self, what: str, mend: str) -> None:
        self.what, self.mend = what, mend
        super().__init__(f"{what}; {mend[:1].lower()}{mend[1:]}")

    def at(self, where: str, given: str) -> Fault:
        """The fault that it is at a place; `given` is the value, fit to be shown."""
        return Fault(where, f"{given}: {self.what}", self.mend)


class BadInput(StreamgaugeError):
    """The input has the given faults, all of them at once."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))

    @classmethod
    def single(cls, where: str, what: str, mend: str) -> "BadInput":
        """A BadInput with exactly one fault."""
        return cls([Fault(where, what, mend)])


class Faults(list[Fault]):
    """Faults as they are found."""

    def of(self, check: Callable[_Given, _Found], *given: _Given.args, **named: _Given.kwargs) -> _Found | None:
        """The result of a check; None where it raises BadInput, whose faults are kept."""
        try:
            return check(*given, **named)
        except BadInput as error:
            self.extend(error.faults)
            return None


class Interrupted(StreamgaugeError):
    """The user wanted to wait no longer."""


class CtrlC(BaseException):
    """Ctrl-C where nobody noted it. It is no KeyboardInterrupt, for which the command line has an exit code of its own.

    Raised in the middle of anything; what must be cleared away meanwhile is.
    """


class RunFailed(StreamgaugeError):
    """The work began and could not be done."""


class BrokerError(RunFailed):
    """A broker could not be started, reached or asked."""


class RecordError(RunFailed):
    """A row could not be written, or a run folder could not be read."""

    dropped_rows: int | None = None
    """How many of the rows that were to be written are not; None where that is not known."""


class WorkerError(RunFailed):
    """A worker could not be started or did not get ready in time."""


class AnalysisError(RunFailed):
    """The pipeline could not answer from the recorded rows."""
