"""Ours beside Trogdor's own code: the bytes of its generators, its specifications, its histogram."""

import base64
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from tests.foreign.specs.samples import CONFIGURABLE, WORKLOAD, comes_to
from tests.foreign.trogdor.its_own import TASK, Trogdor

from streamgauge.report.exports.trogdor import MillisecondBins, WholeMilliseconds, summary
from streamgauge.scenario import parse
from streamgauge.workload.payload.build import keys_of
from streamgauge.workload.payload.described import Described
from streamgauge.workload.payload.trogdor import TIME_BYTES, PlainGenerator, bodies

pytestmark = pytest.mark.kafka

GIVEN = Path(__file__).parents[1] / "specs" / "given"
SEEDS = st.integers(-(1 << 63), (1 << 63) - 1)
SIZES = st.integers(0, 300)
SHARED_JVM = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def plain(generator: Mapping[str, Any]) -> PlainGenerator:
    """What a generator of a specification comes to here, as that of keys."""
    document = comes_to({**CONFIGURABLE, "keyGenerator": dict(generator)}).document
    load = parse({"name": "ours", **document}).load
    assert load is not None
    content = keys_of(load.keys)
    assert isinstance(content, Described)
    made: PlainGenerator = content.options["generator"]
    return made


def ours(generator: Mapping[str, Any], count: int) -> list[bytes | None]:
    return bodies(plain(generator), np.arange(count))


UNTIMED = st.one_of(
    st.fixed_dictionaries({
        "type": st.just("constant"), "size": SIZES,
        "value": st.binary(min_size=1, max_size=9).map(lambda value: base64.b64encode(value).decode()),
    }),
    st.fixed_dictionaries({"type": st.just("sequential"), "size": SIZES, "offset": st.integers(0, 1 << 40)}),
    st.fixed_dictionaries({"type": st.just("uniformRandom"), "size": SIZES, "seed": SEEDS, "padding": st.just(0)}),
    st.builds(
        lambda size, seed, padding: {
            "type": "uniformRandom", "size": size, "seed": seed, "padding": min(size, padding),
        },
        SIZES, SEEDS, SIZES,
    ),
)  # fmt: skip


@st.composite
def components(draw: st.DrawFn) -> dict[str, Any]:
    ends = sorted({*draw(st.lists(st.integers(1, 99), max_size=4)), 100})
    percents = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
    parts = [{"percent": percent, "component": draw(UNTIMED | st.just({"type": "null"}))} for percent in percents]
    return {"type": "randomComponent", "seed": draw(SEEDS), "components": parts}


@SHARED_JVM
@given(generator=UNTIMED | components())
def test_bytes_are_those_that_its_generators_make(generator: dict[str, Any], trogdor: Trogdor) -> None:
    assert ours(generator, 20) == trogdor.generated(generator, 20)


TIMED = st.one_of(
    st.fixed_dictionaries({"type": st.just("timestampConstant"), "size": st.integers(8, 300)}),
    st.fixed_dictionaries({"type": st.just("timestampRandom"), "size": st.integers(8, 300), "seed": SEEDS}),
    st.fixed_dictionaries({
        "type": st.sampled_from(["gaussianTimestampRandom", "gaussianTimestampConstant"]),
        "messageSizeAverage": st.integers(8, 300), "messageSizeDeviation": st.integers(0, 60),
        "messagesUntilSizeChange": st.integers(1, 7), "seed": SEEDS,
    }),
)  # fmt: skip


@SHARED_JVM
@given(generator=TIMED)
def test_behind_their_time_bytes_are_those_that_its_generators_make(
    generator: dict[str, Any], trogdor: Trogdor
) -> None:
    """The time is that of each; sizes at random are the same, message by message."""
    here, there = ours(generator, 20), trogdor.generated(generator, 20)

    assert [len(body or b"") for body in here] == [len(body or b"") for body in there]
    assert [(body or b"")[TIME_BYTES:] for body in here] == [(body or b"")[TIME_BYTES:] for body in there]


OLD = GIVEN / "trogdor-configurable-old.json"
"""In the form of pull request 9736."""


def spec_of(path: Path) -> dict[str, Any]:
    """The specification of a file: of a request that makes a task, the task's; a class has its whole name there."""
    document = json.loads(re.sub(r"//.*", "", path.read_text()))
    spec: dict[str, Any] = document.get("spec", document)
    return spec if "." in spec["class"] else {**spec, "class": f"{WORKLOAD}{spec['class']}"}


@pytest.mark.parametrize("path", sorted({*GIVEN.glob("trogdor-*.json")} - {OLD}), ids=lambda path: path.stem)
def test_it_reads_the_specifications_that_we_read(path: Path, trogdor: Trogdor) -> None:
    spec = spec_of(path)

    assert trogdor.written(trogdor.read(spec, TASK))["class"] == spec["class"]


def test_the_form_of_a_pull_request_is_read_here_alone(trogdor: Trogdor) -> None:
    """Its trunk has never had it."""
    with pytest.raises(Py4JJavaError, match="messagesPerSecond"):
        trogdor.read(spec_of(OLD), TASK)
    assert comes_to(spec_of(OLD)).document["load"]


@SHARED_JVM
@given(values=st.lists(st.integers(0, 400), max_size=60), most=st.integers(1, 300))
def test_its_histogram_summarizes_as_ours(values: list[int], most: int, trogdor: Trogdor) -> None:
    theirs = trogdor.percentiles(values, most, (0.5, 0.95, 0.99))
    counts = np.ones(len(values), np.int64)
    found = summary(WholeMilliseconds(np.array(values, np.int64), counts), MillisecondBins(0, most, 1))

    assert theirs == [found[name] for name in ("p50LatencyMs", "p95LatencyMs", "p99LatencyMs")]
