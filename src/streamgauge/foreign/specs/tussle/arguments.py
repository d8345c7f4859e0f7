"""The arguments of tussle: files, YAML, `-p k=v` and `k=v`, merged in their order, before and behind `--runner`."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.read.texts import read_mapping
from streamgauge.foreign.specs.write.translation import Draft

DEFAULT_RUNNER: Final = "BasicRunner"


class TussleArguments(NamedTuple):
    """What stands before and behind `--runner`, merged."""

    bench: dict[str, Any]
    runner: str
    run: dict[str, Any]


def arguments_of(draft: Draft, words: Sequence[str], read: Callable[[str], str]) -> TussleArguments:
    """The merged arguments; what is wrong with them is a fault of the draft. Files are read with `read`."""
    words = words[: words.index("--")] if "--" in words else words
    found = TussleArguments({}, DEFAULT_RUNNER, {})
    rest = list(words)
    into = found.bench
    while rest:
        word = rest.pop(0)
        if word in {"--runner", "-f", "-s", "-p"} and not rest:
            draft.refuse(word, "has no value", "Write one behind it")
        elif word == "--runner":
            found = found._replace(runner=rest.pop(0).rpartition(".")[2])
            into = found.run
        elif word == "-f":
            _from_file(draft, rest.pop(0), read, into)
        elif word == "-s":
            _merge(draft, "-s", draft.faults.of(read_mapping, rest.pop(0), f"{draft.source}: -s"), into)
        else:
            _pair(draft, rest.pop(0) if word == "-p" else word, into)
    return found


def _from_file(draft: Draft, path: str, read: Callable[[str], str], into: dict[str, Any]) -> None:
    text = draft.faults.of(read, path)
    if text is not None:
        _merge(draft, one_line(path), draft.faults.of(read_mapping, text, one_line(path)), into)


def _merge(draft: Draft, where: str, given: Any, into: dict[str, Any]) -> None:
    if given is None:
        return
    if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
        draft.refuse(where, "not a mapping of properties", "Write it as `name: value`")
        return
    into.update(given)


def _pair(draft: Draft, text: str, into: dict[str, Any]) -> None:
    """`name=value`; the value is YAML, and a dotted name is a place in a mapping: `producerProps.acks=all`."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        draft.refuse(one_line(text), "not a property", "Write name=value")
        return
    try:
        found = read_mapping(value, f"{draft.source}: {one_line(name)}")
    except BadInput:
        found = value
    first, dot, below = name.partition(".")
    if dot and first.endswith("Props"):
        inner = into.setdefault(first, {})
        if isinstance(inner, dict):
            inner[below] = found
            return
    into[name] = found
