"""How a cluster is reached: librdkafka's settings in the words of the Java client."""

from collections.abc import Mapping

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.jobs.driver.security import kafka_options

KEY = "-----BEGIN PRIVATE KEY-----\nabc"
FILES = {"ca.pem": "authority", "own.pem": "certificate", "key.pem": KEY, "old.pem": "-----BEGIN RSA PRIVATE KEY-----"}
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
TOKEN = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"


def options(connection: Mapping[str, str | int]) -> dict[str, str]:
    return kafka_options(connection, FILES.__getitem__)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (
            {"bootstrap.servers": "a:1,b:2", "linger.ms": 5, "client.id": "x"},
            {"kafka.bootstrap.servers": "a:1,b:2"},
        ),
        (
            {"security.protocol": "sasl_ssl", "sasl.mechanisms": "PLAIN", "sasl.username": "u", "sasl.password": "p"},
            {
                "kafka.security.protocol": "SASL_SSL",
                "kafka.sasl.mechanism": "PLAIN",
                "kafka.sasl.jaas.config": f'{PLAIN} username="u" password="p";',
            },
        ),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "scram-sha-512",
                "sasl.username": "u",
                "sasl.password": 'q"\\;',
            },
            {
                "kafka.security.protocol": "SASL_PLAINTEXT",
                "kafka.sasl.mechanism": "SCRAM-SHA-512",
                "kafka.sasl.jaas.config": f'{SCRAM} username="u" password="q\\"\\\\;";',
            },
        ),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanisms": "OAUTHBEARER",
                "enable.sasl.oauthbearer.unsecure.jwt": "true",
                "sasl.oauthbearer.config": "principal=me scope=x",
            },
            {
                "kafka.security.protocol": "SASL_PLAINTEXT",
                "kafka.sasl.mechanism": "OAUTHBEARER",
                "kafka.sasl.jaas.config": f'{TOKEN} unsecuredLoginStringClaim_sub="me";',
            },
        ),
        (
            {
                "security.protocol": "ssl",
                "ssl.ca.location": "ca.pem",
                "ssl.certificate.location": "own.pem",
                "ssl.key.location": "key.pem",
                "ssl.key.password": "k",
                "ssl.endpoint.identification.algorithm": "none",
            },
            {
                "kafka.security.protocol": "SSL",
                "kafka.ssl.endpoint.identification.algorithm": "",
                "kafka.ssl.truststore.type": "PEM",
                "kafka.ssl.truststore.certificates": "authority",
                "kafka.ssl.keystore.type": "PEM",
                "kafka.ssl.keystore.certificate.chain": "certificate",
                "kafka.ssl.keystore.key": KEY,
                "kafka.ssl.key.password": "k",
            },
        ),
        (
            {"security.protocol": "ssl", "ssl.ca.location": "probe", "ssl.keystore.location": "/s.p12",
             "ssl.keystore.password": "s"},
            {
                "kafka.security.protocol": "SSL",
                "kafka.ssl.keystore.type": "PKCS12",
                "kafka.ssl.keystore.location": "/s.p12",
                "kafka.ssl.keystore.password": "s",
            },
        ),
    ],
)  # fmt: skip
def test_settings_in_the_words_of_java(given: dict[str, str | int], wanted: dict[str, str]) -> None:
    assert options(given) == wanted


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"security.protocol": "sasl_ssl", "sasl.mechanisms": "OAUTHBEARER"}, "OAUTHBEARER is not supported"),
        (
            {
                "security.protocol": "sasl_ssl",
                "sasl.mechanisms": "OAUTHBEARER",
                "enable.sasl.oauthbearer.unsecure.jwt": "false",
            },
            "OAUTHBEARER is not supported",
        ),
        ({"security.protocol": "sasl_ssl"}, "nothing is not supported"),
        ({"ssl.certificate.location": "own.pem", "ssl.key.location": "old.pem"}, "openssl pkcs8"),
    ],
)
def test_what_java_cannot_do_is_refused(given: dict[str, str | int], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        options(given)


def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(BadInput, match=r"/no/such/ca\.pem: cannot be read"):
        kafka_options({"ssl.ca.location": "/no/such/ca.pem"})
