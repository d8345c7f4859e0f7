"""Colours of concepts: readable on white and on black, and told apart whoever looks at them."""

import itertools
import math

import pytest

from streamgauge.report.figures.drawing.theme import COLORS, PALETTE, color_of, file_config, page_config

Rgb = tuple[float, float, float]

TOGETHER = [
    ("target", "sent", "acked", "received"),
    ("offered", "admitted", "processed"),
    ("p50", "p99", "max"),
    ("p50", "p95", "p99", "p99.9"),
    ("mean", "p50", "p99"),
    ("end-to-end", "ack", "sent"),
    ("sent", "received", "p99"),
    ("committed lag", "position lag", "outstanding", "limit"),
    ("credits used", "outstanding", "limit"),
    ("due and not sent", "outstanding"),
    ("broker", "producers", "consumers", "query", "sampler, controller", "other processes", "steal"),
    ("producers", "consumers", "broker", "query", "sampler, controller", "machine"),
    ("failed", "retried"),
]
"""Concepts that appear in one figure."""
READABLE = 3.0
"""WCAG 2.2, 1.4.11: the contrast of graphics with what is beside them."""
APART = 10.0
"""CIEDE2000: a difference that is seen at a glance begins at about ten."""
SEEN = {
    "all cones": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900),
    ),
}  # fmt: skip
"""What people see of linear RGB: matrices of Machado, Oliveira and Fernandes, "A Physiologically-based Model for
Simulation of Color Vision Deficiency" (2009), severity 1.0.
"""


def linear(color: str) -> Rgb:
    """Linear RGB of `#rrggbb`."""
    red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return _linear(red), _linear(green), _linear(blue)


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def luminance(color: str) -> float:
    red, green, blue = linear(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def lab(color: str, seen: tuple[Rgb, Rgb, Rgb]) -> Rgb:
    """CIELAB (D65) of what is seen of a color."""
    rgb = linear(color)
    red, green, blue = (min(1.0, max(0.0, sum(a * b for a, b in zip(row, rgb, strict=True)))) for row in seen)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883
    fx, fy, fz = ((part ** (1 / 3)) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116 for part in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def ciede2000(one: Rgb, other: Rgb) -> float:
    """Sharma, Wu and Dalal, "The CIEDE2000 Color-Difference Formula" (2005)."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    chroma = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 1 + 0.5 * (1 - math.sqrt(chroma**7 / (chroma**7 + 25**7)))
    c1, c2 = math.hypot(g * a1, b1), math.hypot(g * a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, g * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = ((h2 - h1 + 180) % 360) - 180 if c1 * c2 else 0.0
    dl, dc, dh = l2 - l1, c2 - c1, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    c, hue, light = (c1 + c2) / 2, (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2, ((l1 + l2) / 2 - 50) ** 2
    t = 1 - 0.17 * _cos(hue - 30) + 0.24 * _cos(2 * hue) + 0.32 * _cos(3 * hue + 6) - 0.2 * _cos(4 * hue - 63)
    sl, sc, sh = 1 + 0.015 * light / math.sqrt(20 + light), 1 + 0.045 * c, 1 + 0.015 * c * t
    rotation = -2 * math.sqrt(c**7 / (c**7 + 25**7)) * math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    return math.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rotation * dc / sc * dh / sh)


def _cos(degrees: float) -> float:
    return math.cos(math.radians(degrees))


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.49, -0.001), (50.0, -2.49, 0.0009), 7.1792),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_difference_of_colours_is_that_of_the_published_pairs(one: Rgb, other: Rgb, difference: float) -> None:
    """Of the test data of Sharma, Wu and Dalal."""
    assert round(ciede2000(one, other), 4) == difference


@pytest.mark.parametrize("name", COLORS)
def test_every_colour_is_readable_on_white_and_on_black(name: str) -> None:
    """And on the page in dark mode: neither it nor print needs a second drawing."""
    light = luminance(COLORS[name])
    assert 1.05 / (light + 0.05) >= READABLE
    for dark in ("#000000", "#14171b"):
        assert (light + 0.05) / (luminance(dark) + 0.05) >= READABLE, dark


@pytest.mark.parametrize("concepts", TOGETHER, ids=" ".join)
@pytest.mark.parametrize("seen", SEEN)
def test_concepts_of_one_figure_are_told_apart(concepts: tuple[str, ...], seen: str) -> None:
    """By everybody."""
    for one, other in itertools.combinations(concepts, 2):
        apart = ciede2000(lab(color_of(one), SEEN[seen]), lab(color_of(other), SEEN[seen]))
        assert apart >= APART, (one, other)


@pytest.mark.parametrize("seen", SEEN)
def test_colours_of_runs_that_are_compared_are_told_apart(seen: str) -> None:
    """As many as the palette has."""
    for one, other in itertools.combinations(PALETTE, 2):
        assert ciede2000(lab(one, SEEN[seen]), lab(other, SEEN[seen])) >= APART, (one, other)


def test_text_is_large_enough() -> None:
    """On the page and in files."""
    for config in (page_config(), file_config()):
        for part in ("axis", "legend", "header"):
            assert config[part]["labelFontSize"] >= 12
            assert config[part]["titleFontSize"] >= 12
        assert config["text"]["fontSize"] >= 12
