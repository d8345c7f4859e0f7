"""The page of a comparison: what it says, what it draws, and that nothing from outside means anything in it."""

import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from streamgauge.report.compare import Together
from streamgauge.report.compare.answers import together_of
from streamgauge.report.compare.figures import MOST_VARIANTS, comparison_figures, ratios_by_percentile, run_values
from streamgauge.report.compare.html import comparison_html
from streamgauge.report.compare.variants import Alike
from streamgauge.result.reading import result_of

P99 = "latency.end_to_end.response.p99_ms"
EVIL = "</script><script>window.evil = 1</script><img src=x onerror='window.evil = 2'>"
Compared = Callable[..., Together]


@pytest.fixture
def compared(healthy_result: dict[str, Any]) -> Compared:
    """A comparison of so many variants of so many rounds, each twice as slow as the one before."""

    def make(variants: int = 2, rounds: int = 6, names: str = "v", spoilt: int = 0) -> Together:
        found = []
        for number in range(variants):
            runs = []
            for place in range(rounds):
                document = deepcopy(healthy_result)
                document["run"] |= {"id": f"run-{number}-{place}", "created": f"2026-01-01T00:00:{place:02}Z"}
                document["run"]["scenario"]["load"]["size"] = 64 << number
                value = 10.0 * 2**number * (1 + 0.01 * (place * 3 % 5))
                trust = "not_believed" if place < spoilt else "believed"
                document["trust"][P99] |= {"value": value, "low": value, "high": value, "trust": trust}
                runs.append(result_of(document))
            found.append(Alike(f"{names}{number}", tuple(runs), tuple(range(1, rounds + 1))))
        return together_of(found, None, "interleaved", varied=["load.size"])

    return make


def test_every_run_is_a_point_and_those_left_out_are_pale(compared: Compared) -> None:
    rows = run_values(compared(spoilt=1)).data["runs"]
    assert [row["run"] for row in rows if row["state"] == "left out"] == ["run-0-0", "run-1-0"]
    assert len(rows) == 12
    medians = {row["series"]: row["median"] for row in run_values(compared()).data["runs_median"]}
    assert medians == {"v0": 10.15, "v1": 20.3}


def test_each_percentile_has_its_ratio_and_interval(compared: Compared) -> None:
    rows = {row["percentile"]: row for row in ratios_by_percentile(compared()).data["ratios"]}
    assert rows["p99"]["ratio"] == pytest.approx(2.0)
    assert rows["p50"]["ratio"] == pytest.approx(1.0)
    assert list(rows) == ["p50", "p90", "p99", "p99.9", "max"]
    assert all(row["low"] <= row["ratio"] <= row["high"] for row in rows.values())


def test_of_many_variants_the_first_are_drawn_and_all_are_listed(compared: Compared) -> None:
    found = compared(MOST_VARIANTS + 1, 1)
    assert len({row["series"] for row in run_values(found).data["runs"]}) == MOST_VARIANTS
    assert f"The first {MOST_VARIANTS} of {MOST_VARIANTS + 1} variants" in run_values(found).about
    page = comparison_html(found, "many")
    assert all(f"v{number} (1 run)" in page for number in range(MOST_VARIANTS + 1))


def test_a_variant_without_a_usable_run_is_still_shown(compared: Compared) -> None:
    figures = comparison_figures(compared(rounds=2, spoilt=2))
    assert {"runs", "tails", "cdfs"} <= {each.name for each in figures if each.missing is None}


def test_the_page_says_what_was_found(compared: Compared) -> None:
    found = compared()
    page = comparison_html(found, "sizes", ["an expectation: holds"])
    assert found.primary is not None
    for text in (*found.primary.sentences, "an expectation: holds", "2 variants, 12 runs", "run-1-5", "load.size"):
        assert text in page


def test_what_differs_stands_before_the_figures(compared: Compared) -> None:
    """Who reads of a difference should know by then what may have made it."""
    page = comparison_html(compared(), "sizes")
    places = [page.index(f'<section id="{name}">') for name in ("differences", "summary", "overview", "runs-list")]
    assert places == sorted(places)
    links = [page.index(f'href="#{name}">') for name in ("verdict", "differences", "summary", "overview")]
    assert links == sorted(links)


def test_the_page_has_the_intervals_of_all_figures(compared: Compared) -> None:
    """Of the one that decides below the medians, those of others folded; none where there are none."""
    page = comparison_html(compared(), "sizes")
    [below] = re.findall(r"<section id=.summary.>.*?</section>", page, re.DOTALL)
    assert below.index("10.1 (10.0 to 10.4)") < below.index("95 % of the mean") < below.index("10.0 to 10.4<")
    assert "<summary>" not in below
    other = together_of(compared().variants, "latency.end_to_end.response.p50_ms", "interleaved")
    page = comparison_html(other, "sizes")
    assert page.index("<summary>Intervals of the other figures") < page.index("95 % of the mean")
    assert "of the mean" not in comparison_html(compared(rounds=1), "sizes")


def test_a_single_variant_has_a_page(compared: Compared) -> None:
    assert "1 variants, 3 runs" in comparison_html(compared(1, 3), "alone")


def test_what_comes_from_outside_is_text(compared: Compared) -> None:
    page = comparison_html(compared(names=EVIL), EVIL, [EVIL])
    assert "<img src=x" not in page
    assert "<script>window.evil" not in page


@pytest.mark.e2e
def test_a_browser_draws_every_figure_and_asks_nobody(
    compared: Compared, tmp_path: Path, see: Callable[..., Any]
) -> None:
    path = tmp_path / "comparison.html"
    path.write_text(comparison_html(compared(3, 6, EVIL), "sizes"), encoding="utf-8")
    for width in (1100, 390):
        seen = see(path, width=width)
        assert seen.complaints == []
        assert seen.requests == [path.as_uri()]
        assert seen.ask("document.documentElement.dataset.figures") == "drawn"
        assert seen.ask("window.evil") is None
        assert seen.ask("document.documentElement.scrollWidth") <= width
        drawn = seen.ask("[...document.querySelectorAll('[data-figure]')].map(each => each.dataset.figure)")
        assert {"runs", "tails", "ratios", "cdfs", "sizes"} <= set(drawn)
