"""A comparison as a LaTeX table: a golden file, what is bold, and that nothing from outside means anything in it.

No LaTeX engine is needed: what LaTeX would stumble over is looked for.
"""

import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import without

from streamgauge.report.compare import Together
from streamgauge.report.compare.answers import METRICS, together_of
from streamgauge.report.compare.latex import comparison_latex, escaped_latex, shown_best
from streamgauge.report.compare.variants import Alike
from streamgauge.result.reading import result_of

GOLDEN = Path(__file__).parents[1] / "data" / "comparison.tex"
P99, RATE = "latency.end_to_end.response.p99_ms", "throughput.received_per_second"
NOISE = (1.0, 1.02, 0.99, 1.01, 0.98, 1.03)
EVIL = r"\input{x} 50% & {a_b} $x^2$ #1 ~ <|> [*] -- \end{table}"
Compared = Callable[..., Together]


@pytest.fixture
def compared(healthy_result: dict[str, Any]) -> Compared:
    """Variants of these names with so many times 10 ms at p99 and 1,000 messages a second, in paired rounds."""

    def make(names: Sequence[str], factors: Sequence[float], rounds: int = 6, spoilt: int = 0) -> Together:
        found = []
        for number, (name, by) in enumerate(zip(names, factors, strict=True)):
            runs = []
            for place in range(rounds):
                document = deepcopy(healthy_result)
                known, shaken = document["trust"][P99], by * NOISE[(place + number) % len(NOISE)]
                trust = "not_believed" if place < spoilt else "believed"
                document["run"]["id"] = f"{name}-{place}"
                without(document, *(each.path for each in METRICS if "garbage" not in each.path))
                document["resources"]["garbage_collection"] = None
                document["trust"] = {
                    path: known | {"value": value, "low": value, "high": value, "trust": trust}
                    for path, value in ((P99, 10 * shaken), (RATE, 1_000 * shaken))
                }
                runs.append(result_of(document))
            found.append(Alike(name, tuple(runs), tuple(range(1, rounds + 1))))
        return together_of(found, None, "interleaved", varied=["load.size"])

    return make


def test_it_is_the_golden_one(compared: Compared) -> None:
    """Made by hand once. The first is shown to have the best latency, the last the best rate."""
    found = compared(["none", "lz4_fast", "50% & more"], [1.0, 1.2, 1.5])
    assert comparison_latex(found, "codecs") == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("factors", "rounds", "latency", "rate"),
    [
        pytest.param([1.0, 1.2, 1.5], 6, 0, 2, id="one is better than all others"),
        pytest.param([1.5, 1.2, 1.0], 6, 2, 0, id="wherever it stands"),
        pytest.param([1.0, 1.005, 1.5], 6, None, 2, id="two may be the same"),
        pytest.param([1.0, 1.2, 1.5], 4, None, None, id="too few rounds show nothing"),
        pytest.param([1.0], 6, None, None, id="one alone is no best"),
    ],
)
def test_bold_is_what_is_shown(
    compared: Compared, factors: list[float], rounds: int, latency: int | None, rate: int | None
) -> None:
    found = compared([f"v{place}" for place in range(len(factors))], factors, rounds)
    assert {each.metric.path: shown_best(found, each) for each in found.answers} == {P99: latency, RATE: rate}
    bold = re.findall(r"\\textbf", comparison_latex(found, "x"))
    assert len(bold) == sum(each is not None for each in (latency, rate))


def test_few_runs_have_a_range_and_those_left_out_are_told(compared: Compared) -> None:
    text = comparison_latex(compared(["a", "b"], [1.0, 2.0], rounds=3, spoilt=1), "x")
    assert "& 10.1 {[}9.90--10.2], 1 left out & " in text


def test_nothing_is_best_where_nobody_knows_what_is_better(compared: Compared) -> None:
    """A poll is long where a consumer is slow, and where it waits for messages."""
    path = "latency.poll.p99_ms"
    variants = [
        replace(each, runs=tuple(run.model_copy(update={"trust": {path: run.trust[P99]}}) for run in each.runs))
        for each in compared(["a", "b"], [1.0, 1.5]).variants
    ]
    found = together_of(variants, path, "interleaved")
    assert found.primary is not None
    assert found.primary.comparisons[0].verdict == "higher"
    assert shown_best(found, found.primary) is None


def test_the_caption_tells_the_level(compared: Compared) -> None:
    text = comparison_latex(replace(compared(["a", "b"], [1.0, 1.2]), level=0.025), "x")
    assert "with its 97.5 \\% interval" in text
    assert "at a confidence of 97.5 \\%" in text


def test_of_many_variants_each_is_a_row(compared: Compared) -> None:
    text = comparison_latex(compared([f"v{place}" for place in range(9)], [1.0 + place for place in range(9)]), "x")
    assert "\\begin{tabular}{lrrr}" in text
    assert [line.split(" & ")[0].strip() for line in text.splitlines() if " & " in line][1:] == [
        f"v{place}" for place in range(9)
    ]


@pytest.mark.parametrize("count", [1, 3, 5])
def test_what_comes_from_outside_means_nothing(compared: Compared, count: int) -> None:
    names = [f"{EVIL}\n{place}" for place in range(count)]
    text = comparison_latex(compared(names, [1.0 + place for place in range(count)]), EVIL)
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert re.findall(r"\\(begin|end)\{(\w+)\}", "\n".join(body)) == [
        ("begin", "table"), ("begin", "tabular"), ("end", "tabular"), ("end", "table"),
    ]  # fmt: skip
    bare = [re.sub(r"\\[&%$#_{}]", "", line) for line in body]
    assert not re.search(r"[%$#~^<>|]", "".join(bare).replace("tab:", ""))
    assert "".join(bare).count("{") == "".join(bare).count("}")
    columns = len(re.findall(r"[lr]", re.findall(r"tabular\}\{([lr]+)\}", text)[0]))
    rows = [line for line in bare if line.endswith(r" \\")]
    assert {line.count("&") for line in rows} == {columns - 1}
    assert not any(re.match(r"\s*[*\[]", line) for line in rows)
    assert re.findall(r"\\label\{(.*)\}", text) == ["tab:-input-x-50-a-b-x-2-1----end-table-"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_b & 5%", r"a\_b \& 5\%"),
        ("\\", r"\textbackslash{}"),
        ("--", "-{}-"),
        ("---", "-{}-{}-"),
        ("[x] *", "{[}x] {*}"),
        ("a\nb", "a?b"),
    ],
)
def test_signs_stand_for_themselves(text: str, expected: str) -> None:
    assert escaped_latex(text) == expected
