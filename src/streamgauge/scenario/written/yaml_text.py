"""YAML as scenarios need it: plain values, no key twice, and every fault with its place."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

LONGEST_NUMBER: Final = 40
"""Characters of a whole number; Python refuses those of thousands, and nobody means one of hundreds."""
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"
_INT: Final = "tag:yaml.org,2002:int"


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is wrong with a text; line and column count from 1, None where YAML does not tell them."""

    what: str
    mend: str
    line: int | None = None
    column: int | None = None


class YamlError(Exception):
    """The text has the given flaws, all of them at once where it could be read to its end."""

    def __init__(self, flaws: list[Flaw]) -> None:
        super().__init__(flaws)
        self.flaws = flaws


def read_yaml(text: str) -> Any:
    """The value that a text says; raises YamlError."""
    try:
        loader = _Loader(text)
        value = loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        raise YamlError([_flaw(error.problem or "not YAML", _mend(error), error.problem_mark)]) from error
    except yaml.reader.ReaderError as error:
        raise YamlError([_unprintable(text, error)]) from error
    except RecursionError as error:
        raise YamlError([Flaw("nested too deeply", "Write it with fewer brackets")]) from error
    if loader.flaws:
        raise YamlError(loader.flaws)
    return value


class _Loader(yaml.SafeLoader):
    """Dates stay texts, tags are refused, and a key that is there twice is a flaw instead of winning silently."""

    # A rate or a name is never a date, and one that does not exist cannot even be read as one.
    yaml_implicit_resolvers = {  # noqa: RUF012 - as in the class above
        first: [(tag, form) for tag, form in resolvers if tag != _TIMESTAMP]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.flaws: list[Flaw] = []
        self.under_way: list[str | None] = []
        """The anchors of the nodes that are being composed."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """A node, which must not say its own type: the types of Python and of others are no business of a scenario.

        Nor is it part of itself: who goes through all of it would never come to an end.
        """
        event = self.peek_event()  # type: ignore[no-untyped-call]
        tag = getattr(event, "tag", None)
        if tag is not None:
            name = tag.replace("tag:yaml.org,2002:", "!!")
            raise yaml.constructor.ConstructorError(None, None, f"the tag {name} is not supported", event.start_mark)
        anchor = getattr(event, "anchor", None)
        if isinstance(event, yaml.AliasEvent) and anchor in self.under_way:
            mark: Any = event.start_mark
            raise yaml.constructor.ConstructorError(None, None, f"*{anchor} is part of itself", mark)
        self.under_way.append(anchor)
        node = super().compose_node(parent, index)
        self.under_way.pop()
        return node

    def flatten_mapping(self, node: Any) -> None:
        """Merge what `<<` names; each key stays once, or mappings merged into each other would grow without bounds."""
        self.flaws += _repeated(node)
        super().flatten_mapping(node)
        node.value = list({(key.tag, str(key.value)): (key, value) for key, value in node.value}.values())

    def construct_yaml_int(self, node: Any) -> int:
        """A whole number that somebody can have meant."""
        if len(node.value) > LONGEST_NUMBER:
            what = f"a number of {len(node.value)} digits"
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark)
        try:
            return int(super().construct_yaml_int(node))
        except ValueError as error:
            raise yaml.constructor.ConstructorError(None, None, "not a number", node.start_mark) from error


_Loader.add_constructor(_INT, _Loader.construct_yaml_int)


def _repeated(node: yaml.MappingNode) -> Iterator[Flaw]:
    """The keys of a mapping that are there already."""
    lines: dict[tuple[str, str], int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        name, mark = (key.tag, key.value), key.start_mark
        if name in lines:
            yield Flaw(f"`{key.value}` is already defined in line {lines[name]}", "Keep one of them", *_at(mark))
        lines.setdefault(name, mark.line + 1)


def _mend(error: yaml.MarkedYAMLError) -> str:
    if not isinstance(error, yaml.constructor.ConstructorError):
        return "Correct the line; indent with spaces"
    return "Write keys and values as plain text and numbers"


def _flaw(what: str, mend: str, mark: Any) -> Flaw:
    return Flaw(what, mend, *_at(mark)) if mark else Flaw(what, mend)


def _at(mark: Any) -> tuple[int, int]:
    return mark.line + 1, mark.column + 1


def _unprintable(text: str, error: yaml.reader.ReaderError) -> Flaw:
    before = text[: error.position]
    what = f"the character U+{ord(text[error.position]):04X} is not allowed"
    return Flaw(what, "Remove it", before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
