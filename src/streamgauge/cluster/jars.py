"""The jars of the embedded broker, and of Spark's connector to Kafka: fetched once, checked at every start.

`jars.txt` and `connector.txt` are to Java what a lock file is to a Python environment: every jar with its SHA-256 sum,
so that nothing is resolved and nothing unknown is run on a user's machine. After a change of roots, write them anew:

    python -m streamgauge.cluster.jars broker > jars.new && mv jars.new src/streamgauge/cluster/jars.txt
    python -m streamgauge.cluster.jars connector > jars.new && mv jars.new src/streamgauge/cluster/connector.txt
"""

import hashlib
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from streamgauge.domain.errors import BrokerError
from streamgauge.processes.patience import Check, Progress, awaited, no_check, side_by_side
from streamgauge.processes.places import cache_folder

KAFKA_VERSION: Final = "4.3.1"
_HEAD: Final = """\
# The jars of {title}: SHA-256 sum and Maven coordinate, sorted by coordinate.
# Written by `python -m streamgauge.cluster.jars {name}`; do not edit.
"""
_AT_ONCE: Final = 8
_ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar by its Maven coordinate, and the SHA-256 sum that it must have, in hexadecimal digits."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The name that the jar has in every Maven repository."""
        return f"{self.artifact}-{self.version}.jar"

    @property
    def coordinate(self) -> str:
        """`group:artifact:version`."""
        return f"{self.group}:{self.artifact}:{self.version}"


@dataclass(frozen=True, slots=True)
class Bundle:
    """Jars that are used together."""

    name: str
    title: str
    size: str
    """How much there is to fetch."""
    listed: Path
    roots: tuple[str, ...]
    """What the list is made from: coordinates. With `!`, the dependency management of one is kept from the others."""
    is_whole: bool = False
    """Whether the roots are all that is needed, without what they depend on."""

    def jars(self) -> list[Jar]:
        """What is listed."""
        return parse_list(self.listed.read_text(encoding="utf-8"))


BROKER: Final = Bundle(
    "broker",
    f"Apache Kafka {KAFKA_VERSION}",
    "about 55 MB",
    Path(__file__).with_name("jars.txt"),
    # Without `!`, log4j's management would pull in a much older Kafka client.
    (
        f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}!",
        f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}!",
        "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3!",
    ),
)
CONNECTOR: Final = Bundle(
    "connector",
    "Spark's connector to Kafka",
    "about 11 MB",
    Path(__file__).with_name("connector.txt"),
    # All else that these depend on comes with Spark.
    (
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
        "org.apache.kafka:kafka-clients:3.9.2",
        "org.apache.commons:commons-pool2:2.13.1",
    ),
    is_whole=True,
)


def broker_jars(progress: Progress | None = None, folder: Path | None = None, check: Check = no_check) -> list[Path]:
    """The class path of the broker: `fetched` for `BROKER`."""
    return fetched(BROKER, progress, folder, check)


def fetched(
    bundle: Bundle, progress: Progress | None = None, folder: Path | None = None, check: Check = no_check
) -> list[Path]:
    """Every jar that a bundle lists, fetched if it is not there yet, its sum checked.

    Raises BrokerError that names the jars which cannot be fetched or are not what they should be, and the remedy; and
    what `check` raises, which is asked meanwhile. Safe to be called by several processes at once.
    """
    jars = bundle.jars()
    folder = folder or jar_folder()
    missing = [jar for jar in jars if not (folder / jar.file_name).is_file()]
    if missing:
        if progress:
            progress(f"downloading {len(missing)} jars of {bundle.title} into {folder} (once, {bundle.size})")
        _fetch(missing, folder, bundle, check)
    wrong = awaited(lambda: [str(path) for jar in jars if _sha256(path := folder / jar.file_name) != jar.sha256], check)
    if wrong:
        raise BrokerError(
            f"not the jars that {bundle.listed.name} lists: {', '.join(wrong)}. Delete them and try again"
        )
    return [folder / jar.file_name for jar in jars]


def jar_folder() -> Path:
    """Where jars are kept between runs."""
    return cache_folder() / "jars"


