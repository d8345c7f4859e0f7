"""Addresses of clusters and of Spark masters."""

import pytest

from streamgauge.domain.text.address import (
    LOOPBACK,
    driver_address,
    is_spark_master,
    is_this_machine,
    parse_bootstrap,
)


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("localhost:9092", "localhost:9092"),
        ("a.example:9093, b_2.example:9093 ", "a.example:9093,b_2.example:9093"),
        ("127.0.0.1:1,[::1]:65535", "127.0.0.1:1,[::1]:65535"),
        ("[fe80::1%eth0]:9092", "[fe80::1%eth0]:9092"),
    ],
)
def test_a_list_of_addresses_is_taken_without_its_spaces(text: str, addresses: str) -> None:
    assert parse_bootstrap(text) == addresses


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no address"),
        (" , ", "no address"),
        ("h:1,", "between commas"),
        ("h", "port is missing"),
        ("[::1]", "port is missing"),
        ("h:", "not an address"),
        ("h:-1", "not an address"),
        ("h:1 g:2", "not an address"),
        ("::1:9092", "not an address"),
        ("h:0", "between 1 and 65535"),
        ("h:65536", "between 1 and 65535"),
        ("SSL://h:1", "cannot contain a protocol"),
    ],
)
def test_what_is_no_list_of_addresses_is_refused_with_the_remedy(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=rf"{reason}.*; write HOST:PORT"):
        parse_bootstrap(text)


@pytest.mark.parametrize(
    "text",
    ["local", "local[4]", "local[*]", "local[4,2]", "local-cluster[2,1,1024]", "spark://h:7077", "spark://a:1,b:2",
     "yarn", "k8s://https://h:6443"],
)  # fmt: skip
def test_a_spark_master_is_known(text: str) -> None:
    assert is_spark_master(text)


@pytest.mark.parametrize("text", ["", "spark", "local[]", "local[0]", "local[x]", "spark://h", "h:7077", "local "])
def test_what_is_no_spark_master_is_known_too(text: str) -> None:
    assert not is_spark_master(text)


@pytest.mark.parametrize(
    ("master", "is_it"),
    [
        (None, True), ("local", True), ("local[4]", True), ("local-cluster[2,1,1024]", True),
        ("spark://127.0.0.1:7077", True), ("spark://localhost:7077,127.0.0.2:7077", True), ("spark://[::1]:7077", True),
        ("spark://localhost:7077,h:7077", False), ("spark://h:7077", False), ("spark://127.0.0.1.example:7077", False),
        ("yarn", False), ("k8s://https://localhost:6443", False),
    ],
)  # fmt: skip
def test_a_driver_stays_on_loopback_where_spark_is_this_machine(master: str | None, is_it: bool) -> None:
    assert is_this_machine(master) is is_it
    assert set(driver_address(master).values()) == ({LOOPBACK} if is_it else set())
