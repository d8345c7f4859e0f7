"""Which Java is taken, and what a user without one is told."""

from pathlib import Path

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.processes.jvm.java import Java, find_java, parse_major

VERSIONS = {
    "17.0.15": 17,
    "1.8.0_402": 8,
    "21": 21,
    "23-ea": 23,
    "11.0.2+9": 11,
    "25.0.1": 25,
    "1.7": 7,
    "": None,
    "unknown": None,
}


@pytest.mark.parametrize(("version", "major"), VERSIONS.items())
def test_the_feature_release_is_read_from_every_way_to_write_a_version(version: str, major: int | None) -> None:
    assert parse_major(version) == major


def install(home: Path, version: str) -> Path:
    """A launcher that answers as Java does; returns its home."""
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    answer = f"Property settings:\n    java.home = {home}\n    java.version = {version}\n    java.version.date = x\n"
    launcher.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{answer}END\n", encoding="utf-8")
    launcher.chmod(0o755)
    return home


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    home, other = install(tmp_path / "home", "21.0.1"), install(tmp_path / "other", "17.0.15")

    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})

    assert found == Java(home / "bin" / "java", "21.0.1", 21)


def test_a_java_home_that_is_too_old_gives_way_to_path(tmp_path: Path) -> None:
    home, other = install(tmp_path / "home", "1.8.0_402"), install(tmp_path / "other", "17.0.15")

    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})

    assert found == Java(other / "bin" / "java", "17.0.15", 17)


def test_a_link_leads_to_the_installation(tmp_path: Path) -> None:
    home = install(tmp_path / "jdk", "17.0.15")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")

    found = find_java({"PATH": str(tmp_path / "bin")})

    assert found.path == home / "bin" / "java"


def test_one_message_names_all_that_was_found_and_the_remedy(tmp_path: Path) -> None:
    home, other = install(tmp_path / "home", "1.8.0_402"), install(tmp_path / "other", "11.0.2")

    with pytest.raises(BadInput) as caught:
        find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})

    text = str(caught.value)
    assert len(caught.value.faults) == 1
    for part in ("17 or newer", "1.8.0_402", f"{home}/bin/java", "11.0.2", f"{other}/bin/java", "apt", "brew"):
        assert part in text


def test_nothing_at_all_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"JAVA_HOME \(not set\): nothing found; PATH: nothing found"):
        find_java({"PATH": str(tmp_path)})


def test_a_stub_that_only_complains_is_no_java(tmp_path: Path) -> None:
    launcher = tmp_path / "java"
    launcher.write_text("#!/bin/sh\necho 'Unable to locate a Java Runtime.' >&2\nexit 1\n", encoding="utf-8")
    launcher.chmod(0o755)

    with pytest.raises(BadInput, match=r"does not run \(Unable to locate a Java Runtime"):
        find_java({"PATH": str(tmp_path)})


def test_a_launcher_for_another_machine_is_no_java(tmp_path: Path) -> None:
    launcher = tmp_path / "java"
    launcher.write_bytes(b"\x7fELF not really")
    launcher.chmod(0o755)

    with pytest.raises(BadInput, match="does not run"):
        find_java({"PATH": str(tmp_path)})
