"""What is varied: grids, lists that advance together, groups, exceptions, and names."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.errors import BadInput
from streamgauge.experiments.variants import PlannedVariant, variants_of

CODEC = "load.client.compression.type"


def named(vary: dict[str, Any], *skip: dict[str, Any]) -> list[str]:
    return [each.name for each in variants_of(vary, skip, "baseline")]


def refused(vary: dict[str, Any], *skip: dict[str, Any]) -> list[str]:
    with pytest.raises(BadInput) as caught:
        variants_of(vary, skip, "baseline")
    return [str(fault) for fault in caught.value.faults]


def test_values_of_one_path_are_variants() -> None:
    assert variants_of({CODEC: ["none", "lz4"]}, (), "baseline") == [
        PlannedVariant("compression.type=none", {CODEC: "none"}),
        PlannedVariant("compression.type=lz4", {CODEC: "lz4"}),
    ]


def test_several_paths_make_a_grid_of_which_the_first_varies_slowest() -> None:
    found = named({"load.size": {"from": 64, "to": 256, "times": 4}, CODEC: ["none", "lz4"]})
    assert found == [
        "size=64, compression.type=none",
        "size=64, compression.type=lz4",
        "size=256, compression.type=none",
        "size=256, compression.type=lz4",
    ]


def test_zipped_lists_advance_together() -> None:
    vary = {"zip": {"load.size": [64, 256], "load.rate": ["4k/s", "1k/s"]}, "topic.partitions": [1]}
    assert named(vary) == ["size=64, rate=4k/s", "size=256, rate=1k/s"]
    assert variants_of(vary, (), "x")[1].settings == {"load.size": 256, "load.rate": "1k/s", "topic.partitions": 1}


def test_a_group_has_a_name_for_several_settings() -> None:
    vary = {"variants": {"safe": {"load.client.acks": "all"}, "fast": {"load.client.acks": 1}}, "load.size": [1, 2]}
    assert named(vary) == ["safe, size=1", "safe, size=2", "fast, size=1", "fast, size=2"]


def test_exceptions_leave_combinations_out() -> None:
    vary = {"load.size": [64, 256], CODEC: ["none", "lz4"], "variants": {"a": {}, "b": {}}}
    found = named(vary, {"load.size": 64, CODEC: ["none", "lz4"], "variants": "a"}, {CODEC: "none"})
    assert found == ["size=64, b", "size=256, a", "size=256, b"]


def test_nothing_varied_is_one_variant() -> None:
    assert variants_of({}, (), "baseline") == [PlannedVariant("baseline", {})]


def test_names_differ_and_have_no_secret() -> None:
    found = named({"load.client.sasl.password": ["hunter2", "hunter3"], "load.a.x": [1, 2], "load.b.x": [1, 2]})
    assert found[0] == "sasl.password=***, load.a.x=1, load.b.x=1 #1"
    assert len(set(found)) == 8
    assert not any("hunter" in each for each in found)


def test_a_mapping_may_be_a_value() -> None:
    assert named({"load.rate": ["max", {"burst": {"burst": "9k/s"}}]}) == [
        "rate=max",
        'rate={"burst": {"burst": "9k/s"}}',
    ]


@pytest.mark.parametrize(
    ("vary", "skip", "expected"),
    [
        ({"load.size": 64}, (), ["vary.load.size: 64: not a list of values"]),
        ({"load.size": []}, (), ["vary.load.size: []: not a list of values"]),
        ({"load.size": "64"}, (), ["vary.load.size: '64': not a list of values"]),
        ({"load.size": [64, 64]}, (), ["vary.load.size: 64 is given twice"]),
        ({"load..size": [64]}, (), ["vary.load..size: not a path"]),
        ({"load.size": {"from": 1, "to": 2}}, (), ["vary.load.size: {'from': 1, 'to': 2}: not a range"]),
        ({"zip": [1]}, (), ["vary.zip: not a mapping"]),
        ({"zip": {"a": [1], "b": [1, 2]}}, (), ["vary.zip: lists of different lengths: a has 1, b has 2"]),
        ({"zip": {"a": [1], "b": 2}}, (), ["vary.zip.b: 2: not a list"]),
        ({"variants": {}}, (), ["vary.variants: not a mapping"]),
        ({"variants": {"a": 1, "b": {"x": 1}}}, (), ["vary.variants.a: not a mapping of paths"]),
        ({"a.b": [1], "zip": {"a.b": [1]}}, (), ["vary.a.b: is varied twice"]),
        ({"load.size": 1, "load.rate": 2}, (), ["vary.load.size: 1", "vary.load.rate: 2"]),
        ({"a": [*range(101)], "b": [*range(100)]}, (), ["vary: 10,100 combinations are more"]),
        ({"a": [1, 2]}, ({"b": 1},), ["except.0.b: is not varied"]),
        ({"a": [1, 2]}, ({"a": 3},), ["except.0: no combination"]),
        ({"a": [1, 2]}, ({},), ["except.0: is empty"]),
        ({"a": [1, 2]}, ({"a": [1, 2]},), ["except: leaves no variant"]),
    ],
)  # fmt: skip
def test_what_cannot_be_varied_is_told_at_once(
    vary: dict[str, Any], skip: tuple[Any, ...], expected: list[str]
) -> None:
    found = refused(vary, *skip)
    assert len(found) == len(expected)
    assert all(text.startswith(begin) for text, begin in zip(found, expected, strict=True))


@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_a_grid_has_each_combination_once(sizes: list[int]) -> None:
    vary = {f"load.{place}": list(range(size)) for place, size in enumerate(sizes)}
    found = variants_of(vary, (), "alone")
    assert [tuple(each.settings.values()) for each in found] == list(product(*vary.values()))
    assert len({each.name for each in found}) == len(found)
