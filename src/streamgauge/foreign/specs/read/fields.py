"""The fields of a specification: each is read once, with its type, and what is left at the end is not known."""

import difflib
import math
import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.shown import one_line, shown
from streamgauge.foreign.specs.write.translation import Draft

_Default = TypeVar("_Default")
_MOST_TOLD: Final = 20
"""Fields that are not known; more come from one mistake."""
_MOST: Final = (1 << 63) - 1
_WHOLE: Final = re.compile(r"[+-]?\d{1,19}")
_TRUTH: Final = {"true": True, "false": False}


class SpecFields:
    """The fields of one mapping. A wrong value is a fault of the draft, and reads as the default."""

    def __init__(self, draft: Draft, given: object, where: str, of: str) -> None:
        """`where` is the place of the mapping, empty at the top; `of` says whose fields they are."""
        self.draft, self.where, self.of = draft, where, of
        self._known: dict[str, None] = {}
        self._given: Mapping[Any, Any] = {}
        if isinstance(given, Mapping):
            self._given = given
        else:
            draft.refuse(where, f"{shown(where, given)}: not a mapping of fields", f"Write the fields of {of}")

    def place(self, name: str) -> str:
        """Where a field of this name stands."""
        return f"{self.where}.{name}" if self.where else name

    def has(self, name: str) -> bool:
        """Whether a field is given, and not null."""
        self._known[name] = None
        return self._given.get(name) is not None

    def raw(self, name: str) -> Any:
        """A value as it stands; None where it is not given."""
        self._known[name] = None
        return self._given.get(name)

    def first(self, *names: str) -> str:
        """Which of the names of one field is given, the first by default; a fault where several are."""
        given = [name for name in names if self.has(name)]
        if len(given) > 1:
            self.draft.refuse(self.place(given[1]), f"is {given[0]} by another name", "Leave one of them out")
        return given[0] if given else names[0]

    def whole(self, name: str, default: int, least: int = -_MOST, most: int = _MOST) -> int:
        """A whole number."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return self._wrong(name, "not a whole number", "Write one like 100", default)
        if not least <= value <= most:
            return self._wrong(name, f"not between {least:,} and {most:,}", "Write a number in between", default)
        return value

    def number(self, name: str, default: float, least: float = -math.inf, most: float = 1e15) -> float:
        """A number."""
        value = self.raw(name)
        if value is None:
            return default
        try:
            found = math.nan if isinstance(value, bool) or not isinstance(value, str | int | float) else float(value)
        except (ValueError, OverflowError):
            found = math.nan
        if not math.isfinite(found):
            return self._wrong(name, "not a number", "Write one like 0.5", default)
        if not least <= found <= most:
            return self._wrong(name, f"not between {least:g} and {most:g}", "Write a number in between", default)
        return found

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self.raw(name)
        if isinstance(value, str):
            value = _TRUTH.get(value.strip().lower(), value)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        return self._wrong(name, "not true or false", "Write one of them", default)

    def text(self, name: str, default: str = "") -> str:
        """A text, or a number as one."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return self._wrong(name, "not a text", "Write one", default)
        return str(value)

    def word(self, name: str, default: str, *words: str) -> str:
        """One of some words."""
        value = self.text(name, default)
        return value if value in words else self._wrong(name, "not known", f"Write one of {', '.join(words)}", default)

    def texts(self, name: str) -> list[str]:
        """A list of texts; a single one stands for a list."""
        value = self.raw(name)
        listed = value if isinstance(value, list | tuple) else [] if value is None else [value]
        if not all(isinstance(each, str) for each in listed):
            return self._wrong(name, "not a list of texts", "Write texts in brackets", [])
        return list(listed)

    def items(self, name: str) -> list[Any]:
        """A list of anything."""
        value = self.raw(name)
        if value is None or isinstance(value, list | tuple):
            return list(value or ())
        return self._wrong(name, "not a list", "Write one in brackets", [])

    def mapping(self, name: str) -> dict[str, Any]:
        """A mapping with names that are not known in advance."""
        value = self.raw(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            return self._wrong(name, "not a mapping of names to values", "Write it in braces", {})
        return dict(value)

    def part(self, name: str, of: str) -> "SpecFields | None":
        """The fields below a field; None where it is not given."""
        return SpecFields(self.draft, self.raw(name), self.place(name), of) if self.has(name) else None

    def read(self, name: str, default: Any, parse: Any) -> Any:
        """What `parse` makes of a value; it raises BadValue for one that is wrong."""
        value = self.raw(name)
        if value is None:
            return default
        try:
            return parse(value)
        except BadValue as error:
            return self._wrong(name, error.what, error.mend, default)

    def ignored(self, why: str, *names: str) -> None:
        """Fields that have no place in a scenario, each noted where it is given."""
        for name in names:
            if self.has(name) and self._given[name] not in ("", [], {}):
                self.draft.left_out(self.place(name), why)

    def required(self, *names: str) -> None:
        """Fields that must be given."""
        for name in names:
            if not self.has(name):
                self.draft.refuse(self.place(name), "is missing", f"Add it: {self.of} needs it")

    def close(self) -> None:
        """Refuse every field that nobody asked for."""
        known = list(self._known)
        unknown = [one_line(str(name)) for name in self._given if name not in self._known]
        for name in unknown[:_MOST_TOLD]:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
            mend = f"Did you mean `{near[0]}`?" if near else f"Known: {', '.join(known) or 'no fields'}"
            self.draft.refuse(self.place(name), f"no such field of {self.of}", mend)
        if (more := len(unknown) - _MOST_TOLD) > 0:
            what = f"{more:,} more fields that {self.of} does not have"
            self.draft.refuse(self.where, what, "Correct those above first")

    def _wrong(self, name: str, what: str, mend: str, default: _Default) -> _Default:
        place = self.place(name)
        self.draft.refuse(place, f"{shown(place, self._given[name])}: {what}", mend)
        return default
