"""Secrets are known by their names, and masked wherever something is written or shown."""

import pytest

from streamgauge.domain.secrets import is_secret, mask_command, mask_setting, masked, without_secrets

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
]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", OPEN)
def test_what_is_no_secret_can_be_shown(name: str) -> None:
    assert not is_secret(name)


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
}


@pytest.mark.parametrize(("typed", "shown"), SETTINGS.items())
def test_a_setting_is_shown_without_its_secret_even_where_it_is_none(typed: str, shown: str) -> None:
    assert mask_setting(typed) == shown


def test_what_others_say_of_settings_repeats_no_secret() -> None:
    """Short values only where they are quoted, as they stand in other words."""
    config = {"sasl.password": "hunter2", "ssl.key.password": "in", "linger.ms": "five"}

    assert without_secrets('five hunter2 "in" linger', config) == "five *** *** linger"
