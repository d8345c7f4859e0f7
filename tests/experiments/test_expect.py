"""Expectations of experiments: which variants and figures a text names."""

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.experiments.expect import ExpectedOfVariant, expected
from streamgauge.experiments.variants import PlannedVariant
from streamgauge.scenario.model.expectations import Bound

PATH = "throughput.acked_per_second"
CODECS = [
    PlannedVariant(f"compression.type={name}", {"load.client.compression.type": name}) for name in ("none", "zstd")
]
GRID = [PlannedVariant("a", {"x": 1, "y": 1}), PlannedVariant("a.b", {"x": 1, "y": 2})]


@pytest.mark.parametrize(
    ("text", "variants", "expects"),
    [
        (f"variants.zstd.{PATH} >= 5e3", CODECS, (1, Bound(">=", 5000.0), None)),
        (f"variants.compression.type=zstd.{PATH}<20", CODECS, (1, Bound("<", 20.0), None)),
        (f"variants.zstd.{PATH} >= 0.9 * variants.none.{PATH}", CODECS, (1, Bound(">=", 0.9), 0)),
        (f"variants.none.{PATH} < variants.zstd.{PATH} ", CODECS, (0, Bound("<", 1.0), 1)),
        (f"variants.a.b.{PATH} <= 1", GRID, (1, Bound("<=", 1.0), None)),
        (f"variants.a.{PATH} <= 1", GRID, (0, Bound("<=", 1.0), None)),
    ],
)
def test_a_text_names_variants_by_their_names_or_values(
    text: str, variants: list[PlannedVariant], expects: tuple[int, Bound, int | None]
) -> None:
    assert expected([text], variants) == [ExpectedOfVariant(text, PATH, *expects)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("delivery.lost <= 0", "not an expectation of a variant"),
        (f"variants.lz4.{PATH} <= 1", "there is no such variant. Known: compression.type=none, compression.type=zstd"),
        ("variants.zstd <= 1", "there is no such variant"),
        (f"variants.zstd.{PATH} == 1", "not an expectation of a variant"),
        (f"variants.zstd.{PATH} <= much", "not an expectation of a variant"),
        (f"variants.zstd.{PATH} <= 2 * variants.lz4.{PATH}", "there is no such variant"),
        (f"variants.zstd.{PATH} <= 2 * variants.none.delivery.lost", "compares different figures"),
    ],
)
def test_what_names_nothing_is_told(text: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        expected([f"variants.none.{PATH} > 0", text], CODECS)
    (fault,) = caught.value.faults
    assert str(fault).startswith("expect.1: ")
    assert says in str(fault)
