"""Trogdor's workloads that are no load on Kafka: a command from outside, and nothing at all."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from streamgauge.domain.text.shown import shown
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.write.programs import ProgramCommand, ProgramRun
from streamgauge.foreign.specs.write.translation import Draft, name_of

TASK: Final = "task0"
"""The id that a task has which is carried out without a coordinator."""
_GRACE_MS: Final = 5_000
_LONGEST_MS: Final = 7 * 24 * 3600 * 1000
_MOST_INPUT: Final = 32 << 10
"""Bytes: what a pipe takes, whether the program reads it or not."""
_MOST_WORDS: Final = 1_000


def program_of(draft: Draft, kind: str, fields: SpecFields, spec: Any) -> ProgramRun:
    """The run that a specification says; `spec` is the whole of it, as its result repeats it."""
    if fields.whole("startMs", 0, least=0):
        draft.left_out(fields.place("startMs"), "a program begins when it is started")
    lasts_ms = min(fields.whole("durationMs", 0, least=0), _LONGEST_MS)
    if not lasts_ms:
        draft.refuse(fields.place("durationMs"), "0 ends it at once", "Write how many milliseconds it lasts")
    made = PROGRAMS[kind](draft, fields, lasts_ms / 1000, spec if isinstance(spec, Mapping) else {})
    fields.close()
    return made


def _external(draft: Draft, fields: SpecFields, lasts_s: float, spec: Mapping[str, Any]) -> ProgramRun:
    fields.ignored("the program runs on this machine", "commandNode")
    fields.required("command")
    words = fields.texts("command")
    where = fields.place("command")
    if fields.has("command") and not (words and words[0].strip()):
        draft.refuse(where, f"{shown(where, fields.raw('command'))}: names no program", "Write it as a list of words")
    if len(words) > _MOST_WORDS or any("\0" in word for word in words):
        draft.refuse(where, "is no command", f"Write at most {_MOST_WORDS:,} words, without bytes of value 0")
    line = json.dumps({"id": TASK, "workload": fields.raw("workload")})
    if len(line) > _MOST_INPUT:
        draft.refuse(fields.place("workload"), f"has {len(line):,} bytes", f"Write at most {_MOST_INPUT:,}")
    return ProgramRun(
        name=name_of("trogdor", "external-command"),
        tool="Trogdor",
        command=ProgramCommand(where, tuple(words), limit_s=lasts_s),
        input=line,
        speech="trogdor",
        grace_s=fields.whole("shutdownGracePeriodMs", _GRACE_MS, least=0, most=_LONGEST_MS) / 1000,
        is_ended_in_time=True,
        spec=spec,
    )


def _nothing(_: Draft, __: SpecFields, lasts_s: float, spec: Mapping[str, Any]) -> ProgramRun:
    return ProgramRun(name_of("trogdor", "no-op"), "Trogdor", None, lasts_s, spec=spec)


PROGRAMS: Final[Mapping[str, Callable[[Draft, SpecFields, float, Mapping[str, Any]], ProgramRun]]] = {
    "ExternalCommandSpec": _external,
    "NoOpTaskSpec": _nothing,
}
