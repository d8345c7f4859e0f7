"""Command lines of other tools: names and values of options, and what stands without a name."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.write.translation import Draft

Arity = Literal["one", "none", "many"]
"""How many values an option takes; `many` are all up to the next option."""


@dataclass(frozen=True, slots=True)
class CommandFlags:
    """The options of a command, by their names without dashes, and the other words."""

    options: Mapping[str, str | bool | list[str]]
    words: Sequence[str] = field(default_factory=tuple)


def read_flags(
    draft: Draft, words: Sequence[str], known: Mapping[str, Arity], *, is_go: bool = False, may_repeat: bool = False
) -> CommandFlags:
    """The options of a command. Those of Go begin with one dash or two, and its flags may have a value behind `=`.

    Options that are not known, lack a value or are given twice are faults of the draft.
    """
    options: dict[str, str | bool | list[str]] = {}
    others: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        dash = "-" if is_go else "--"
        if not word.startswith(dash) or word in {"-", "--"}:
            others.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        shown_name = one_line(f"{dash}{name}")
        arity = known.get(name)
        if arity is None:
            near = difflib.get_close_matches(name, known, n=1)
            mend = (
                f"Did you mean {dash}{near[0]}?" if near else f"Known: {', '.join(f'{dash}{each}' for each in known)}"
            )
            draft.refuse(shown_name, "no such option", mend)
            # What follows may be its value: nothing can be told of it.
            while rest and not rest[0].startswith("-"):
                del rest[0]
            continue
        if name in options and not (may_repeat and arity == "many"):
            draft.refuse(shown_name, "is given twice", "Leave one of them out")
        if arity == "none":
            options[name] = value if equals else True
        elif arity == "many":
            values = [value] if equals else []
            while rest and not rest[0].startswith(dash):
                values.append(rest.pop(0))
            before = options.get(name, [])
            options[name] = [*before, *values] if isinstance(before, list) else values
        elif equals or rest:
            options[name] = value if equals else rest.pop(0)
        else:
            draft.refuse(shown_name, "has no value", "Write one behind it")
    return CommandFlags(options, tuple(others))
