"""A benchmark of this checkout beside that of another one, such as the commit before a change, in turn.

Both run one round at a time with their own environment and in their own folder. Figures are those that the benchmark
prints in tables, as medians with ranges: `python -m benchmarks.beside ../before rate --rounds 5 --seconds 20`.
"""

import argparse
import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Final

from benchmarks.common import call, heading, idle_share, spread

_FIGURE: Final = re.compile(r"(-?[\d,]+(?:\.\d+)?)[^(]*\(.* to .*\)")

Figures = Mapping[tuple[str, str], float]
"""Of each row and column of the tables that were printed, the median."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("other", type=Path, help="another checkout, with its environment in .venv")
    options.add_argument("benchmark", help="one that has tables and --rounds, such as saturation")
    options.add_argument("--rounds", type=int, default=5)
    # What else is given is the benchmark's own.
    chosen, arguments = options.parse_known_args()
    roots = {"this": Path.cwd(), "other": chosen.other}
    heading(f"{chosen.benchmark}: commit {commit(roots['this'])} (this) beside {commit(roots['other'])} (other)")
    print(f"The machine was {idle_share():.0%} idle before.\n", flush=True)
    found: dict[str, list[Figures]] = {name: [] for name in roots}
    for number in range(chosen.rounds):
        # Whoever goes first finds other caches.
        for name in sorted(roots, reverse=number % 2 == 1):
            found[name].append(figures(_run(roots[name], chosen.benchmark, arguments)))
    for line in table(found["this"], found["other"]):
        print(line)


def commit(root: Path) -> str:
    """The short name of the commit in a checkout."""
    return call(["git", "describe", "--always", "--dirty"], root).output.strip()


def _run(root: Path, benchmark: str, arguments: list[str]) -> str:
    """What one round of the benchmark prints."""
    python = str(root.absolute() / ".venv/bin/python")
    return call([python, "-m", f"benchmarks.{benchmark}", "--rounds", "1", *arguments], root).output


def figures(text: str) -> Figures:
    """The medians in the tables of a benchmark's output; a row is named by the cells before its first figure."""
    found: dict[tuple[str, str], float] = {}
    heads: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            heads = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not heads:
            heads = cells
            continue
        matches = [_FIGURE.fullmatch(cell) for cell in cells]
        # Other cells after the first figure may differ from round to round.
        row = " ".join(cell for cell, _ in takewhile(lambda each: each[1] is None, zip(cells, matches, strict=True)))
        for head, match in zip(heads, matches, strict=True):
            if match:
                found[row, head] = float(match[1].replace(",", ""))
    return found


def table(these: list[Figures], others: list[Figures]) -> Iterator[str]:
    """Lines of a table: each figure that both have, with the ratio round by round. Then what only some rounds have."""
    yield "| row | figure | this | other | this / other, round by round |"
    yield "|---|---|---|---|---|"
    rounds = (*these, *others)
    known = dict.fromkeys(key for each in rounds for key in each)
    in_all = [key for key in known if all(key in each for each in rounds)]
    for key in in_all:
        ours, theirs = [each[key] for each in these], [each[key] for each in others]
        ratio = spread([a / b for a, b in zip(ours, theirs, strict=True)]) if all(theirs) else "none: it is 0"
        yield f"| {key[0]} | {key[1]} | {spread(ours)} | {spread(theirs)} | {ratio} |"
    if alone := [" ".join(filter(None, key)) for key in known if key not in in_all]:
        yield ""
        yield f"Not in every round of both: {', '.join(alone)}."


if __name__ == "__main__":
    main()
