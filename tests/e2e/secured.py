"""A broker on loopback that lets nobody in without a password or a certificate."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from tests.brokers import one_broker
from tests.waiting import until

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.cluster.nodes.ports import free_ports
from streamgauge.domain.text.address import LOOPBACK
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.jvm.properties import properties_text

USER = "me"
PASSWORD = 'hunter2 "quoted\\"; end'
"""With all that a language of settings could take for an end."""
STORE_PASSWORD = "opensesame"
MODULES = "org.apache.kafka.common.security"


@dataclass(frozen=True, slots=True)
class Secured:
    """How it is reached, and what shows who is who."""

    sasl: str
    tls: str
    authority: Path
    """The certificate of the broker, which clients are to trust; PEM."""
    keystore: Path
    """Certificate and key that it trusts; PKCS12."""


@contextmanager
def secured(folder: Path, java: Java) -> Iterator[Secured]:
    """The broker; users and certificates are made for it."""
    stores = {name: _key_pair(name, folder, java) for name in ("broker", "client")}
    trusted = folder / "trusted.p12"
    _keytool(
        java, trusted, "-importcert", "-noprompt", "-alias", "client", "-file", stores["client"].with_suffix(".pem")
    )
    sasl, tls = (f"{LOOPBACK}:{port}" for port in free_ports(2))
    with one_broker(logs=folder / "logs", java=java, data=folder / "data", name="secured") as broker:
        broker.kill()
        with (folder / "data" / "server.properties").open("a", encoding="ascii") as file:
            file.write(_listeners(broker, sasl, tls) + properties_text(_settings(stores["broker"], trusted)))
        broker.restart()
        until(lambda: "Kafka Server started" in broker.entry.log.read_text())
        _add_user(broker)
        yield Secured(sasl, tls, stores["broker"].with_suffix(".pem"), stores["client"])


def _key_pair(name: str, folder: Path, java: Java) -> Path:
    """A key and its certificate as PKCS12; the certificate beside it as PEM."""
    store = folder / f"{name}.p12"
    what = ("-alias", name, "-keyalg", "EC", "-dname", f"CN={name}", "-ext", f"san=ip:{LOOPBACK}", "-ext", "bc=ca:true")
    _keytool(java, store, "-genkeypair", *what)
    _keytool(java, store, "-exportcert", "-rfc", "-alias", name, "-file", str(store.with_suffix(".pem")))
    return store


def _keytool(java: Java, store: Path, *words: str | Path) -> None:
    place = ("-keystore", store, "-storetype", "PKCS12", "-storepass", STORE_PASSWORD)
    subprocess.run([java.path.parent / "keytool", *words, *place], check=True, capture_output=True)


def _listeners(broker: EmbeddedBroker, sasl: str, tls: str) -> str:
    """Lines that add two listeners to those of the broker; of a setting that is there twice, the last counts."""
    lines = (broker.entry.data / "server.properties").read_text().splitlines()
    return "".join(
        f"{line},SASL://{sasl},TLS://{tls}\n"
        for line in lines
        if line.startswith(("listeners=", "advertised.listeners="))
    )


def _settings(store: Path, trusted: Path) -> dict[str, str]:
    quoted = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    return {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_SSL,TLS:SSL",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": STORE_PASSWORD,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(trusted),
        "ssl.truststore.password": STORE_PASSWORD,
        "listener.name.tls.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.sasl.plain.sasl.jaas.config": (
            f'{MODULES}.plain.PlainLoginModule required user_{USER}="{quoted}";'
        ),
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
    }


def _add_user(broker: EmbeddedBroker) -> None:
    """A user with a password that the broker keeps as SCRAM wants it."""
    how = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    user = UserScramCredentialUpsertion(USER, how, PASSWORD.encode())
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.alter_user_scram_credentials([user])[USER].result(30)
