"""Settings with which any cluster is reached, read from a properties file."""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import confluent_kafka as ck
from confluent_kafka import KafkaException

from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.text.secrets import without_secrets
from streamgauge.scenario import OWNED_SETTINGS

BOOTSTRAP: Final = "bootstrap.servers"
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
_FILES: Final = (
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.keystore.location",
    "ssl.crl.location",
)
_PROBE: Final = "probe"
"""What tells librdkafka to look for authorities by itself."""
# Clients that are only made to be refused say nothing.
_quiet: Final = logging.getLogger("streamgauge.kafka.client_config")
_quiet.setLevel(logging.CRITICAL)


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
    if not faults and (refusal := _refusal(config)):
        faults.append(Fault(f"--client-config {path}", refusal, _SEE))
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
            yield line, (f"{name} is set already in line {seen[name]}", "Keep one of them")
        elif name in OWNED_SETTINGS and name != BOOTSTRAP:
            yield line, (f"{name} is decided by the run", f"Leave it out: {OWNED_SETTINGS[name]}")
        elif name in _JAVA_NAMES:
            yield line, (f"{name} is a setting of the Java client", _JAVA_NAMES[name])
        elif name in _FILES and value != _PROBE and not Path(value).exists():
            yield line, (f"{name} names a file that is not there", "Name one by its full path")
        elif (refusal := _refusal({name: value})) and not refusal.startswith(_TOGETHER):
            yield line, (refusal if name in refusal else f"{name}: {refusal}", _SEE)
        seen.setdefault(name, line)


def _refusal(config: Mapping[str, str]) -> str | None:
    """What librdkafka has against settings; opens no connection. Producers know the names of consumers too."""
    try:
        ck.Producer(dict(config), logger=_quiet)
    except KafkaException as error:
        return without_secrets(str(error.args[0].str()).strip(), config)
    except (TypeError, ValueError) as error:
        # Settings that are functions in Python, like `error_cb`.
        return without_secrets(str(error), config)
    return None
