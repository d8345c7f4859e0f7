"""Every sample with one part of it changed: it is read, or refused with one message, and nothing else happens."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.foreign.results.given import NOTHING_ASKED, all_samples, sample

from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import Measured
from streamgauge.foreign.results.reading import read_results
from streamgauge.report.assemble.imports.folder import run_id, write_imported

NOW_NS: Final = 1_780_000_000 * 10**9
JSONS: Final = [name for name in all_samples() if name.endswith(".json")]
TEXTS: Final = [name for name in all_samples() if not name.endswith(".json") and not name.startswith("tussle/")]
WRONG: Final[tuple[Any, ...]] = ("text", "", None, True, -1, 1.5, 1e300, 10**17, 0, [], {}, ["x"], {"x": 1}, [[[]]])


def places(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places in a document; of a list the first three."""
    yield path
    inner = part.items() if isinstance(part, dict) else enumerate(part[:3]) if isinstance(part, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


def with_value(part: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    key, *rest = path
    changed = dict(part) if isinstance(part, dict) else list(part)
    changed[key] = with_value(part[key], tuple(rest), value)
    return changed


def read(content: bytes, name: str) -> list[Measured]:
    """Its runs; none where it is refused."""
    try:
        return [run for each in read_results([ForeignFile(name, "", content)], NOTHING_ASKED) for run in each.runs]
    except BadInput as error:
        (fault,) = error.faults
        return [] if str(fault).isprintable() else pytest.fail(repr(fault))


@pytest.mark.parametrize("name", JSONS)
def test_any_value_of_a_document_may_be_wrong(name: str, tmp_path: Path) -> None:
    """What is still read can be written, too: looked at for one in fifty."""
    document = json.loads(sample(name).content)
    number = 0
    for path in places(document):
        for value in WRONG:
            for run in read(json.dumps(with_value(document, path, value)).encode(), name):
                number += 1
                if number % 50 == 0:
                    folder = RunFolder(tmp_path / str(number) / run_id(run, NOW_NS))
                    assert write_imported(folder, run, [], [], NOW_NS, "1").verdict.valid is None
    assert number


@settings(deadline=None, max_examples=60)
@given(st.data())
@pytest.mark.parametrize("name", TEXTS)
def test_any_part_of_a_text_may_be_wrong(name: str, data: st.DataObject) -> None:
    """Cut off, with a part replaced, or with a line that is missing or there twice."""
    content = sample(name).content
    at = data.draw(st.integers(0, len(content) - 1))
    length = data.draw(st.integers(0, 12))
    put = data.draw(
        st.sampled_from([b"", b"x", b"-", b"9999999999999999", b"1e400", b",", b"\n", b"nan", b"\xff", b"|"])
    )

    read(content[:at], name)
    read(content[:at] + put + content[at + length :], name)
    lines = content.splitlines(keepends=True)
    line = data.draw(st.integers(0, len(lines) - 1))
    read(b"".join(lines[:line] + lines[line + 1 :]), name)
    read(b"".join(lines[: line + 1] + lines[line:]), name)
