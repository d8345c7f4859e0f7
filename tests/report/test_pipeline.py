"""What people read of a pipeline: on the screen, in summary.md, in the report and its figures; and result.json."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.report.conftest import credited, faulty, scored, stepping, told
from tests.report.test_html import Page, report
from tests.report.test_redeliveries import redelivered

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.tables.query import QUERY_TABLES
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.pipeline.stream.stages import STAGES, WHOLE
from streamgauge.report.assemble.result import assemble
from streamgauge.report.figures.catalogue import figures
from streamgauge.report.figures.pipeline import MOST_BATCHES, thinned
from streamgauge.report.pages import html, pipeline, pressure
from streamgauge.report.pages.belief import Doubted
from streamgauge.report.pages.html import to_html
from streamgauge.report.pages.markdown import to_markdown
from streamgauge.report.pages.terminal import summary
from streamgauge.result import Result
from streamgauge.result.model.pressure import GroupLags, LagFigures, LagSection, RecoveryScore
from streamgauge.result.schema import json_schema

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Make = Callable[..., RunFolder]
EVIL = "</td><script>alert(1)</script>{{7*7}}"


def blank(table: str, **known: Any) -> Row:
    return {**dict.fromkeys(TABLES[table].names), **known}


def stage(name: str, begin: str | None, end: str, mean: float | None, **more: Any) -> Row:
    lagging = {} if mean is None else {f"{each}_ms": mean for each in ("mean", "min", "p50", "p90", "p99", "max")}
    return (
        blank("waterfall", stage=name, to=end, count=1000, share=0.2, error_ms=1.0, **{"from": begin}, **lagging) | more
    )


def ends(name: str, value: float, error: float) -> Row:
    """A stage whose figures may all be off by so much."""
    lagging = ("mean", "min", "p50", "p90", "p99", "max")
    low = {f"{each}_ms": value - error for each in lagging}
    return blank("bounds", metric=name, known=True, **low, **{f"{each}_high_ms": value + error for each in lagging})


def piped(facts: Row, tables: Tables) -> None:
    """Spark passes messages on in micro-batches; its driver died once and was back after 6 s."""
    facts["scenario"]["pipeline"] = {"job": {"pass": {}}, "engine": {"micro-batch": {}}}
    facts["topics"].append({"id": 1, "name": "streamgauge-baseline-out", "partitions": 12})
    facts["groups"].append({"id": 1, "name": "g-query"})
    tables["pipeline"] = [
        blank(
            "pipeline", job="pass", does="same", engine="micro-batch", sink="topic", starts=2, deaths=1, down_s=6.0,
            batches=80, batch_rows_mean=125.0, batch_rows_max=300, batch_p50_ms=120.0, batch_p99_ms=400.0,
            batch_max_ms=800.0, duplicated_at_source=0, duplicated_by_pipeline=7, checkpoint_bytes_max=4096,
            cpu_cores=0.4, cpu_us_per_message=180.0, committed=120_000, end=120_000, behind=0,
        )
    ]  # fmt: skip
    tables["pipeline_delivery"] = [
        blank("pipeline_delivery", scope=scope, group=0, duplicated_at_source=0, duplicated_by_pipeline=7)
        for scope in ("run", "measure")
    ]
    edges = ("due", *STAGES.values())
    tables["waterfall"] = [
        *(stage(name, edges[place], end, 10.0 * place) for place, (name, end) in enumerate(STAGES.items())),
        stage(WHOLE, "due", "received", 100.0, share=1.0, null_count=0),
    ]
    tables["bounds"] = [row for row in tables.get("bounds", []) if not row["metric"].startswith("stage_")] + [
        ends(row["stage"], row["mean_ms"], min(row["mean_ms"], 0.5)) for row in tables["waterfall"]
    ]
    tables["query"] = [
        blank("query", second=-8.0, start=0, event="started"),
        blank("query", second=-3.0, start=0, event="ready", starting_s=5.0),
        blank("query", second=4.0, start=0, event="died", detail="exit code -9"),
        blank("query", second=4.1, start=1, event="started"),
        blank("query", second=10.0, start=1, event="ready", starting_s=5.9, down_s=6.0),
    ]
    tables["executors"] = [
        blank("executors", scope="measure", start=0, executor="driver", duration_ns=10**10, tasks=160, gc_ms=12)
    ]
    tables["lookups"] = []
    steps = {"latest_offset_ms": 10.0, "planning_ms": 15.0, "add_batch_ms": 60.0}
    tables["query_batches"] = [
        blank(
            "query_batches",
            second=number / 8,
            start=0,
            batch=number,
            source="told",
            rows=125,
            duration_ms=120.0,
            **steps,
        )
        for number in range(80)
    ]


def tabled(facts: Row, tables: Tables) -> None:
    """A job with a state writes a table, which is asked as it grows."""
    piped(facts, tables)
    tables["pipeline"][0] |= {"job": "feature-store", "does": "aggregate", "sink": "table", "deaths": 0, "down_s": None,
                              "late_rows": 3, "state_rows_max": 900, "state_bytes_max": 65_536,
                              "duplicated_by_pipeline": None, "duplicated_at_source": None}  # fmt: skip
    tables["lookups"] = [
        blank("lookups", scope=scope, count=50, failed=0, p50_ms=2.0, p99_ms=9.0, max_ms=12.0, rows_max=700,
              files_max=9, fresh_p50_ms=5_200.0, fresh_p99_ms=9_000.0, fresh_max_ms=9_900.0)
        for scope in ("run", "measure")
    ]  # fmt: skip


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The charting library takes seconds to bundle; the browser's tests have it."""
    monkeypatch.setattr(html, "bundle", lambda: "/* bundle */")


