"""How a cluster of our own is guarded: settings of nodes and clients, and files that only their owner can read."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge.cluster.nodes.certificates import check_tool, secure, secure_like, tell_clients, with_kept_user
from streamgauge.cluster.nodes.layout import ClusterPlan, Ports, Storage, members_of, names_of, properties_of
from streamgauge.cluster.nodes.security import (
    Security,
    SecurityFiles,
    client_settings,
    listener_settings,
    secrets_of,
    user_arguments,
)
from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.secrets import masked
from streamgauge.kafka.client_config import read_client_config
from streamgauge.processes.jvm.java import Java
from streamgauge.scenario.model.environment.embedded import OWNED_BY_CLUSTER
from streamgauge.scenario.model.environment.security import MECHANISMS, PROTOCOLS, ClusterSecurity

FILES = SecurityFiles(Path("/s"))
STORES = {
    "ssl.keystore.type": "PKCS12",
    "ssl.keystore.location": "/s/keystore.p12",
    "ssl.keystore.password": "pw",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": "/s/authority.pem",
}
OWN = 'username="streamgauge" password="pw"'
LOGINS = {
    "PLAIN": f'org.apache.kafka.common.security.plain.PlainLoginModule required {OWN} user_streamgauge="pw";',
    "SCRAM-SHA-512": f"org.apache.kafka.common.security.scram.ScramLoginModule required {OWN};",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
    ' unsecuredLoginStringClaim_sub="streamgauge";',
}
CLIENTS = {
    "PLAIN": {"sasl.mechanisms": "PLAIN", "sasl.username": "streamgauge", "sasl.password": "pw"},
    "SCRAM-SHA-512": {"sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "streamgauge", "sasl.password": "pw"},
    "OAUTHBEARER": {
        "sasl.mechanisms": "OAUTHBEARER",
        "enable.sasl.oauthbearer.unsecure.jwt": "true",
        "sasl.oauthbearer.config": "principal=streamgauge",
    },
}


def combinations() -> Iterator[Security]:
    """All that a scenario can ask for."""
    for protocol in PROTOCOLS:
        for mechanism in MECHANISMS if protocol.startswith("SASL") else (None,):
            spec = ClusterSecurity.model_validate({"protocol": protocol, "mechanism": mechanism})
            yield Security(spec.protocol, spec.used, "pw")


def test_sasl_uses_scram_unless_it_says_otherwise() -> None:
    assert ClusterSecurity(protocol="SASL_SSL").used == "SCRAM-SHA-512"
    assert ClusterSecurity(protocol="SSL").used is None


@pytest.mark.parametrize("security", list(combinations()), ids=lambda each: each.words or each.protocol)
def test_settings_of_nodes_and_clients(security: Security) -> None:
    """Brokers speak among each other as clients speak with them; controllers encrypt where brokers do."""
    protocol = security.protocol
    mechanism = (security.mechanism or "").removesuffix("-unsecured")
    expected: dict[str, str] = {}
    told: dict[str, str] = {}
    if protocol != "PLAINTEXT":
        quorum = "SSL" if "SSL" in protocol else "PLAINTEXT"
        expected["listener.security.protocol.map"] = f"CONTROLLER:{quorum},{protocol}:{protocol}"
        told["security.protocol"] = protocol
    if "SSL" in protocol:
        expected |= STORES
        told["ssl.ca.location"] = "/s/authority.pem"
    if mechanism:
        expected |= {
            "sasl.enabled.mechanisms": mechanism,
            "sasl.mechanism.inter.broker.protocol": mechanism,
            f"listener.name.{protocol.lower()}.{mechanism.lower()}.sasl.jaas.config": LOGINS[mechanism],
        }
        told |= CLIENTS[mechanism]

    assert listener_settings(security, FILES) == expected
    assert client_settings(security, FILES) == told
    assert {name for name in expected if "jaas" not in name} <= OWNED_BY_CLUSTER


@pytest.mark.parametrize("security", list(combinations()), ids=lambda each: each.words or each.protocol)
def test_no_secret_is_shown(security: Security) -> None:
    settings = {**listener_settings(security, FILES), **client_settings(security, FILES), **secrets_of(security)}

    assert "pw" not in str(list(masked(settings).values()))
    assert "pw" not in repr(security)


def test_listeners_are_called_by_their_protocol() -> None:
    plan = ClusterPlan(3, security=Security("SASL_SSL", "PLAIN"), data_dirs=2)
    members = members_of(plan, names_of(plan))
    ports = {each.number: Ports(1000 + each.number, 2000 + each.number) for each in members}
    storage = Storage(Path("/d/topics"), Path("/d/metadata"), (Path("/d/topics-2"),), FILES)

    found = properties_of(members[1], members, ports, storage, plan)

    assert found["listeners"] == "SASL_SSL://127.0.0.1:1002,CONTROLLER://127.0.0.1:2002"
    assert (found["advertised.listeners"], found["inter.broker.listener.name"]) == (
        "SASL_SSL://127.0.0.1:1002",
        "SASL_SSL",
    )
    assert found["log.dirs"] == "/d/topics,/d/topics-2"


def test_only_scram_has_users_that_the_cluster_keeps() -> None:
    made = [each.mechanism for each in combinations() if user_arguments(each)]

    assert made == ["SCRAM-SHA-512", "SCRAM-SHA-512"]
    assert (
        user_arguments(Security("SASL_SSL", "SCRAM-SHA-512", "pw"))[1] == "SCRAM-SHA-512=[name=streamgauge,password=pw]"
    )


def test_passwords_differ_and_clusters_do_not_differ_by_them() -> None:
    one, other = Security("SSL"), Security("SSL")

    assert one.password != other.password
    assert one == other


def test_what_clients_are_told_is_a_file_that_a_run_reads(tmp_path: Path) -> None:
    files = SecurityFiles(tmp_path)
    old_mask = os.umask(0)
    try:
        path = tell_clients(Security("SASL_PLAINTEXT", "PLAIN", "pw"), files, "127.0.0.1:9")
    finally:
        os.umask(old_mask)

    assert read_client_config(path) == {
        "bootstrap.servers": "127.0.0.1:9",
        "security.protocol": "SASL_PLAINTEXT",
        **CLIENTS["PLAIN"],
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_keytool_tls_is_refused(tmp_path: Path) -> None:
    java = Java(tmp_path / "java", "17", 17)

    check_tool(Security("SASL_PLAINTEXT", "PLAIN"), java)
    with pytest.raises(BadInput, match=r"has no keytool.*Install a whole JDK"):
        check_tool(Security("SSL"), java)


def test_kept_data_keep_their_user(tmp_path: Path) -> None:
    scram = Security("SASL_SSL", "SCRAM-SHA-512", "new")
    (tmp_path / "metadata").mkdir()
    with pytest.raises(BadInput, match="made without the user that SCRAM-SHA-512 needs"):
        with_kept_user(scram, tmp_path)
    assert with_kept_user(Security("SSL", None, "new"), tmp_path).password == "new"

    (tmp_path / "security").mkdir()
    (tmp_path / "security" / "password").write_text("old")
    assert with_kept_user(scram, tmp_path).password == "old"


@pytest.mark.slow
def test_certificates_are_made_once_and_for_their_owner(java: Java, tmp_path: Path) -> None:
    files, others = SecurityFiles(tmp_path / "a"), SecurityFiles(tmp_path / "b")
    security = Security("SSL")

    secure(security, files, java)
    made = files.authority.read_bytes()
    secure(security, files, java)
    secure_like(files, others)

    assert made == files.authority.read_bytes() == others.authority.read_bytes()
    assert made.startswith(b"-----BEGIN CERTIFICATE-----")
    for each in (files, others):
        assert stat.S_IMODE(each.folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in each.folder.iterdir()} == {0o600}
        assert {path.name for path in each.folder.iterdir()} == {"keystore.p12", "authority.pem", "password"}
