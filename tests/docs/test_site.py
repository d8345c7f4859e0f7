"""The documents make a site: each link and anchor leads somewhere, and pages load nothing from other hosts."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^>]*>")
LINKED = re.compile(r"<link\b(?![^>]*rel=[\"']?canonical)[^>]*\bhref=[\"']?(?:https?:)?//[^>]*>")
STYLED = re.compile(r"(?:url\(|@import\s*)[\"']?(?:https?:)?//[^)\s]*")


def build(root: Path, folder: Path) -> tuple[int, list[str]]:
    """The exit code, and the warnings, of building a site. `--quiet` would also silence what `--strict` counts."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    return built.returncode, [line for line in built.stderr.splitlines() if line.startswith(("WARNING", "ERROR"))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built where a warning is an error: MkDocs checks links, anchors and the navigation."""
    folder = tmp_path_factory.mktemp("site")
    assert build(ROOT, folder) == (0, [])
    return folder


@pytest.mark.slow
def test_a_broken_anchor_and_a_page_without_a_place_are_found(tmp_path: Path) -> None:
    """Or the tests below would prove nothing."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    navigation = settings.index("\nnav:") + 1
    (tmp_path / "mkdocs.yml").write_text(settings[:navigation] + "nav: [index.md]\n", encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Home\n\n[a](#nothing) [b](nowhere.md)\n", encoding="utf-8")
    (tmp_path / "docs" / "other.md").write_text("# Other\n", encoding="utf-8")
    code, warnings = build(tmp_path, tmp_path / "site")
    told = " ".join(warnings)
    assert code == 1
    assert [word in told for word in ("#nothing", "nowhere.md")] == [True, True]
    assert "not included" in told


def outside(text: str) -> list[str]:
    """What a page or a style would load from another host."""
    return [found for pattern in (LOADED, LINKED, STYLED) for found in pattern.findall(text)]


@pytest.mark.slow
def test_every_document_is_a_page(site: Path) -> None:
    documents = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert documents == {path.relative_to(site) for path in site.rglob("*.html")} - {Path("404.html")}


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert [(path.name, outside(path.read_text(encoding="utf-8"))) for path in files] == [
        (path.name, []) for path in files
    ]


def test_what_is_outside_is_found() -> None:
    """Or the test above would prove nothing."""
    given = [
        '<script src="https://cdn.example/a.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/b.css">',
        "@import url(https://fonts.example/c.css)",
    ]
    assert [len(outside(text)) for text in given] == [1, 1, 1]
    assert outside('<a href="https://kafka.apache.org">Kafka</a><script src="assets/a.js"></script>') == []


def test_the_search_knows_the_documents(site: Path) -> None:
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "which-question.html" in index
