"""Trogdor's generators in the language of scenarios: what each takes, what follows, and what is refused."""

import pickle
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from streamgauge.domain.errors import BadInput
from streamgauge.scenario import parse
from streamgauge.scenario.model.content import Content, Keys, content_faults, largest_bytes, mean_bytes, needs_headers
from streamgauge.workload.payload.build import content_of, keys_of
from streamgauge.workload.payload.described import Described
from streamgauge.workload.payload.trogdor import PlainGenerator

CONTENT: TypeAdapter[Content] = TypeAdapter(Content)
KEYS: TypeAdapter[Keys] = TypeAdapter(Keys)
MIXED = {
    "type": "randomComponent",
    "seed": 3,
    "components": [
        {"percent": 75, "component": {"type": "uniformRandom", "size": 100, "padding": 10}},
        {"percent": 25, "component": {"type": "gaussianTimestampConstant", "mean": 40, "deviation": 1.5}},
    ],
}
GENERATORS: list[tuple[dict[str, Any], PlainGenerator, float, int]] = [
    ({"type": "null"}, PlainGenerator("null"), 0, 0),
    ({"type": "constant", "size": 3, "value": "/w=="}, PlainGenerator("constant", 3, b"\xff"), 3, 3),
    ({"type": "sequential", "size": 4, "offset": 2}, PlainGenerator("sequential", 4, offset=2), 4, 4),
    (
        {"type": "timestampRandom", "size": "1KiB", "seed": -5},
        PlainGenerator("timestampRandom", 1024, seed=-5),
        1024,
        1024,
    ),
    (
        {"type": "gaussianTimestampRandom", "mean": 100, "deviation": 10, "hold": 0},
        PlainGenerator("gaussianTimestampRandom", mean=100, deviation=10.0),
        100,
        180,
    ),
    (
        MIXED,
        PlainGenerator(
            "randomComponent",
            seed=3,
            components=(
                (75, PlainGenerator("uniformRandom", 100, padding=10)),
                (25, PlainGenerator("gaussianTimestampConstant", mean=40, deviation=1.5)),
            ),
        ),
        85,
        100,
    ),
]


@pytest.mark.parametrize(("written", "plain", "mean", "most"), GENERATORS)
def test_generators(written: dict[str, Any], plain: PlainGenerator, mean: float, most: int) -> None:
    """What is written parses back; workers are given plain values."""
    content = CONTENT.validate_python({"trogdor": written})

    assert CONTENT.validate_python(CONTENT.dump_python(content, mode="json", exclude_none=True)) == content
    made = content_of(content)
    assert made == Described("trogdor", {"generator": plain})
    assert pickle.loads(pickle.dumps(made)) == made
    assert keys_of(KEYS.validate_python({"trogdor": written})) == made
    assert (mean_bytes(content, 512), largest_bytes(content, 512)) == (mean, most)
    assert needs_headers(content, 512)
    assert [fault.where for fault in content_faults(content, 512, in_value=True)] == ["load.stamp"]
    assert not list(content_faults(content, 1, in_value=False))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"size": 5}, "type"),
        ({"type": "gauss", "size": 5}, "type"),
        ({"type": "constant"}, "constant needs a size"),
        ({"type": "constant", "size": 5, "seed": 1}, "constant has no seed"),
        ({"type": "constant", "size": 5, "value": "%"}, "not bytes in base64"),
        ({"type": "null", "size": 5}, "null has no size"),
        ({"type": "sequential", "size": 5, "offset": -1}, "offset"),
        ({"type": "uniformRandom", "size": 5, "padding": 6}, "padding of 6 bytes is more than 5"),
        ({"type": "uniformRandom", "size": 5, "seed": 1 << 63}, "seed"),
        ({"type": "timestampRandom", "size": 7}, "no room for a time of 8"),
        ({"type": "gaussianTimestampRandom", "deviation": 1}, "needs a mean"),
        ({"type": "gaussianTimestampRandom", "mean": 9, "deviation": float("inf")}, "deviation"),
        ({"type": "randomComponent"}, "only randomComponent has components"),
        ({"type": "null", "components": MIXED["components"]}, "null has no components"),
        ({"type": "randomComponent", "components": []}, "components"),
        ({"type": "randomComponent", "components": [{"percent": 99, "component": {"type": "null"}}]}, "add up to 99"),
        ({"type": "randomComponent", "components": [{"percent": 100, "component": MIXED}]}, "component"),
    ],
)
def test_wrong_generators(written: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        CONTENT.validate_python({"trogdor": written})


def test_times_in_values_are_those_of_others() -> None:
    """A run that sends stamps its messages."""
    parse({"name": "a", "load": "off", "consume": {"sent_time": "value"}})

    with pytest.raises(BadInput, match=r"consume\.sent_time: value: messages of the run's own load"):
        parse({"name": "a", "consume": {"sent_time": "value"}})
