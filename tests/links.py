"""Links without a network."""

from dataclasses import dataclass, field

from streamgauge.scenario.model.environment.faults.links import LinkFault


@dataclass
class FakeLinks:
    """Links that remember what is on, and may refuse."""

    on: list[LinkFault] = field(default_factory=list)
    refuses: set[int] = field(default_factory=set)
    calls: int = 0
    pid: int = 1

    def begin(self, fault: LinkFault) -> None:
        self._called()
        self.on.append(fault)

    def end(self, fault: LinkFault) -> None:
        if fault in self.on:
            self.on.remove(fault)
        self._called()

    def _called(self) -> None:
        self.calls += 1
        if self.calls in self.refuses:
            raise ConnectionError("the proxy of links has ended")
