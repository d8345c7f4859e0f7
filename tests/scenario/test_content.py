"""What messages contain, as a scenario says it: wrong ways, round trips, and what follows from it."""

import pickle
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from streamgauge.scenario.model.content import (
    KINDS,
    Content,
    Keys,
    Partition,
    Sizes,
    content_faults,
    largest_bytes,
    mean_bytes,
    needs_headers,
)
from streamgauge.workload.payload.build import law_of
from streamgauge.workload.payload.sizes import Gaussian, Law, Uniform

SIZES: TypeAdapter[Sizes] = TypeAdapter(Sizes)
CONTENT: TypeAdapter[Content] = TypeAdapter(Content)
KEYS: TypeAdapter[Keys] = TypeAdapter(Keys)
PARTITION: TypeAdapter[Partition] = TypeAdapter(Partition)

ROUGH = {"uniform": {"from": 100, "to": "2KiB"}}
SMALL = {"uniform": {"from": 39, "to": 2000}}
FILE = {"file": {"path": "events.jsonl"}}
FUNCTION = {"function": {"name": "package.module:function"}}


def weighted(*components: tuple[float, object] | tuple[float, object, object]) -> dict[str, Any]:
    names = ("percent", "payload", "size")
    return {"weighted": [dict(zip(names, component, strict=False)) for component in components]}


@pytest.mark.parametrize(
    ("adapter", "written"),
    [
        *[(CONTENT, kind) for kind in KINDS],
        (CONTENT, {"constant": {"text": "abc"}}),
        (CONTENT, {"constant": {}}),
        (CONTENT, {"sequential": {"offset": 7}}),
        (CONTENT, {"random": {"padding": "1KiB"}}),
        (CONTENT, {"file": {"path": "a.csv", "column": "value"}}),
        (CONTENT, FUNCTION),
        (CONTENT, weighted((90, "json", 512), (9.5, FILE), (0.5, "tombstone", ROUGH))),
        (SIZES, 512),
        (SIZES, "1KiB"),
        (SIZES, ROUGH),
        (SIZES, {"gaussian": {"mean": 512, "deviation": 100, "hold": 10}}),
        (KEYS, "none"),
        (KEYS, "sequential"),
        (KEYS, {"constant": {"text": ""}}),
        (KEYS, {"uniform": {"keys": 1000}}),
        (KEYS, {"zipf": {"keys": 1000, "exponent": 1.1}}),
        (KEYS, {"zipf": {"keys": 1000, "exponent": 0}}),
        (KEYS, FILE),
        (PARTITION, "client"),
        (PARTITION, "round-robin"),
        (PARTITION, 0),
    ],
)
@pytest.mark.parametrize("exclude_none", [False, True])
def test_what_is_written_back_reads_the_same(adapter: TypeAdapter[Any], written: object, exclude_none: bool) -> None:
    """As plain values, and in another process; with what is left out, or without."""
    value = adapter.validate_python(written)

    assert adapter.validate_python(adapter.dump_python(value, mode="json", exclude_none=exclude_none)) == value
    assert pickle.loads(pickle.dumps(value)) == value
    assert hash(value) == hash(adapter.validate_python(written))


@pytest.mark.parametrize(
    ("adapter", "written", "where", "what"),
    [
        (SIZES, {"uniform": {"from": 10, "to": 5}}, "uniform", "from 10 to 5 falls; write the smaller size first"),
        (SIZES, {"uniform": {"from": 10}}, "uniform.to", "Field required"),
        (SIZES, {"uniform": {"from": 10, "to": "200MiB"}}, "uniform.to", "more than 100MiB; write a smaller size"),
        (SIZES, {"gaussian": {"mean": 5, "deviation": -1}}, "gaussian.deviation", "not a size"),
        (SIZES, {"gaussian": {"mean": 5, "deviation": 1, "hold": 0}}, "gaussian.hold", "greater than or equal to 1"),
        (SIZES, {}, "", "no key is given; write one of uniform, gaussian"),
        (SIZES, True, "", "not a size"),
        (CONTENT, "xml", "", "should be 'random', 'zeros'"),
        (CONTENT, {"xml": {}}, "xml", "not permitted"),
        (CONTENT, {"constant": {"text": ""}}, "constant.text", "at least 1 character"),
        (
            CONTENT,
            {"constant": {}, "random": {}},
            "",
            "2 keys instead of one; write one of constant, sequential, random",
        ),
        (CONTENT, {"sequential": {"offset": -1}}, "sequential.offset", "greater than or equal to 0"),
        (CONTENT, {"function": {"name": "module.function"}}, "function.name", "should match pattern"),
        (CONTENT, {"function": {"name": "os; x:f"}}, "function.name", "should match pattern"),
        (CONTENT, {"file": {"path": ""}}, "file.path", "at least 1 character"),
        (CONTENT, weighted((80, "text"), (10, "json")), "weighted", "percents add up to 90, not 100; change one"),
        (
            CONTENT,
            weighted((100.5, "text")),
            "weighted.0.percent",
            "not a percentage; write a number from 0.001 to 100",
        ),
        (CONTENT, weighted((True, "text"), (99, "json")), "weighted.0.percent", "not a percentage"),
        (CONTENT, {"weighted": [{"percent": "1", "payload": "text"}]}, "weighted.0.percent", "not a percentage"),
        (CONTENT, weighted(), "weighted", "percents add up to 0"),
        (CONTENT, weighted((100, weighted((100, "text")))), "weighted.0.payload.weighted", "not permitted"),
        (CONTENT, weighted((100, "text", ["x"])), "weighted.0.size", "not a size"),
        (KEYS, "zipf", "", "should be 'none' or 'sequential'"),
        (KEYS, {"uniform": {"keys": 0}}, "uniform.keys", "greater than or equal to 1"),
        (KEYS, {"zipf": {"keys": 10, "exponent": -1}}, "zipf.exponent", "greater than or equal to 0"),
        (KEYS, {"zipf": {"keys": 10, "exponent": float("nan")}}, "zipf.exponent", "finite number"),
        (KEYS, {"zipf": {"keys": 20_000_000, "exponent": 1}}, "zipf.keys", "less than or equal to 10000000"),
        (PARTITION, "rr", "", "not a partition; write client, round-robin, or the number of a partition"),
        (PARTITION, -1, "", "not a partition"),
        (PARTITION, True, "", "not a partition"),
        (PARTITION, [1], "", "not a partition"),
    ],
)
def test_what_is_wrong_is_said_where_it_is(adapter: TypeAdapter[Any], written: object, where: str, what: str) -> None:
    """Once, and with the remedy where pydantic knows none."""
    with pytest.raises(ValidationError) as caught:
        adapter.validate_python(written)

    (error,) = caught.value.errors()
    assert where == ".".join(str(step) for step in error["loc"] if not str(step).startswith(("(", "function-")))
    assert what in error["msg"]