def parse_list(text: str) -> list[Jar]:
    """The jars that a list names, in its order."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return [_parse_line(line) for line in lines]


def _parse_line(line: str) -> Jar:
    sha256, coordinate = line.split()
    group, artifact, version = coordinate.split(":")
    return Jar(group, artifact, version, sha256)


def format_list(jars: Iterable[Jar], bundle: Bundle = BROKER) -> str:
    """The list that `parse_list` reads."""
    return _HEAD.format(title=bundle.title, name=bundle.name) + "".join(
        f"{jar.sha256}  {jar.coordinate}\n" for jar in sorted(jars, key=lambda jar: jar.coordinate)
    )


def _fetch(jars: Sequence[Jar], folder: Path, bundle: Bundle, check: Check) -> None:
    """Fetch jars into the folder. A jar appears there whole and checked, or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # On the same file system, so that a rename is all that is left to do.
        # Who gives up leaves threads behind that may write into it while it is removed.
        with tempfile.TemporaryDirectory(prefix="_fetch-", dir=folder, ignore_cleanup_errors=True) as scratch:
            maven = _maven(Path(scratch))
            calls = [partial(_fetch_one, maven, jar, folder, bundle) for jar in jars]
            faults = [fault for fault in side_by_side(calls, _AT_ONCE, check) if fault]
    except OSError as error:
        raise BrokerError(f"cannot keep jars in {folder}: {error}. Set XDG_CACHE_HOME to another folder") from error
    if faults:
        raise BrokerError(
            f"{len(faults)} of {len(jars)} jars of the {bundle.name} could not be downloaded: {faults[0]}. Check the "
            f"network and HTTPS_PROXY, then try again: downloaded jars are kept in {folder}. "
            "Without a network, use an existing cluster: --bootstrap HOST:PORT"
        )


def _fetch_one(maven: Any, jar: Jar, folder: Path, bundle: Bundle) -> str | None:
    """Fetch one jar and put it into the folder; what went wrong, if it did."""
    fault = ""
    for _ in range(_ATTEMPTS):
        try:
            path = _download(maven, jar)
        # jgo raises RuntimeError for what is not found, its HTTP client a kind of OSError for everything else.
        except (RuntimeError, OSError) as error:
            fault = f"{jar.coordinate}: {error}"
            continue
        if _sha256(path) == jar.sha256:
            path.replace(folder / jar.file_name)
            return None
        path.unlink()
        fault = f"{jar.coordinate}: the SHA-256 sum differs from that in {bundle.listed.name}"
    return fault


def _maven(cache: Path) -> Any:
    """Maven Central, and the repositories of the user's own jgo settings, downloading into a folder."""
    # Slow to import, and needed once in the life of a machine.
    from jgo.config import GlobalSettings
    from jgo.constants import MAVEN_CENTRAL_URL
    from jgo.maven import MavenContext

    remotes = {"central": MAVEN_CENTRAL_URL, **GlobalSettings.load().repositories}
    return MavenContext(repo_cache=cache, local_repos=[], remote_repos=remotes)


def _download(maven: Any, jar: Jar) -> Path:
    path: Path = maven.project(jar.group, jar.artifact).at_version(jar.version).artifact().resolve()
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _resolve(bundle: Bundle) -> list[Jar]:
    """What the roots need today, by Maven's rules, each with the sum of what comes now."""
    import jgo

    with tempfile.TemporaryDirectory() as scratch:
        maven = _maven(Path(scratch))
        if bundle.is_whole:
            jars = [_parse_line(f"- {root}") for root in bundle.roots]
        else:
            artifacts = jgo.resolve("+".join(bundle.roots))
            jars = [Jar(each.groupId, each.artifactId, each.version, sha256="") for each in artifacts]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            sums = list(pool.map(lambda jar: _sha256(_download(maven, jar)), jars))
    return [Jar(jar.group, jar.artifact, jar.version, sha256) for jar, sha256 in zip(jars, sums, strict=True)]


if __name__ == "__main__":
    asked = {bundle.name: bundle for bundle in (BROKER, CONNECTOR)}[sys.argv[1]]
    sys.stdout.write(format_list(_resolve(asked), asked))
