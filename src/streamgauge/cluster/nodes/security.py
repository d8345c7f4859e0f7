"""How the listeners of a cluster of our own are guarded, in the settings of brokers and of clients; texts only."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

PLAINTEXT: Final = "PLAINTEXT"
USER: Final = "streamgauge"
"""Whom clients and brokers log in as."""
PLAIN: Final = "PLAIN"
SCRAM: Final = "SCRAM-SHA-512"
OAUTH: Final = "OAUTHBEARER"
UNSECURED: Final = f"{OAUTH}-unsecured"
"""Tokens that nobody signs, as scenarios call them: they cost what tokens cost, and prove nothing."""
FOLDER: Final = "security"
"""Where the files of a secured node lie, in its data folder."""
_MODULES: Final = "org.apache.kafka.common.security"


@dataclass(frozen=True, slots=True)
class Security:
    """How clients and brokers connect to brokers.

    Controllers encrypt what brokers do, and ask nobody who it is: users are kept in the log that they replicate.
    """

    protocol: str = PLAINTEXT
    """Kafka's `security.protocol`."""
    mechanism: str | None = None
    """How they log in, where they do: `PLAIN`, `SCRAM-SHA-512` or `OAUTHBEARER-unsecured`."""
    password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False, compare=False)
    """Of the user and of the keystore; letters, digits, `-` and `_`."""

    @property
    def is_on(self) -> bool:
        """Whether anything is guarded."""
        return self.protocol != PLAINTEXT

    @property
    def encrypts(self) -> bool:
        """Whether connections are encrypted."""
        return self.protocol.endswith("SSL")

    @property
    def words(self) -> str | None:
        """In words, like `SASL_SSL with SCRAM-SHA-512`; None where nothing is guarded."""
        if not self.is_on:
            return None
        return f"{self.protocol} with {self.mechanism}" if self.mechanism else self.protocol


@dataclass(frozen=True, slots=True)
class SecurityFiles:
    """The files of a secured node; only their owner can read them."""

    folder: Path

    @property
    def keystore(self) -> Path:
        """Key and certificate of all nodes; PKCS12."""
        return self.folder / "keystore.p12"

    @property
    def authority(self) -> Path:
        """The certificate, which clients and brokers trust; PEM."""
        return self.folder / "authority.pem"

    @property
    def password(self) -> Path:
        """The password alone."""
        return self.folder / "password"

    @property
    def client(self) -> Path:
        """What clients are to be told, for `--client-config`."""
        return self.folder / "client.properties"


def listener_settings(security: Security, files: SecurityFiles) -> dict[str, str]:
    """The settings of a node that guard its listeners; none where nothing is guarded."""
    if not security.is_on:
        return {}
    quorum = "SSL" if security.encrypts else PLAINTEXT
    protocol = security.protocol
    found = {"listener.security.protocol.map": f"CONTROLLER:{quorum},{protocol}:{protocol}"}
    if security.encrypts:
        found |= {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(files.keystore),
            "ssl.keystore.password": security.password,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(files.authority),
        }
    if security.mechanism:
        name = _kafkas_name(security.mechanism)
        listener = f"listener.name.{protocol.lower()}.{name.lower()}"
        found |= {
            "sasl.enabled.mechanisms": name,
            "sasl.mechanism.inter.broker.protocol": name,
            f"{listener}.sasl.jaas.config": _login(security.mechanism, security.password),
        }
    return found


def client_settings(security: Security, files: SecurityFiles) -> dict[str, str]:
    """What clients are told beside the address, by librdkafka's names; nothing where nothing is guarded."""
    if not security.is_on:
        return {}
    found = {"security.protocol": security.protocol}
    if security.encrypts:
        found["ssl.ca.location"] = str(files.authority)
    match security.mechanism:
        case None:
            pass
        case mechanism if mechanism == UNSECURED:
            unsigned = {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": f"principal={USER}"}
            found |= {"sasl.mechanisms": OAUTH, **unsigned}
        case mechanism:
            found |= {"sasl.mechanisms": mechanism, "sasl.username": USER, "sasl.password": security.password}
    return found


def user_arguments(security: Security) -> list[str]:
    """Arguments of Kafka's `format` that make the user, where the brokers keep users."""
    if security.mechanism != SCRAM:
        return []
    return ["--add-scram", f"{SCRAM}=[name={USER},password={security.password}]"]


def secrets_of(security: Security) -> Mapping[str, str]:
    """What must not be written anywhere, under a name that says so."""
    return {"password": security.password} if security.is_on else {}


def _kafkas_name(mechanism: str) -> str:
    return OAUTH if mechanism == UNSECURED else mechanism


def _login(mechanism: str, password: str) -> str:
    """Who a broker is to other brokers, and for `PLAIN` whom it lets in; as JAAS reads it."""
    own = f'username="{USER}" password="{password}"'
    modules = {
        PLAIN: f'plain.PlainLoginModule required {own} user_{USER}="{password}"',
        SCRAM: f"scram.ScramLoginModule required {own}",
        UNSECURED: f'oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="{USER}"',
    }
    return f"{_MODULES}.{modules[mechanism]};"
