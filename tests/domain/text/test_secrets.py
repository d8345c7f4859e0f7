"""Secrets are known by their names, and masked wherever something is written or shown."""

import pytest

from streamgauge.domain.text.secrets import (
    carries_secret,
    is_secret,
    left_out,
    mask_command,
    mask_setting,
    masked,
    without_secrets,
)

SECRETS = [
    "sasl.password",
    "sasl.username",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.key.location",
    "ssl.keystore.password",
    "ssl.keystore.location",
    "ssl_key",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.jaas.config",
    "SASL.PASSWORD",
    "ssl.certificate.pem",
    "load.client.sasl.password",
    "spark.hadoop.fs.s3a.access.key",
    "spark.hadoop.fs.s3a.secret.key",
    "spark.hadoop.fs.s3a.session.token",
    "spark.hadoop.fs.s3a.encryption.key",
    "fs.azure.account.key.me.dfs.core.windows.net",
    "fs.azure.sas.files.me",
    "fs.azure.account.oauth2.client.secret",
    "spark.ssl.keyPassword",
    "spark.authenticate.secret",
    "spark.executorEnv.AWS_SECRET_ACCESS_KEY",
    "awsAccessKeyId",
    "SharedAccessKey",
    "api_key",
    "db.pwd",
    "basic.auth.user.info",
    "Authorization",
]
OPEN = [
    "bootstrap.servers",
    "security.protocol",
    "sasl.mechanism",
    "sasl.mechanisms",
    "ssl.ca.location",
    "linger.ms",
    "enable.ssl.certificate.verification",
    "topic.name",
    "load.rate",
    "partition.assignment.strategy",
    "spark.sql.shuffle.partitions",
    "spark.hadoop.fs.s3a.endpoint",
    "spark.io.encryption.keySizeBits",
    "spark.executor.extraClassPath",
    "cleanup.policy",
    "load.keys",
    "measures",
]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", OPEN)
def test_what_is_no_secret_can_be_shown(name: str) -> None:
    assert not is_secret(name)


JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="x";'
CARRIERS = [
    JAAS,
    "https://me:hunter2@host/path",
    "k8s://me:hunter2@host",
    "me:hunter2@host:9092",
    "Endpoint=sb://x/;SharedAccessKeyName=me;SharedAccessKey=hunter2=",
    "DefaultEndpointsProtocol=https;AccountName=me;AccountKey=hunter2==",
    "https://me.blob.core.windows.net/files?sv=1&sig=hunter2",
    "https://me.s3.amazonaws.com/x?X-Amz-Signature=hunter2",
    "jdbc:postgresql://host/db?user=me&password=hunter2",
    "-Djavax.net.ssl.keyStorePassword=hunter2",
    "{sasl.password: hunter2}",
    "Authorization: Bearer hunter2",
    "bearer abcdefghijklmnop",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln",
    "-----BEGIN RSA PRIVATE KEY-----",
]
HARMLESS = [
    "http://localhost:8080/a@b",
    "abfss://files@me.dfs.core.windows.net/x",
    "spark://a:7077,b:7077",
    "a:9092,b:9092",
    "package.module:function",
    "sasl.mechanisms=PLAIN",
    "git@host:path",
    " 500 ",
    "the token of the house",
    "password=",
    "password=***",
    "https://***@host/path",
    "-----BEGIN CERTIFICATE-----",
    "tests/data:a@",
]


@pytest.mark.parametrize("text", CARRIERS)
def test_a_secret_is_known_by_what_it_looks_like(text: str) -> None:
    """Under an innocent name, in a mapping or a list; in an address the host stays."""
    assert carries_secret(text)
    assert "hunter2" not in str(masked({"innocent": [text]}))
    assert masked({"innocent": [text]}) != {"innocent": [text]}


@pytest.mark.parametrize("text", HARMLESS)
def test_what_looks_like_no_secret_stays(text: str) -> None:
    assert not carries_secret(text)
    assert masked({"innocent": text}) == {"innocent": text}


