"""Markdown from words and rows."""

from collections.abc import Iterable, Sequence

GENERATED = "_Generated from the code by `make docs`; changes made here are lost._"


def document(title: str, *parts: str) -> str:
    """A page: its title, how it came about, and its parts with an empty line between them."""
    return "\n\n".join([f"# {title}", GENERATED, *(part for part in parts if part)]) + "\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a column in which no row says anything is left out, and no rows make no table."""
    found = [[_cell(text) for text in row] for row in rows]
    kept = [at for at in range(len(heads)) if any(row[at] for row in found)]
    lines = [[heads[at] for at in kept], ["---"] * len(kept), *([row[at] for at in kept] for row in found)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if found else ""


def code(text: object) -> str:
    """Text as it is typed."""
    return f"`{text}`"


def block(language: str, text: str) -> str:
    """A fenced block."""
    return f"```{language}\n{text.rstrip()}\n```"


def sentence(text: str) -> str:
    """Words of the code as a sentence: in one line, with a capital and a full stop."""
    words = " ".join(text.split())
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", ":")) or not words else ".")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
