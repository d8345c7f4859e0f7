"""Tokens that nobody signs, as librdkafka makes them from its settings; kafka-python sends them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from streamgauge.cluster.embedded import start_cluster
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.cluster.nodes.security import UNSECURED, Security
from streamgauge.domain import clock
from streamgauge.domain.blocks import ClientSpec
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.metadata.library import library, opened
from streamgauge.kafka.metadata.quorum import KafkaQuorum
from streamgauge.kafka.metadata.tokens import UnsecuredTokens, unsecured_token
from streamgauge.processes.jvm.java import Java

NOW_NS = 1_800_000_000 * NS_PER_SECOND + 250_000_000
OAUTH = {
    "bootstrap.servers": "127.0.0.1:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "OAUTHBEARER",
    "enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": "principal=streamgauge",
}  # fmt: skip


def parts(token: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Header, claims and signature of a token."""

    def read(text: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return found

    header, claims, signature = token.split(".")
    assert "=" not in token
    return read(header), read(claims), signature


@pytest.mark.parametrize(
    ("config", "claims"),
    [
        ("principal=me", {"sub": "me", "exp": 1_800_003_600.25}),
        ("principal=me lifeSeconds=60", {"sub": "me", "exp": 1_800_000_060.25}),
        ("principalClaimName=azp principal=me", {"azp": "me", "exp": 1_800_003_600.25}),
        ("  principal=me   scope=a,b", {"sub": "me", "exp": 1_800_003_600.25, "scope": ["a", "b"]}),
        (
            "principal=me scopeClaimName=roles scope=a extension_x=y",
            {"sub": "me", "exp": 1_800_003_600.25, "roles": ["a"]},
        ),
    ],
)
def test_a_token_says_what_the_settings_say(config: str, claims: dict[str, Any]) -> None:
    header, found, signature = parts(unsecured_token(config, NOW_NS))

    assert (header, signature) == ({"alg": "none"}, "")
    assert found == {"iat": 1_800_000_000.25, **claims}


@pytest.mark.parametrize("after_ns", [0, 500_000, 999_999])
def test_a_token_is_not_issued_after_the_time_that_a_broker_compares_it_with(after_ns: int) -> None:
    """Which is cut to milliseconds: a token of the same millisecond was refused as one of the future."""
    _, claims, _ = parts(unsecured_token("principal=me", NOW_NS + after_ns))
    assert round(claims["iat"] * 1000) * 1_000_000 == NOW_NS


def test_each_connection_gets_a_token_of_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that none is too old, however long a run is."""
    tokens = UnsecuredTokens("principal=me lifeSeconds=60 extension_trace=7 extension_kind=x")
    for later_ns in (0, 3600 * NS_PER_SECOND):
        monkeypatch.setattr(clock, "clock_pair", lambda ns=NOW_NS + later_ns: clock.ClockPair(ns, 0))
        _, claims, _ = parts(tokens.token())
        assert claims["iat"] == (NOW_NS + later_ns) / NS_PER_SECOND
    assert tokens.extensions() == {"trace": "7", "kind": "x"}


def client_with(monkeypatch: pytest.MonkeyPatch, **settings: str) -> dict[str, Any]:
    """What the library is told where somebody opens a client."""
    told: dict[str, Any] = {}
    monkeypatch.setattr(library().admin, "KafkaAdminClient", lambda **its: told.update(its))
    opened({**OAUTH, **settings}, request_ms=1, bootstrap_ms=1)
    return told


def test_the_library_logs_in_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told = client_with(monkeypatch)
    assert (told["security_protocol"], told["sasl_mechanism"]) == ("SASL_PLAINTEXT", "OAUTHBEARER")

    sent = library().net.sasl.oauth.SaslMechanismOAuth(**told).auth_bytes().decode()
    before, _, token = sent.strip("\x01").partition("Bearer ")
    assert before == "n,,\x01auth="
    assert parts(token)[1]["sub"] == "streamgauge"


@pytest.mark.parametrize(
    "settings",
    [
        {"enable.sasl.oauthbearer.unsecure.jwt": "false"},
        {"sasl.mechanisms": "PLAIN", "sasl.username": "me", "sasl.password": "x"},
    ],
)
def test_nobody_else_is_given_a_token(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]) -> None:
    assert "sasl_oauth_token_provider" not in client_with(monkeypatch, **settings)


@pytest.mark.kafka
@pytest.mark.usefixtures("_own_state")
def test_a_broker_lets_it_in(java: Java, tmp_path: Path) -> None:
    """So that the active controller and the ends of logs are known where clients log in with such tokens."""
    plan = ClusterPlan(heap="256m", security=Security("SASL_PLAINTEXT", UNSECURED))
    with start_cluster(plan, logs=tmp_path / "logs", data=tmp_path / "data", java=java) as running:
        Cluster(running.bootstrap, running.connection).create_topic("t", 1, 1)
        quorum = KafkaQuorum(ClientSpec("test", ("t",), running.connection), 1, 10.0)
        try:
            assert quorum.look() == (1, {1: {(0, 0): 0}})
        finally:
            quorum.close()
