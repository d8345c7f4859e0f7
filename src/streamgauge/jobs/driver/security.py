"""How a cluster is reached: settings by librdkafka's names, as the Java client of Spark's connector has them."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.secrets import NAMES
from streamgauge.scenario.model.values import Setting

REDACTED: Final = f"(?i){NAMES}"
"""Settings whose values Spark is not to print, as a regular expression over their names: the rule of all secrets."""
_MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_UNSECURED: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
"""Makes tokens that nobody signs."""
_PRINCIPAL: Final = re.compile(r"principal=(\S+)")
_SAME: Final = ("bootstrap.servers", "ssl.key.password", "client.dns.lookup")
"""Settings that have the same name and the same values."""
_PEM: Final = "PEM"

Read = Callable[[str], str]
"""Path of a text file -> its text."""


def kafka_options(connection: Mapping[str, Setting], read: Read | None = None) -> dict[str, str]:
    """Options of Spark's Kafka source and sink; what does not concern connecting is left out.

    Certificates and keys are read here, so that they need not be on the machines of executors. Raises BadInput for
    what Java cannot do.
    """
    given = {name: str(value) for name, value in connection.items()}
    found: dict[str, str] = {
        **{name: given[name] for name in _SAME if name in given},
        **_protocol(given),
        **dict(_sasl(given)),
        **dict(_trusted(given, read or _text)),
        **dict(_own(given, read or _text)),
    }
    return {f"kafka.{name}": value for name, value in found.items()}


def _protocol(given: Mapping[str, str]) -> dict[str, str]:
    protocol = {"security.protocol": given["security.protocol"].upper()} if "security.protocol" in given else {}
    check = given.get("ssl.endpoint.identification.algorithm")
    # Java calls `none` by no name at all.
    return protocol | ({} if check is None else {"ssl.endpoint.identification.algorithm": check.replace("none", "")})


def _sasl(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if not given.get("security.protocol", "").lower().startswith("sasl"):
        return
    mechanism = given.get("sasl.mechanisms", given.get("sasl.mechanism", "")).upper()
    if mechanism == "OAUTHBEARER" and given.get("enable.sasl.oauthbearer.unsecure.jwt", "").lower() == "true":
        yield "sasl.mechanism", mechanism
        yield "sasl.jaas.config", f"{_UNSECURED} unsecuredLoginStringClaim_sub={_principal(given)};"
        return
    if mechanism not in _MODULES:
        raise BadInput.single(
            "sasl.mechanisms",
            f"{mechanism or 'nothing'} is not supported with a pipeline on Spark",
            f"Use one of {', '.join(_MODULES)}",
        )
    user, password = _quoted(given.get("sasl.username", "")), _quoted(given.get("sasl.password", ""))
    yield "sasl.mechanism", mechanism
    yield "sasl.jaas.config", f"{_MODULES[mechanism]} required username={user} password={password};"


def _principal(given: Mapping[str, str]) -> str:
    """Whom a token that nobody signs is about."""
    found = _PRINCIPAL.search(given.get("sasl.oauthbearer.config", ""))
    return _quoted(found.group(1) if found else "")


def _quoted(text: str) -> str:
    """A text as JAAS reads it: in quotes, quotes and backslashes escaped."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _trusted(given: Mapping[str, str], read: Read) -> Iterator[tuple[str, str]]:
    """Whose certificates are trusted."""
    location = given.get("ssl.ca.location")
    pem = given.get("ssl.ca.pem") or (read(location) if location and location != "probe" else None)
    if pem:
        yield "ssl.truststore.type", _PEM
        yield "ssl.truststore.certificates", pem


def _own(given: Mapping[str, str], read: Read) -> Iterator[tuple[str, str]]:
    """The own certificate and its key."""
    if store := given.get("ssl.keystore.location"):
        yield "ssl.keystore.type", "PKCS12"
        yield "ssl.keystore.location", store
        yield "ssl.keystore.password", given.get("ssl.keystore.password", "")
        return
    certificate = _pem(given, "ssl.certificate", read)
    key = _pem(given, "ssl.key", read)
    if certificate and key:
        if "BEGIN PRIVATE KEY" not in key and "BEGIN ENCRYPTED PRIVATE KEY" not in key:
            raise BadInput.single(
                "ssl.key.location",
                "a key that is not PKCS#8, which Java cannot read",
                "Convert it: openssl pkcs8 -topk8 -in KEY -out NEW",
            )
        yield "ssl.keystore.type", _PEM
        yield "ssl.keystore.certificate.chain", certificate
        yield "ssl.keystore.key", key


def _pem(given: Mapping[str, str], name: str, read: Read) -> str | None:
    location = given.get(f"{name}.location")
    return given.get(f"{name}.pem") or (read(location) if location else None)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no PEM file"
        raise BadInput.single(path, f"cannot be read: {reason}", "Name a PEM file") from error
