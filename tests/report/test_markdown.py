"""summary.md: the verdict first, the same figures as on the terminal, and nothing from outside that is obeyed."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pydantic import BaseModel
from tests.report.conftest import processing, transacting

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.assemble.result import assemble
from streamgauge.report.pages.markdown import escaped, to_markdown, write_markdown
from streamgauge.report.pages.terminal import summary

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Make = Callable[..., RunFolder]

TROUBLED = r"""## NOT VALID: baseline, interrupted

- Believe: rates; schedule delay; delivery
- Not: end-to-end latency; ack service; polls
- Because: 2 messages came too early

Checks: 1 passed, 2 failed, 1 warned.

|  | check | about | evidence | remedy |
| --- | --- | --- | --- | --- |
| **fail** | No negative latencies (clock) | instrument | 2 messages came too early | Run all workers on one host. |
| **fail** | No lost messages (lost) | system | 12 of 120,000 lost | See \`problems\`. |
| warn | Run finished (ending) | instrument | interrupted | The figures are valid. |

### Throughput

| stage | rate |  |
| --- | ---: | --- |
| target | - | the load has no target rate |
| sent | >= 10,000/s |  |
| acked | >= 10,000/s |  |
| received | >= 10,000/s |  |
| data | 5.12 MB/s |  |

### Latency, ms

| path | kind | p50 | p90 | p99 | p99.9 | max | mean |  |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |
| ack | response | - | - | - | - | - | - | the load has no schedule |
| ack | service | ~~3.00~~ | ~~4.50~~ | ~~6.00~~ | ~~7.50~~ | ~~18.0~~ | ~~2.00~~ |  |
| end-to-end | response | ~~3.00~~ | ~~4.50~~ | ~~> 6.00~~ | - | ~~18.0~~ | ~~2.00~~ | needs 10,000 samples, has 900 |
| end-to-end | service | ~~3.00~~ | ~~4.50~~ | ~~6.00~~ | ~~7.50~~ | ~~18.0~~ | ~~2.00~~ |  |

`>`: messages that never arrived count with their age at the end, so the figure may be higher.

### Delivery

|  | messages |
| --- | ---: |
| sent | 120,000 |
| acknowledged | 120,000 |
| delivered once | 119,988 |
| **lost** | 12 |
| reordered | 3 |

### Resources

|  | used |
| --- | --- |
| producers | 0.21 + 0.22 cores |
| consumers | 0.12 + 0.12 cores |
| broker | 0.44 cores |
| machine | 38 % idle, 0.12 % steal |
| garbage collection | 2 GC pauses, longest 2.50 ms |

### Expectations: 1 of 3 passed

| path | expected | found | passed |
| --- | --- | --- | --- |
| delivery.lost | 0 | 12 | **no** |
| latency.ack.response.p99\_ms | \<= 20 | the load has no schedule | **no** |
| delivery.sent | > 1 | 120,000 | yes |

### What was run

- Scenario: 2 producers, as fast as possible, 512 bytes -> 12 partitions -> 2 consumers
- Run: measured 10 s, Kafka 4.3.1, embedded broker
- Machine: Some CPU @&#8203; 3 GHz, 2 cores, 8.32 GB of memory, Linux 6.1 x86\_64
- Versions: python 3.11.7, numpy 2.4.0
- Command: streamgauge run baseline
- Folder: 20260101-120000-baseline, 2026-01-01 12:00:00 UTC
"""


def troubled(facts: Row, tables: Tables) -> None:
    facts["ending"] = "interrupted"
    facts["scenario"]["load"]["rate"] = "max"
    facts["scenario"]["expect"] = {"delivery.lost": 0, "latency.ack.response.p99_ms": "<= 20", "delivery.sent": "> 1"}
    facts["versions"]["numpy"] = "2.4.0"
    facts["machine"] |= {"processor": "Some CPU @ 3 GHz", "memory_bytes": 31 << 28}
    facts["machine"] |= {"system": "Linux", "release": "6.1", "architecture": "x86_64"}
    tables["delivery"][0].update(lost=12, delivered_once=119_988, reordered=3)
    measured = {row["metric"]: row for row in tables["latency"] if row["scope"] == "measure"}
    measured["end_to_end_response"].update(p99_censored=True, p99_hi_ms=None, p99_9_ms=None, count=900)
    nothing = {name: None for name in measured["ack_response"] if name.endswith("_ms")}
    measured["ack_response"].update(nothing, count=0, reason="the load has no schedule")
    tables["verdict"] = [
        check("ending", "warn", "interrupted", "The figures are valid."),
        check("clock", "fail", "2 messages came too early", "Run all workers on one host."),
        check("duration", "pass", "10 s", ""),
        check("lost", "fail", "12 of 120,000 lost", "See `problems`.", about="system"),
    ]


def check(name: str, status: str, evidence: str, advice: str, about: str = "instrument") -> Row:
    return {"name": name, "about": about, "status": status, "evidence": evidence, "advice": advice}


def test_a_summary_says_all_of_it(make: Make) -> None:
    """Verdict, checks with advice, every table, intervals, reasons for nulls, and what was run on what."""
    assert to_markdown(assemble(make(troubled, judged=False))) == TROUBLED


def test_a_healthy_run_has_no_troubles_to_list(make: Make) -> None:
    text = to_markdown(assemble(make()))

    assert re.match(r"## VALID: baseline, finished\n\nChecks: \d+ passed.\n\n### Throughput\n", text)
    assert "\nNone failed, lost, undelivered, duplicated, reordered or corrupt.\n" in text
    assert "**" not in text
    assert "`>`" not in text


def test_a_folder_that_was_never_analysed_is_told_too(make: Make) -> None:
    def bare(facts: Row, tables: Tables) -> None:
        tables.clear()
        facts.update(ending=None, machine={})
        facts["scenario"]["expect"] = {}

    text = to_markdown(assemble(make(bare, judged=False)))

    assert text.startswith("## NOT JUDGED: baseline, did not end\n\nChecks: none.\n")
    assert "| sent | - | the table throughput is missing |\n" in text
    assert "| poll | - | - | - | - | - | - |\n" in text
    assert "### Delivery\n\nNot known.\n\n### Resources\n\nNot known.\n\n### What was run\n" in text
    assert "Machine" not in text


def test_the_terminal_has_the_same_figures(make: Make) -> None:
    """Every figure of the summary's tables stands on the screen."""
    result = assemble(make(troubled, judged=False))
    screen = summary(result, colour=False, width=100)
    shown = to_markdown(result).partition("### Throughput")[2].partition("### Expect")[0]

    figures = re.findall(r"\d[\d,.]*\d", shown)
    assert len(figures) > 25
    assert [figure for figure in figures if figure not in screen] == []


def rendered(text: str) -> Any:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


@given(st.text(st.sampled_from("\\`*_[]()<>&|~$#!-+=.:;/\"' \n\r\tab1@") | st.characters(codec="utf-8")))
def test_a_text_means_only_itself(text: str) -> None:
    """In a cell of a table, a renderer gives back the very text, but for the white space and what disarms an @."""
    tokens = rendered(f"| head |\n| --- |\n| x{escaped(text)}x |\n")

    (cell,) = (token for token in tokens if token.type == "inline" and token.content != "head")
    kinds = {child.type for child in cell.children}
    assert kinds <= {"text", "text_special"}
    shown = "".join(child.content for child in cell.children).replace("@\u200b", "@")
    assert shown == f"x{' '.join(text.replace(chr(0), chr(0xFFFD)).split())}x"