def test_masking_goes_to_every_depth_and_once_is_enough() -> None:
    given = {"a": [{"sasl.password": ["x"], "b": ({"url": "s3a://me:hunter2@files/x"},), "n": 5}], "jaas": {"c": 1}}

    found = masked(given)

    assert found == {"a": [{"sasl.password": "***", "b": [{"url": "s3a://***@files/x"}], "n": 5}], "jaas": "***"}
    assert masked(found) == found


def test_what_was_masked_is_found_again() -> None:
    """Only under the name of a secret: three asterisks may be a text that somebody sends."""
    given = {"load": {"client": {"sasl.password": "***", "linger.ms": 5}, "text": "***"}, "list": [{"token": "***"}]}

    assert list(left_out(given)) == ["load.client.sasl.password", "list.0.token"]


def test_masking_keeps_names_and_what_is_open() -> None:
    config: dict[str, str | int] = {"sasl.password": "hunter2", "linger.ms": 5}

    assert masked(config) == {"sasl.password": "***", "linger.ms": 5}
    assert config["sasl.password"] == "hunter2"


COMMANDS = {
    "--set load.rate=1k/s": "--set load.rate=1k/s",
    "--set load.client.sasl.password=hunter2": "--set load.client.sasl.password=***",
    "--set=load.client.sasl.password=hunter2": "--set=load.client.sasl.password=***",
    "--set=load.client={sasl.password:hunter2}": "--set=load.client=***",
    "--set=load.rate=5": "--set=load.rate=5",
    "--client-config secret.properties": "--client-config secret.properties",
    "--client-config=client.properties": "--client-config=client.properties",
    "run baseline": "run baseline",
    "--set pipeline.settings.spark.ssl.keyPassword=hunter2": "--set pipeline.settings.spark.ssl.keyPassword=***",
    "--set=pipeline.checkpoint=s3a://me:hunter2@x": "--set=pipeline.checkpoint=***",
    "--bootstrap=me:hunter2@host:9092": "--bootstrap=***",
    "--out https://me:hunter2@host/x": "--out https://***@host/x",
}


@pytest.mark.parametrize(("typed", "shown"), COMMANDS.items())
def test_a_command_line_is_shown_without_its_secrets(typed: str, shown: str) -> None:
    assert mask_command(typed.split()) == shown.split()


SETTINGS = {
    "load.rate=5": "load.rate=5",
    "load.client.sasl.password=hunter2": "load.client.sasl.password=***",
    "load.client.sasl.password hunter2": "load.client.sasl.password ***",
    "load.client.sasl.password:hunter2": "load.client.sasl.password ***",
    "load.rate": "load.rate",
    "load.client.sasl.password aHVudGVyMg==": "load.client.sasl.password ***",
    "pipeline.settings.x=https://me:hunter2@host": "pipeline.settings.x=***",
    "https://me:hunter2@host/?a=b": "https ***",
}


@pytest.mark.parametrize(("typed", "shown"), SETTINGS.items())
def test_a_setting_is_shown_without_its_secret_even_where_it_is_none(typed: str, shown: str) -> None:
    assert mask_setting(typed) == shown


def test_what_others_say_of_settings_repeats_no_secret() -> None:
    """Short values only where they are quoted, as they stand in other words."""
    config = {"sasl.password": "hunter2", "ssl.key.password": "in", "linger.ms": "five"}

    assert without_secrets('five hunter2 "in" linger', config) == "five *** *** linger"


def test_what_others_say_repeats_no_secret_that_a_value_carries() -> None:
    """At any depth, and also where only the secret itself is repeated."""
    settings = {"innocent": "https://me:hunter2@host/x", "login": JAAS, "n": {"jaas": {"deep": "hunter3"}, "empty": ""}}

    said = f"https://me:hunter2@host/x, hunter2, hunter3, {JAAS} and x"

    assert without_secrets(said, settings) == "***, ***, ***, *** and x"
