"""Finding a Java that can run the broker and Spark."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Final

from streamgauge.domain.errors import BadInput

MINIMUM: Final = 17
"""What Spark 4 and Kafka 4 both run on."""
_PATIENCE_SECONDS: Final = 30.0
_INSTALL: Final = (
    "Install Java (Debian, Ubuntu: `apt install openjdk-17-jdk-headless`; macOS: `brew install openjdk@17`), "
    "or set JAVA_HOME to an installed one"
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that was asked who it is: its launcher, its version as it writes it, and the number that counts."""

    path: Path
    """`bin/java` of the installation itself, never a link to it; JAVA_HOME is two folders above."""
    version: str
    major: int


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a Java was looked for; no launcher where there is none."""

    said: str
    launcher: Path | None


def find_java(environ: Mapping[str, str], minimum: int = MINIMUM) -> Java:
    """The Java of JAVA_HOME or else the first on PATH that is new enough.

    Raises BadInput, which says what was looked for, what was found and how to get it.
    """
    found = []
    for place in _places(environ):
        java = _ask(place.launcher) if place.launcher else "nothing found"
        if isinstance(java, Java) and java.major >= minimum:
            return java
        found.append(f"{place.said}: {java if isinstance(java, str) else f'{java.path}, version {java.version}'}")
    raise BadInput.single("Java", f"version {minimum} or newer is needed, but found {'; '.join(found)}", _INSTALL)


def parse_major(version: str) -> int | None:
    """The feature release in a version text, like 8 in `1.8.0_402` and 23 in `23-ea`; None if it is no version."""
    found = re.match(r"(?:1\.)?(\d+)", version)
    return int(found.group(1)) if found else None


def _places(environ: Mapping[str, str]) -> Iterator[_Place]:
    home = environ.get("JAVA_HOME")
    if home:
        launcher = Path(home, "bin", "java")
        yield _Place(f"JAVA_HOME ({home})", launcher if launcher.is_file() else None)
    else:
        yield _Place("JAVA_HOME (not set)", None)
    on_path = which("java", path=environ.get("PATH", ""))
    yield _Place("PATH", Path(on_path) if on_path else None)


def _ask(launcher: Path) -> Java | str:
    """The Java behind a launcher, which may be a link or a stub; or why it does not run."""
    command = [str(launcher), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{launcher} does not run ({error})"
    properties = dict(re.findall(r"^\s*(java\.\w+) = (.*?)\s*$", done.stderr, re.MULTILINE))
    version = properties.get("java.version", "")
    major = parse_major(version)
    if major is None or "java.home" not in properties:
        return f"{launcher} does not run ({' '.join(done.stderr.split())[:200] or 'no output'})"
    return Java(Path(properties["java.home"], "bin", "java"), version, major)
