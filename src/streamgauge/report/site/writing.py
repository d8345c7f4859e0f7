"""The folder of a page of runs: what belongs to it, and how it is written again."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from streamgauge.domain.errors import BadInput
from streamgauge.processes import disk
from streamgauge.report.pages.page import plain

LIST: Final = "site.json"
"""Names every file of the page; a folder without it is no page."""
_FORMAT: Final = 1


def is_site(folder: Path) -> bool:
    """Whether a page of runs was written into this folder."""
    return _listed(folder) is not None


def write_site(out: Path, texts: Mapping[str, str], copies: Mapping[str, Path]) -> list[str]:
    """Write a page, and take away what an earlier one had and this has not; returns the names of its files.

    `copies` are files elsewhere by their names in the page; those that did not change since are left. Each file appears
    whole, the index last. Raises BadInput where the folder holds something else, or cannot be written.
    """
    try:
        earlier = _checked(out)
        names = sorted([*copies, *texts])
        # Whoever is interrupted leaves a folder that the next call knows, with no file that nobody lists.
        _write(out / LIST, _list_text(sorted({*earlier, *names})))
        for name, source in copies.items():
            _copy(source, out / name)
        for name, text in texts.items():
            _write(out / name, text)
        for name in set(earlier) - set(names):
            _remove(out, name)
        _write(out / LIST, _list_text(names))
    except OSError as error:
        what = f"cannot be written: {error.strerror or error}"
        raise BadInput.single(f"--out {plain(str(out))}", what, "Name another folder") from error
    return names


def _checked(out: Path) -> Sequence[str]:
    """The files of the page that is there; raises BadInput where something else is."""
    found = _listed(out)
    if found is None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        what = "is not empty, and no page of runs" if out.is_dir() else "is a file"
        raise BadInput.single(f"--out {plain(str(out))}", what, "Name a new folder, or that of an earlier page")
    return found or ()


def _listed(folder: Path) -> Sequence[str] | None:
    """The files that a page lists; None where there is no page."""
    try:
        document = json.loads((folder / LIST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    names = document.get("files") if isinstance(document, dict) and document.get("site") == _FORMAT else None
    return names if isinstance(names, list) and all(map(_is_inside, names)) else None


def _is_inside(name: object) -> bool:
    """Whether a name is that of a file in the folder: a list from elsewhere must not take away others."""
    return isinstance(name, str) and not Path(name).is_absolute() and ".." not in Path(name).parts


def _list_text(names: Sequence[str]) -> str:
    return json.dumps({"site": _FORMAT, "files": names}, indent=1) + "\n"


def _write(path: Path, text: str) -> None:
    with disk.whole(path) as unfinished:
        # A text from outside may have what no file can hold.
        unfinished.write_text(text, encoding="utf-8", errors="replace")


def _copy(source: Path, target: Path) -> None:
    found, there = source.stat(), target.stat() if target.exists() else None
    if there and (there.st_size, there.st_mtime_ns) == (found.st_size, found.st_mtime_ns):
        return
    with disk.whole(target) as unfinished:
        shutil.copy2(source, unfinished)


def _remove(out: Path, name: str) -> None:
    """Take away a file, and the folders that are empty then."""
    path = out / name
    path.unlink(missing_ok=True)
    for folder in path.relative_to(out).parents:
        if folder != Path() and (out / folder).is_dir() and not any((out / folder).iterdir()):
            (out / folder).rmdir()