EVIL = "a|b `c` **d** <script>e</script>\n\n# f\n| g | [h](http://i) &lt; @j"


@pytest.fixture
def structure(make: Make) -> Callable[[str], list[str]]:
    """What a summary is made of when everything that comes from outside is one and the same word."""
    result = assemble(make(troubled, judged=False))

    def of(word: str) -> list[str]:
        tokens = rendered(to_markdown(_everywhere(result, word)))
        inline = (child.type for token in tokens for child in token.children or ())
        return [token.type for token in tokens] + [kind for kind in inline if not kind.startswith("text")]

    return of


def _everywhere(part: Any, word: str) -> Any:
    """The result with the word in place of every text; the statuses alone are looked at, never shown."""
    if isinstance(part, BaseModel):
        texts = {name: value if name == "status" else _everywhere(value, word) for name, value in part}
        return type(part).model_construct(part.model_fields_set, **texts)
    if isinstance(part, dict):
        return {key: _everywhere(value, word) for key, value in part.items()}
    if isinstance(part, list):
        return [_everywhere(each, word) for each in part]
    return word if isinstance(part, str) else part


def test_nothing_from_outside_is_obeyed(structure: Callable[[str], list[str]]) -> None:
    """Whatever names, reasons, versions and checks say, headings, tables and lists are what they are anyway."""
    assert structure(EVIL) == structure("tame")


def test_it_is_written_whole(make: Make) -> None:
    folder = make()
    result = assemble(folder)

    assert write_markdown(folder, result) == folder.summary
    assert folder.summary.read_text(encoding="utf-8") == to_markdown(result)
    folder.summary.unlink()
    folder.summary.mkdir()
    with pytest.raises(AnalysisError, match=r"summary.md cannot be written: "):
        write_markdown(folder, result)
    assert not (folder.root / "_summary.md").exists()


def test_what_few_runs_have_is_one_line_each(make: Make) -> None:
    """And nothing where there is none of it."""
    text = to_markdown(assemble(make(transacting, processing)))

    assert "- Transactions: 900 committed, 100 aborted, 90.0/s of 100 messages" in text
    assert "- Processing: 4,000 in 3.02 ms each (target 3.00 ms), 7 not processed" in text
    assert "- Transactions" not in to_markdown(assemble(make()))
