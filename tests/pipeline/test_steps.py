"""Steps begin when they have what they need, and give every table once; an error ends all of them."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from benchmarks.analysis import BOUNDING, nothing
from benchmarks.synthetic import Plan, make
from pyspark.sql import SparkSession

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.tables.delivery import DELIVERY
from streamgauge.domain.tables.latency import METRICS
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.pipeline.metrics import expressions
from streamgauge.pipeline.run import analyse
from streamgauge.pipeline.spark.settings import Sizing
from streamgauge.pipeline.steps.plan import STEPS
from streamgauge.pipeline.steps.step import Inputs, Step, carry_out, keeping

NO_INPUTS: Any = None


def never() -> None:
    """What cancels is not called where nothing fails."""
    raise AssertionError


def test_a_step_needs_earlier_steps_only() -> None:
    names = [step.name for step in STEPS]
    assert len(set(names)) == len(names)
    for place, step in enumerate(STEPS):
        assert set(step.needs) <= set(names[:place]), step.name


def test_every_table_but_the_verdict_comes_from_one_step() -> None:
    assert sorted(schema.name for step in STEPS for schema in step.tables) == sorted({*TABLES} - {"verdict"})


def test_what_is_given_and_is_no_table_is_needed() -> None:
    """A step that nobody needs and that gives no table is work for nothing."""
    needed = {name for step in STEPS for name in step.needs}
    assert [step.name for step in STEPS if not step.tables and step.name not in needed] == []


def test_what_spark_measures_is_described() -> None:
    assert set(expressions.SQL) <= set(METRICS)
    assert set(expressions.AGES) <= set(expressions.SQL)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_step_is_given_what_it_needs_in_the_order_of_its_needs(threads: int) -> None:
    steps = (
        Step("one", (), lambda _: 1),
        Step("two", (), lambda _: 2),
        Step("both", ("two", "one"), lambda _, two, one: [{"two": two, "one": one}], (DELIVERY,)),
    )
    assert carry_out(steps, NO_INPUTS, threads, never) == {"delivery": [{"two": 2, "one": 1}]}


def test_of_the_steps_that_can_begin_the_first_one_does() -> None:
    """Also where the one it waited for comes later."""
    begun: list[str] = []
    steps = [
        Step("long", (), lambda _: begun.append("long")),
        Step("free", (), lambda _: begun.append("free")),
        Step("after", ("long",), lambda _, __: begun.append("after")),
        Step("last", (), lambda _: begun.append("last")),
    ]
    carry_out(steps, NO_INPUTS, 1, never)
    assert begun == ["long", "free", "after", "last"]


def test_a_step_that_can_begin_does_not_wait_for_those_before_it() -> None:
    """Not for one that it does not need, and that waits for another."""
    went_on = threading.Event()
    steps = [
        Step("long", (), lambda _: went_on.wait(60)),
        Step("after", ("long",), lambda _, waited: [{"waited": waited}], (DELIVERY,)),
        Step("free", (), lambda _: went_on.set()),
    ]
    assert carry_out(steps, NO_INPUTS, 2, never) == {"delivery": [{"waited": True}]}


def test_two_steps_that_do_not_need_each_other_go_on_side_by_side() -> None:
    meet = threading.Barrier(2, timeout=60)
    steps = [Step(name, (), lambda _: meet.wait()) for name in ("left", "right")]
    carry_out(steps, NO_INPUTS, 2, never)
    assert not meet.broken


def test_an_error_stops_what_goes_on_and_lets_nothing_else_begin() -> None:
    begun: list[str] = []
    cancelled = threading.Event()

    def fails(_: Inputs) -> None:
        begun.append("fails")
        raise LookupError

    def waits(_: Inputs) -> None:
        begun.append("waits")
        assert cancelled.wait(10)

    steps = [
        Step("fails", (), fails),
        Step("waits", (), waits),
        Step("queued", (), lambda _: begun.append("queued")),
        Step("needs", ("fails",), lambda _, __: begun.append("needs")),
    ]
    with pytest.raises(LookupError):
        carry_out(steps, NO_INPUTS, 1, cancelled.set)
    assert cancelled.is_set()
    assert begun in (["fails"], ["fails", "waits"])


def test_the_steps_that_the_benchmark_leaves_out_give_tables_without_rows() -> None:
    left_out = [replace(step, needs=(), work=nothing(step)) for step in STEPS if step.name in BOUNDING]

    assert {step.name for step in left_out} == BOUNDING
    assert carry_out(left_out, NO_INPUTS, 1, never) == {"bounds": [], "latency_widths": [], "sampling": []}


class Frame:
    """A frame that tells what is done with it."""

    def __init__(self, did: list[str]) -> None:
        self.did = did

    def persist(self, _: object) -> "Frame":
        """Held from now on."""
        self.did.append("held")
        return self

    def count(self) -> int:
        """Worked out."""
        self.did.append("worked out")
        return 0

    def unpersist(self) -> None:
        """Let go."""
        self.did.append("let go")


def test_what_is_kept_is_worked_out_and_let_go_at_the_end_whatever_happens() -> None:
    did: list[str] = []
    frame: Any = Frame(did)

    def keep_and_fail() -> None:
        with keeping() as keep:
            assert keep(frame) is frame
            assert did == ["held", "worked out"]
            raise LookupError

    with pytest.raises(LookupError):
        keep_and_fail()
    assert did == ["held", "worked out", "let go"]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("small", "local", "most", "cut", "held"),
    [
        pytest.param(True, False, None, False, 1, id="on other machines"),
        pytest.param(True, True, None, True, 1, id="few rows"),
        pytest.param(False, True, None, True, 2, id="few rows of many"),
        pytest.param(False, True, 3, False, 1, id="more than are written twice"),
    ],
)
def test_what_is_kept_is_worked_out_once(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    small: bool,
    local: bool,
    most: int | None,
    cut: bool,
    held: int,
) -> None:
    """Where it is cut, what is asked of it has nothing to do with how it was made; afterwards nothing is held."""
    if most is not None:
        monkeypatch.setattr("streamgauge.pipeline.steps.step.CUT_BYTES", most)
    context: Any = spark.sparkContext
    held_before = set(context._jsc.getPersistentRDDs())
    made = spark.range(3).selectExpr("id", "rand() as value")
    with keeping(small=small, local=local) as keep:
        kept = keep(made)
        assert kept.collect() == kept.collect()
        assert ("rand" in kept._jdf.queryExecution().logical().toString()) == (not cut)
        assert len(set(context._jsc.getPersistentRDDs()) - held_before) == held

    assert set(context._jsc.getPersistentRDDs()) == held_before


@pytest.mark.spark
def test_spark_knows_the_size_of_what_is_kept_of_many_rows(spark: SparkSession) -> None:
    """It would take a join for as large as all pairs of its rows, and sort a log to look for three of them."""
    pairs = spark.range(1_000).selectExpr("id % 7 as key").join(spark.range(1_000).selectExpr("id as key"), "key")
    with keeping(local=True) as keep:
        kept = keep(pairs.where("key < 3"))
        found = spark.range(10).selectExpr("id as key").join(kept, "key", "leftsemi")
        assert "BroadcastHashJoin" in found._jdf.queryExecution().executedPlan().toString()
        assert sorted(row.key for row in found.collect()) == [0, 1, 2]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_large_analysis_answers_as_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They hold frames in different ways. Of every class of messages there are some in this run."""
    folder = RunFolder(tmp_path)
    make(folder, Plan(20_000, sticky=200, planted=True))
    found = []
    for is_small in (True, False):
        monkeypatch.setattr(Sizing, "is_small", is_small)
        analyse(folder)
        found.append({name: pq.read_table(folder.table(name)).to_pylist() for name in ("delivery", "problem_counts")})

    assert found[0] == found[1]
    assert found[0]["problem_counts"]
