"""Settings with which any cluster is reached: read from a properties file, masked wherever they are written."""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import confluent_kafka as ck
from confluent_kafka import KafkaException

from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.scenario import OWNED_SETTINGS, Setting

BOOTSTRAP: Final = "bootstrap.servers"
MASK: Final = "***"
_TOGETHER: Final = "Failed to create"
"""How librdkafka begins when each setting is right by itself, but not all of them together."""
_SEE: Final = "See librdkafka's CONFIGURATION.md"
_JAVA_NAMES: Final = {
    "sasl.jaas.config": "Write `sasl.username` and `sasl.password` instead",
    "ssl.truststore.location": "Write `ssl.ca.location` with a PEM file instead",
    "ssl.truststore.password": "Leave it out: `ssl.ca.location` takes a PEM file without a password",
    "ssl.truststore.type": "Leave it out: `ssl.ca.location` takes a PEM file",
    "ssl.keystore.type": "Leave it out: `ssl.keystore.location` takes a PKCS#12 file",
    "sasl.login.callback.handler.class": "Leave it out and set `sasl.oauthbearer.method=oidc`",
}
"""Names of the Java client that people bring along."""
_SECRET: Final = re.compile(
    r"passw|passphrase|secret|token|credential|jaas|private|assertion|\.pem\b|ssl[._]key"
    r"|sasl\.(?!mechanisms?\b)",
    re.IGNORECASE,
)
# Clients that are only made to be refused say nothing.
_quiet: Final = logging.getLogger("streamgauge.kafka.client_config")
_quiet.setLevel(logging.CRITICAL)


def read_client_config(path: Path) -> dict[str, str]:
    """The settings in a properties file, by librdkafka's names, `bootstrap.servers` among them if it is there.

    Raises BadInput with every fault of the file, each with its line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput.single(
            f"--client-config {path}", f"cannot be read: {error}", "Name a properties file"
        ) from error
    settings = list(_settings(text))
    faults = [Fault(f"{path}:{line}", *fault) for line, fault in _faults(settings)]
    config = {name: value for _, name, value in settings}
    if not faults and (refusal := _refusal(config)):
        faults.append(Fault(f"--client-config {path}", refusal, _SEE))
    if faults:
        raise BadInput(faults)
    return config


def is_secret(name: str) -> bool:
    """Whether the value of a setting of this name must not be written anywhere; in doubt it must not."""
    return _SECRET.search(name) is not None


def masked(config: Mapping[str, Setting]) -> dict[str, Setting]:
    """The settings with `***` in place of every secret, fit to be written and shown."""
    return {key: MASK if is_secret(key) else value for key, value in config.items()}


def mask_command(argv: Sequence[str]) -> list[str]:
    """A command line with `***` in place of what follows `=` in every argument that speaks of a secret."""
    return [_mask_argument(argument) for argument in argv]


def _mask_argument(argument: str) -> str:
    option, assignment = ("--set=", argument[6:]) if argument.startswith("--set=") else ("", argument)
    name, equals, _ = assignment.partition("=")
    # A value may be a mapping with names of its own: `load.client={sasl.password: x}`.
    return f"{option}{name}={MASK}" if equals and is_secret(assignment) else argument


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
            yield line, (f"{name} is set already in line {seen[name]}", "Keep one of them")
        elif name in OWNED_SETTINGS and name != BOOTSTRAP:
            yield line, (f"{name} is decided by the run", f"Leave it out: {OWNED_SETTINGS[name]}")
        elif name in _JAVA_NAMES:
            yield line, (f"{name} is a setting of the Java client", _JAVA_NAMES[name])
        elif (refusal := _refusal({name: value})) and not refusal.startswith(_TOGETHER):
            yield line, (refusal if name in refusal else f"{name}: {refusal}", _SEE)
        seen.setdefault(name, line)


def _refusal(config: Mapping[str, str]) -> str | None:
    """What librdkafka has against settings; opens no connection. Producers know the names of consumers too."""
    try:
        ck.Producer(dict(config), logger=_quiet)
    except KafkaException as error:
        return str(error.args[0].str()).strip()
    return None
