"""The options of `streamgauge simulate`, and their faults."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from streamgauge.domain.errors import BadValue, Fault, Faults
from streamgauge.domain.text.shown import shown

_Found = TypeVar("_Found")


class OptionFaults(Faults):
    """Faults of options as they are found."""

    def read(self, option: str, text: str | None, parse: Callable[[str], _Found]) -> _Found | None:
        """What an option says; None where it was not given, or is wrong, which is kept."""
        if text is None:
            return None
        try:
            return parse(text)
        except BadValue as error:
            self.append(error.at(option, shown(option, text)))
            return None

    def choice(self, option: str, text: str | None, known: Sequence[str]) -> None:
        """Keep the fault of a word that is not known."""
        if text is not None and text not in known:
            self.append(Fault(option, f"{shown(option, text)} is not known", f"Write one of {', '.join(known)}"))


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """The options as they were given; None for what was not."""

    scenario: str | None = None
    settings: Sequence[str] = ()
    partitions: int | None = None
    duration: str | None = None
    rate: str | None = None
    producers: int | None = None
    capacity: str | None = None
    slots: int | None = None
    delay: str | None = None
    jitter: str | None = None
    change: Sequence[str] = ()
    policy: str | None = None
    max_lag: str | None = None
    resume_lag: str | None = None
    limit: str | None = None
    poll: str | None = None
    sampling: str | None = None
    commit: str | None = None
    partitioning: str | None = None
    sticky: str | None = None
    transit: str | None = None
    held: str | None = None
    seed: int | None = None
    every: str = "1s"
    figure: Path | None = None


def part_of(mapping: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A part of a scenario; empty where it is off."""
    below = mapping.get(key)
    return below if isinstance(below, dict) else {}
