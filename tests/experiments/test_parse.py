"""Experiment files: defaults, and every fault of a wrong one at once."""

from typing import Any

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.experiments.parse import examine_experiment

RIGHT: dict[str, Any] = {"name": "codecs", "scenario": "baseline", "vary": {"load.size": [1, 2]}}


def refused(**changes: Any) -> list[str]:
    with pytest.raises(BadInput) as caught:
        examine_experiment({**RIGHT, **changes}, "codecs.yaml")
    return [str(fault) for fault in caught.value.faults]


def test_what_is_left_out_has_defaults() -> None:
    experiment, variants, expects = examine_experiment(RIGHT, "codecs.yaml")
    assert (experiment.repeat, experiment.order, experiment.broker, experiment.seed) == (5, "interleaved", "shared", 1)
    assert [each.name for each in variants] == ["size=1", "size=2"]
    assert expects == []


def test_what_is_expected_is_read_once() -> None:
    *_, expects = examine_experiment({**RIGHT, "expect": ["variants.2.delivery.lost <= 0"]}, "x")
    assert [(each.variant, each.path) for each in expects] == [(1, "delivery.lost")]


@pytest.mark.parametrize(("given", "expected"), [("5%", 0.05), (0.05, 0.05), (1, 1.0), ("0.5%", 0.005)])
def test_a_share_may_be_written_in_percent(given: object, expected: float) -> None:
    experiment, *_ = examine_experiment({**RIGHT, "stop": {"interval": given, "time": "1h"}}, "x")
    assert experiment.stop.interval == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"repeat": 0}, ["repeat: 0: "]),
        ({"repaet": 3}, ["repaet: no such key. Did you mean `repeat`?"]),
        ({"stop": {"tiem": 3}}, ["stop.tiem: no such key. Did you mean `time`?"]),
        ({"order": "random"}, ["order: 'random': "]),
        ({"stop": {"interval": "500%"}}, ["stop.interval: '500%': not between"]),
        ({"stop": {"interval": "x"}}, ["stop.interval: 'x': not a share"]),
        ({"stop": {"interval": 10**400}}, ["stop.interval: a number of 401 digits: not a share"]),
        ({"stop": {"interval": True}}, ["stop.interval: true: not a share"]),
        ({"stop": {"interval": "5%"}, "order": "blocks"}, ["stop.interval: cannot be used with order blocks"]),
        ({"stop": {"time": "1h"}, "order": "blocks"}, ["stop.time: cannot be used with order blocks"]),
        ({"set": {"load.size": 3}}, ["set.load.size: is varied, too"]),
        ({"name": "a b"}, ["name: 'a b': not in an allowed form"]),
        ({"vary": 3}, ["vary: 3: not a mapping"]),
        ({"scenario": 3}, ["scenario: 3: not a scenario"]),
        ({"repeat": 0, "vary": {"load.size": 1}, "nothing": 1}, ["repeat", "nothing", "vary.load.size"]),
    ],
)  # fmt: skip
def test_every_fault_is_told(changes: dict[str, Any], expected: list[str]) -> None:
    found = refused(**changes)
    assert len(found) == len(expected)
    assert all(text.startswith(begin) for text, begin in zip(found, expected, strict=True))


def test_what_is_no_mapping_is_told() -> None:
    with pytest.raises(BadInput, match=r"codecs.yaml: not a mapping of keys to values"):
        examine_experiment([1], "codecs.yaml")
