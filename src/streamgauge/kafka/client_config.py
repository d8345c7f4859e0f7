"""Settings with which any cluster is reached, read from a properties file."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from streamgauge.domain.errors import BadInput, Fault
from streamgauge.kafka.clients.settings import HOMES, JAVAS, SEE_CONFIGURATION, objection, one_side, refusal
from streamgauge.scenario import OWNED_SETTINGS

BOOTSTRAP: Final = "bootstrap.servers"
_FILES: Final = (
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.keystore.location",
    "ssl.crl.location",
)
_PROBE: Final = "probe"
"""What tells librdkafka to look for authorities by itself."""


def read_client_config(path: Path) -> dict[str, str]:
    """The settings in a properties file, by librdkafka's names, `bootstrap.servers` among them if it is there.

    Raises BadInput with every fault of the file, each with its line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadInput.single(
            f"--client-config {path}", f"cannot be read: {reason}", "Name a properties file"
        ) from error
    settings = list(_settings(text))
    faults = [Fault(f"{path}:{line}", *fault) for line, fault in _faults(settings)]
    config = {name: value for _, name, value in settings}
    if not faults and (reason := refusal(config)):
        faults.append(Fault(f"--client-config {path}", reason, SEE_CONFIGURATION))
    if faults:
        raise BadInput(faults)
    return config


def _settings(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, name and value of each setting; the name is empty where a line is none."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and line.lstrip()[0] not in "#!":
            found = re.fullmatch(r"([^=:\s]+)\s*[=:]\s*(.*)", line.strip())
            yield (number, found.group(1), found.group(2)) if found else (number, "", "")


def _faults(settings: Sequence[tuple[int, str, str]]) -> Iterator[tuple[int, tuple[str, str]]]:
    """Line, what is wrong and what mends it, of every setting that cannot be meant. Values are not repeated."""
    seen: dict[str, int] = {}
    for line, name, value in settings:
        if not name:
            yield line, ("is not a setting", "Write it as name=value")
        elif name in seen:
            yield line, (f"{name} is already set in line {seen[name]}", "Keep one of them")
        elif name in OWNED_SETTINGS and name != BOOTSTRAP:
            yield line, (f"{name} is set by the run", f"Leave it out: {OWNED_SETTINGS[name]}")
        elif name in _FILES and value != _PROBE and not Path(value).exists():
            yield line, (f"{name} names a file that does not exist", "Use the full path of an existing file")
        elif wrong := objection(name, value):
            what, mend = wrong
            yield line, (what if name in what else f"{name} {what}" if what == JAVAS else f"{name}: {what}", mend)
        elif whose := one_side(name, value):
            # What it changes would not be in the scenario, by which the run is checked, judged and compared.
            home = f"Write it into the scenario as `{HOMES[whose]}.{name}`"
            yield line, (f"{name} is a setting of {whose}s, not of a cluster", home)
        seen.setdefault(name, line)
