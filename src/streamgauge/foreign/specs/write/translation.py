"""What a specification of another tool comes to: a scenario or an experiment, and notes on all that differs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import BadInput, Fault, Faults
from streamgauge.domain.text.quantities import format_duration
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.write.programs import ProgramRun

Tool = Literal["trogdor", "tussle", "omb", "kafkabench", "ssp", "mqperf", "perf-test"]
SpecDocument = Literal["scenario", "experiment", "program"]
"""A `program` is no document: what it starts is carried out as it stands."""
_LONGEST_NAME: Final = 60


class NoteKind(StrEnum):
    """How something of a specification is not in the document as it stands; the text heads its notes."""

    LEFT_OUT = "Not translated"
    UNIT = "Changed in unit"
    DIFFERS = "Means something else here"


@dataclass(frozen=True, slots=True)
class SpecNote:
    """What became of one field of a specification."""

    kind: NoteKind
    where: str
    """The field, as the other tool calls it."""
    what: str


@dataclass(frozen=True, slots=True)
class Translation:
    """A document of Streamgauge that does what a specification says."""

    tool: Tool
    spec: str
    """Which kind of specification it was, in the words of its tool."""
    kind: SpecDocument
    document: Mapping[str, Any]
    notes: tuple[SpecNote, ...]
    bootstrap: str | None = None
    """The cluster that it names; scenarios name none."""
    search: tuple[str, ...] = ()
    """Options of `streamgauge search` where it asks for the highest rate; empty where it does not."""
    programs: tuple[ProgramRun, ...] = ()
    """Runs of other programs, one after the other; empty where Streamgauge itself makes the load."""


@dataclass(slots=True)
class Draft:
    """A translation that is being made: everything wrong and everything worth a note, as it is found."""

    source: str
    """What the specification is called in messages."""
    faults: Faults = field(default_factory=Faults)
    notes: list[SpecNote] = field(default_factory=list)
    bootstrap: str | None = None

    def refuse(self, where: str, what: str, mend: str) -> None:
        """Something of the specification cannot be used; what follows from a fault at the same place is no other."""
        place = f"{self.source}: {where}" if where else self.source
        if all(fault.where != place for fault in self.faults):
            self.faults.append(Fault(place, what, mend))

    def left_out(self, where: str, what: str) -> None:
        """A field that has no place in the document, and why."""
        self._note(NoteKind.LEFT_OUT, where, what)

    def unit(self, where: str, what: str) -> None:
        """A field whose value is written in another unit."""
        self._note(NoteKind.UNIT, where, what)

    def differs(self, where: str, what: str) -> None:
        """A field whose counterpart does not do quite the same."""
        self._note(NoteKind.DIFFERS, where, what)

    def cluster(self, where: str, address: str) -> None:
        """The specification names a cluster."""
        if address.strip():
            self.bootstrap = self.bootstrap or address.strip()
            self.left_out(where, "a scenario names no cluster; use --bootstrap, or leave it out for an embedded broker")

    def finished(
        self,
        tool: Tool,
        spec: str,
        document: Mapping[str, Any],
        kind: SpecDocument = "scenario",
        search: tuple[str, ...] = (),
        programs: tuple[ProgramRun, ...] = (),
    ) -> Translation:
        """The translation; raises BadInput with every fault that was found."""
        if self.faults:
            raise BadInput(list(dict.fromkeys(self.faults)))
        notes = tuple(dict.fromkeys(self.notes))
        return Translation(tool, spec, kind, document, notes, self.bootstrap, search, programs)

    def _note(self, kind: NoteKind, where: str, what: str) -> None:
        self.notes.append(SpecNote(kind, one_line(where), what))


def name_of(*parts: str) -> str:
    """The name of a scenario that is made of texts from outside."""
    plain = re.sub(r"[^a-z0-9._]+", "-", "-".join(part for part in parts if part).lower())
    return plain[:_LONGEST_NAME].strip("-._") or "converted"


def duration(ms: float) -> str:
    """Milliseconds as a scenario writes a duration."""
    return format_duration(round(ms * NS_PER_MS))


def without_none(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping without the keys that have no value."""
    return {key: value for key, value in mapping.items() if value is not None}