def drawn(result: Result, tables: Tables) -> dict[str, Any]:
    return {figure.name: figure for figure in figures(result, tables)}


@pytest.mark.parametrize("changes", [(piped,), (tabled,), (piped, faulty)])
def test_the_section_is_as_its_schema_says(make: Make, changes: tuple[Any, ...]) -> None:
    result = told(make(*changes))
    assert [error.message for error in Draft202012Validator(json_schema()).iter_errors(result)] == []


def test_without_a_pipeline_there_is_no_section_and_it_is_said_why(make: Make) -> None:
    result = assemble(make())
    assert result.pipeline is None
    assert "no pipeline" in result.reasons["pipeline"]
    assert pipeline.in_short(result) == {}
    assert pipeline.facts(result) == []
    assert "Pipeline" not in to_markdown(result)


def test_what_is_null_has_its_reason(make: Make) -> None:
    found = told(make(piped))["pipeline"]
    nulls = {name for name, value in found.items() if value is None}
    assert nulls == set(found["reasons"])
    assert found["reasons"]["lookups"] == "it writes no table"
    assert found["reasons"]["state_rows_max"] == "the job keeps no state"


def test_the_screen_says_what_stood_there_and_where_time_went(make: Make) -> None:
    text = " ".join(summary(assemble(make(piped)), width=200).split())
    assert "-> pass (micro-batch) -> 2 consumers" in text
    assert "2 topics" not in text
    assert "80 batches of 125 messages, p50 120 ms, longest 800 ms; died once, down for 6.00 s in all" in text
    assert "180 us of CPU a message; 7 duplicates written by the pipeline" in text
    assert "schedule 0 + produce 10.0 + wait for the batch 20.0 + process 30.0 + deliver 40.0 = 100 ms" in text


def test_reports_have_stages_and_life(make: Make) -> None:
    result = assemble(make(tabled))
    markdown = to_markdown(result)
    assert "### Pipeline" in markdown
    assert "900 rows, 65.5 kB" in markdown
    assert "50 queries, p50 2.00 ms" in markdown
    assert "wait for the batch" in markdown
    assert [row[2] for row in pipeline.life(result)] == ["started", "ready", "died", "started", "ready"]
    assert pipeline.life(result)[-1][3] == "6.00 s after its end"


@pytest.mark.parametrize("changes", [(stepping, credited), (redelivered, scored), (piped,)])
def test_nothing_else_has_the_id_of_a_part(make: Make, changes: tuple[Any, ...]) -> None:
    """A link leads to one place."""
    ids = [value for name, value in Page(report(make(*changes))).attributes if name == "id"]
    assert [each for each, count in Counter(ids).items() if count > 1] == []


def test_a_stage_that_is_not_there_is_not_shown(make: Make) -> None:
    """In real-time mode nobody knows a batch that a message would have waited for."""

    def real_time(facts: Row, tables: Tables) -> None:
        piped(facts, tables)
        tables["waterfall"][2] = stage(
            "stage_wait", None, "batch", None, reason="no batches", share=None, error_ms=None
        )

    assert [row[0] for row in pipeline.stages(assemble(make(real_time)))] == [
        "schedule", "produce", "process", "deliver", "all together",
    ]  # fmt: skip


