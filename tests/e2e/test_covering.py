"""The scenarios that `make test` carries out leave out nothing that a shipped one has."""

import pytest
from tests.e2e.covering import covering


@pytest.mark.parametrize(
    ("texts", "chosen"),
    [
        ({}, []),
        ({"a": "load: {rate: 1}"}, ["a"]),
        # What is in another one adds nothing, whatever its numbers and its name.
        ({"a": "{name: a, load: {rate: 1, size: 2}}", "b": "{name: b, load: {rate: 7}}"}, ["a"]),
        ({"a": "{load: {rate: 1, size: 2}}", "b": "{load: {rate: 7, keys: 3}}"}, ["a", "b"]),
        # A word is a choice of its own, as yes and no are.
        ({"a": "{load: {rate: max}}", "b": "{load: {rate: closed}}", "c": "{load: {rate: 5k/s}}"}, ["a", "b"]),
        ({"a": "{verify: {log: true}}", "b": "{verify: {log: false}}"}, ["a", "b"]),
        # Within a list, too.
        ({"a": "{faults: [{kind: kill}, {kind: pause}]}", "b": "{faults: [{kind: pause}]}"}, ["a"]),
        ({"a": "{expect: {delivery.lost: 0}, load: {rate: 1}}", "b": "{load: {rate: 1, size: 1}}"}, ["b"]),
    ],
)
def test_what_is_used_anywhere_is_used_by_one_that_is_chosen(texts: dict[str, str], chosen: list[str]) -> None:
    assert covering(texts) == chosen