@pytest.mark.parametrize(
    ("written", "law"),
    [
        (512, Uniform(512, 512)),
        (ROUGH, Uniform(100, 2048)),
        ({"gaussian": {"mean": 1000, "deviation": 100, "hold": 10}}, Gaussian(1000, 100, 200, 1800, 10)),
        ({"gaussian": {"mean": 100, "deviation": 100}}, Gaussian(100, 100, 0, 900)),
        ({"gaussian": {"mean": "99MiB", "deviation": "1MiB"}}, Gaussian(99 << 20, 1 << 20, 91 << 20, 100 << 20)),
    ],
)
def test_sizes_have_a_law(written: object, law: Law) -> None:
    """Gaussian ones are cut at 8 deviations, at 0 and at 100 MiB."""
    assert law == law_of(SIZES.validate_python(written))


@pytest.mark.parametrize(
    ("payload", "size", "headers", "largest", "mean"),
    [
        ("mixed", 512, False, 512, 512),
        ("sequential", 40, False, 40, 40),
        ("text", 39, True, 39, 39),
        ("text", SMALL, True, 2000, 1019.5),
        ("text", {"gaussian": {"mean": 512, "deviation": 50}}, False, 912, 512),
        ("text", {"gaussian": {"mean": 512, "deviation": 60}}, True, 992, 512),
        ("json", 512, True, 512, 512),
        ("tombstone", 512, True, 0, 0),
        (FILE, 512, True, 0, None),
        (FUNCTION, 512, True, 0, None),
        ({"random": {"padding": 10}}, 512, False, 512, 512),
        (weighted((50, "text"), (50, "zeros", 100)), 512, False, 512, 306),
        (weighted((50, "text"), (50, "zeros", 10)), 512, True, 512, 261),
        (weighted((90, "text"), (10, "json")), 512, True, 512, 512),
        (weighted((90, "text"), (10, "tombstone")), 512, True, 512, 460.8),
        (weighted((90, "text", 100), (10, FILE)), 512, True, 100, None),
        (weighted((100, "text", SMALL)), 512, True, 2000, 1019.5),
    ],
)
def test_what_follows_from_content_and_size(
    payload: object, size: object, headers: bool, largest: int, mean: float | None
) -> None:
    """Where the stamp travels, what a client must be able to send, and what it sends on average."""
    content, sizes = CONTENT.validate_python(payload), SIZES.validate_python(size)

    assert headers is needs_headers(content, sizes)
    assert largest == largest_bytes(content, sizes)
    assert (mean_bytes(content, sizes) == mean) if mean is None else np.isclose(mean_bytes(content, sizes) or 0, mean)


@pytest.mark.parametrize(
    ("payload", "size", "in_value", "expected"),
    [
        ("text", 39, True, "load.stamp: a value of 39 bytes has no room for a stamp of 40. Write `stamp: headers`"),
        ("text", 39, False, None),
        ("text", 40, True, None),
        ("text", SMALL, True, "load.stamp: a value of 39 bytes has no room"),
        ("json", 512, True, None),
        ("tombstone", 512, True, "load.stamp: a tombstone has no value to stamp. Write `stamp: headers`"),
        ("tombstone", 512, False, None),
        (FILE, 10, True, None),
        (weighted((90, "text"), (10, "tombstone")), 512, True, "load.stamp: a tombstone"),
        (weighted((90, "text"), (10, "text", 5)), 512, True, "load.stamp: a value of 5 bytes"),
        ({"random": {"padding": 512}}, 512, False, None),
        ({"random": {"padding": 513}}, 512, False, "load.payload: padding of 513 bytes is more than a value of 512."),
        (weighted((100, {"random": {"padding": 600}})), 512, False, "load.payload: padding of 600 bytes"),
    ],
)
def test_contradictions(payload: object, size: object, in_value: bool, expected: str | None) -> None:
    """Between content, size and the place of the stamp."""
    faults = content_faults(CONTENT.validate_python(payload), SIZES.validate_python(size), in_value=in_value)

    found = [str(fault) for fault in faults]
    assert len(found) == (expected is not None)
    assert not expected or found[0].startswith(expected)
