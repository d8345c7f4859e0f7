"""Files appear whole or not at all."""

from pathlib import Path

import pytest

from streamgauge.processes.disk import whole


@pytest.mark.parametrize("name", [None, "other.new"])
def test_a_file_appears_when_it_is_complete(tmp_path: Path, name: str | None) -> None:
    """Also in a folder that was not there; an earlier one stays until then."""
    path = tmp_path / "new" / "file.json"
    for content in ("first", "second"):
        with whole(path, path.with_name(name) if name else None, synced=True) as draft:
            draft.write_text(content)
            assert not path.exists() or path.read_text() != content
            assert draft.name == (name or "_file.json")
        assert path.read_text() == content
    assert [each.name for each in path.parent.iterdir()] == ["file.json"]


def test_of_a_file_that_fails_nothing_is_left(tmp_path: Path) -> None:
    """And the earlier one is as it was."""
    path = tmp_path / "file.json"
    path.write_text("first")

    def fill() -> None:
        with whole(path) as draft:
            draft.write_text("sec")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fill()

    assert [each.name for each in tmp_path.iterdir()] == ["file.json"]
    assert path.read_text() == "first"