def test_groups_behind_a_pipeline_have_short_names_in_tables(make: Make) -> None:
    """Those of clients and queries are long, and begin alike."""
    lagging = LagFigures.model_construct(max=1.0, max_second=2.0, final=0.0, mean=0.5)
    other = dict.fromkeys(("position", "outstanding", "time_lag"))
    nothing = dict.fromkeys(RecoveryScore.model_fields) | {"cause": "burst", "target": "producers"}
    result = assemble(make(piped)).model_copy(
        update={
            "lag": LagSection.model_construct(
                groups=[
                    GroupLags.model_construct(None, group=name, committed=lagging, **other) for name in ("g", "g-query")
                ]
            ),
            "recovery": [
                RecoveryScore.model_construct(None, **{**nothing, "quantity": "committed_lag", "group": name})
                for name in ("g", "g-query")
            ],
        }
    )
    assert [row[0] for row in pressure.lags(result)] == ["consumers", "query"]
    assert [row[2] for row in pressure.recoveries(result)] == ["committed lag of consumers", "committed lag of query"]


@pytest.mark.parametrize(
    ("error", "trust", "shown"),
    [
        pytest.param(0.4, "believed", "10.0 ms", id="a tenth"),
        pytest.param(1.0, "bounded", "9.00 to 11.0 ms", id="a millisecond of two clocks"),
        pytest.param(6.0, "not_believed", "10.0 ms", id="a stalled generator"),
    ],
)
def test_a_stage_is_as_good_as_its_interval(make: Make, error: float, trust: str, shown: str) -> None:
    """Which has two ends: it may have been shorter or longer."""

    def change(facts: Row, tables: Tables) -> None:
        piped(facts, tables)
        tables["bounds"] = [row for row in tables.get("bounds", []) if row["metric"] != "stage_produce"]
        tables["bounds"].append(ends("stage_produce", 10.0, error))
        # Two clocks can be compared only where it is known that nobody has set them.
        look = {"process": "host", "role": "host", "scope": "interval", "duration_ns": 10**9, "wall_ahead_ns": 0}
        tables["resources"] += [look | {"second": second} for second in (1.0, 2.0, 3.0)]

    result = assemble(make(change))

    found = result.trust["pipeline.stages.1.p99_ms"]
    assert (found.value, found.low, found.high, found.trust) == (10.0, 10.0 - error, 10.0 + error, trust)
    p99 = pipeline.stages(result)[1][6]
    assert (str(p99), isinstance(p99, Doubted)) == (shown, trust == "not_believed")
    assert result.verdict.state == ("in_part" if trust == "not_believed" else "valid")
    assert (f"~~{shown}~~" in to_markdown(result)) is (trust == "not_believed")


def test_stages_without_bounds_are_not_believed(make: Make) -> None:
    """As of runs that older versions analysed; a check that names latencies takes those that have none."""

    def unknown(facts: Row, tables: Tables) -> None:
        piped(facts, tables)
        for row in tables["bounds"]:
            row["known"] = row["known"] and not row["metric"].startswith("stage_")

    trust = assemble(make(unknown)).trust

    assert {each.trust for path, each in trust.items() if path.startswith("pipeline.stages.")} == {"not_believed"}
    assert "for some messages it is not known" in trust["pipeline.stages.5.p50_ms"].because[0]


def test_what_comes_from_outside_is_escaped(make: Make) -> None:
    def evil(facts: Row, tables: Tables) -> None:
        piped(facts, tables)
        tables["query"][2]["detail"] = EVIL
        tables["executors"][0]["executor"] = EVIL

    page = Page(to_html(assemble(make(evil)), []))
    assert "<script>alert" not in page.text.replace(EVIL, "")
    assert EVIL in page.text


def test_laggingshow_stages_and_batches(make: Make) -> None:
    folder = make(piped)
    tables: Tables = {}
    piped({"scenario": {}, "topics": [], "groups": []}, tables)
    found = drawn(assemble(folder), tables)
    assert [row["mean"] for row in found["waterfall"].data["waterfall"]] == [0, 10, 20, 30, 40]
    rows = found["query_batches"].data["query_batches"]
    assert len(rows) == 80 * 4
    assert {row["series"]: row["ms"] for row in rows[:4]} == {
        "log ends": 10, "planning": 15, "read, compute, write": 60, "other": 35,
    }  # fmt: skip
    assert "waterfall" not in drawn(assemble(folder), {})


def test_more_batches_than_can_be_seen_are_thinned_by_the_longest() -> None:
    rows = [{"duration_ms": number % 7} for number in range(MOST_BATCHES * 3)]
    kept = thinned(rows)
    assert len(kept) == MOST_BATCHES
    assert min(row["duration_ms"] for row in kept) >= 2


def test_every_table_of_a_query_is_one_of_all() -> None:
    assert {schema.name for schema in QUERY_TABLES} <= set(TABLES)
