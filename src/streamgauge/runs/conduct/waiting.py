"""What ends the waiting of a run: the user, or a broker that is gone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import Interrupted
from streamgauge.engine.supervise.plan import Interrupts

IN_VAIN: Final = "interrupted before the load started: nothing was measured"
LAST_ANSWERS_NS: Final = 5 * NS_PER_SECOND
"""What a cluster tells of the end of a run is worth a moment, also to who is in a hurry: without it nothing is lost
for certain. A cluster that lives tells it in a fraction of that."""


@dataclass(slots=True)
class Waiting:
    """Asked while something is waited for; raises what ends the waiting."""

    interrupts: Interrupts
    look: Callable[[], None] = lambda: None
    """Raises BrokerError where a broker is gone that could answer."""
    why: str = f"{IN_VAIN}, and nothing was kept"
    """What is said to a user who asked before the load began."""
    is_ours: bool = False
    """Whether the cluster ends with the run: of one on which nothing was measured, nothing is worth to be asked."""
    now_ns: Callable[[], int] = clock.monotonic_ns
    _hurry_ns: int | None = None
    """Since when the user waits for the last answers, as far as it was noticed."""

    def __call__(self) -> None:
        """Return if it is worth to wait; raises Interrupted where the user would not, and what `look` raises."""
        self.look()
        if not self.interrupts.at_once:
            self._hurry_ns = None
            return
        if self._is_asked_last():
            if self._hurry_ns is None:
                self._hurry_ns = self.now_ns()
            if self.now_ns() - self._hurry_ns < LAST_ANSWERS_NS:
                return
        began = self.interrupts.load_began
        raise Interrupted("interrupted: the cluster was not queried any more" if began else self.why)

    def _is_asked_last(self) -> bool:
        """Whether the run is over, and the cluster is worth a moment for its last answers."""
        return self.interrupts.load_ended and not (self.is_ours and self.interrupts.in_vain)
