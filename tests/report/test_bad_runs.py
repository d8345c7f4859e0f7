"""A corpus of bad runs: each exits with 4, or what it says of the figures that are used is true.

Some are evidence in tables, made bad by hand: nobody knows what the figures would have been. Others are simulated, with
an instrument that is starved, so that the truth is known.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.pipeline.plainly import Plainly
from tests.report.conftest import RATE, SECONDS, Change, Make, Row, Tables, connecting, latency, observing
from tests.simulated.run import rows, truths
from tests.simulated.system import Plan
from tests.simulated.threads import Stalls

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.latency.buckets import bucket_of
from streamgauge.domain.latency.percentiles import PERCENTILES, Buckets, Moments, rank_of, summarise
from streamgauge.pipeline.metrics.aggregates.histogram import Counts, Histograms
from streamgauge.pipeline.metrics.latency import Metric, bound_rows
from streamgauge.report.assemble.result import assemble
from streamgauge.result import Result
from streamgauge.verdict import exit_code
from streamgauge.verdict.exits import Exit

METRICS = tuple(f"{path}_{kind}" for path in ("ack", "end_to_end") for kind in ("response", "service"))
USED = {f"latency.end_to_end.response.{name}_ms": name for name in ("p50", "p99")}
"""Latencies that the verdict uses, and their percentiles."""


def code_of(result: Result) -> Exit:
    """The exit code, by the rules of the analysis."""
    expected = result.expectations
    is_valid = bool(result.verdict.valid) and all(each.decided for each in expected)
    return exit_code("finished", valid=is_valid, expectations_passed=all(each.passed for each in expected))


# Made by hand.


def every(table: str, changes: Row, **wanted: Any) -> Change:
    """Change all rows of a table that have these values."""

    def change(_facts: Row, tables: Tables) -> None:
        for row in tables[table]:
            if wanted.items() <= row.items():
                row.update(changes)

    return change


def worker(name: str, **changes: Any) -> Change:
    def change(facts: Row, _tables: Tables) -> None:
        next(each for each in facts["workers"] if each["name"] == name).update(changes)

    return change


def scenario(part: str, **changes: Any) -> Change:
    def change(facts: Row, _tables: Tables) -> None:
        facts["scenario"].setdefault(part, {}).update(changes)

    return change


def torn(_facts: Row, tables: Tables) -> None:
    path = "events/sent/worker=producer-0/part-0.parquet"
    tables["set_aside"].append({"kind": "sent", "source": path, "reason": "no footer", "rows": None})


def slow_start(_facts: Row, tables: Tables) -> None:
    """The first seconds have nearly all that makes the p99."""
    for row in tables["latency"]:
        if row["metric"].startswith("end_to_end") and row["scope"] == "measure":
            row.update(p99_ms=90.0, p99_5_ms=95.0, p99_9_ms=99.0, p99_99_ms=99.0, max_ms=99.0)


def frozen(_facts: Row, tables: Tables) -> None:
    """For a third of a second, all processes."""
    for row in tables["resources"]:
        if row["scope"] == "interval" and row["second"] == 2.0:
            row.update(poll_gap_ms=330.0)
    row = {"process": "host", "role": "host", "scope": "interval"}
    for second, took_ms in ((0.5, 500), (1.0, 500), (1.5, 500), (2.33, 830), (2.5, 170), (3.0, 500)):
        tables["resources"].append(row | {"second": second, "duration_ns": took_ms * 1_000_000})


def late_start(facts: Row, _tables: Tables) -> None:
    """It was to begin three seconds before it did."""
    facts["scenario"]["phases"] = {"start_at": "1970-01-01T00:00:00Z"}
    facts["wall_ns"] = 3 * NS_PER_SECOND


def stepped(_facts: Row, tables: Tables) -> None:
    """The wall clock is set by a second."""
    looks = [(1.0, 0), (2.0, NS_PER_SECOND), (3.0, NS_PER_SECOND)]
    row = {"process": "host", "role": "host", "scope": "interval", "duration_ns": NS_PER_SECOND}
    tables["resources"] += [row | {"second": second, "wall_ahead_ns": ahead} for second, ahead in looks]


def died(facts: Row, tables: Tables) -> None:
    """A producer, by itself; a hundred of its messages have no report."""
    worker("producer-0", exit_code=-9)(facts, tables)
    every("delivery", {"fate_unknown": 100, "fate_unknown_received": 60, "unknown": 40})(facts, tables)


def lost_rate(_facts: Row, tables: Tables) -> None:
    tables["connections"][0].update(target_per_second=20.0)


def silent(facts: Row, tables: Tables) -> None:
    """Neither load nor consumers."""
    facts["scenario"] |= {"load": "off", "consume": "off", "expect": {}}
    facts["groups"] = []
    for name in ("latency", "throughput", "delivery", "bounds", "sampling"):
        tables[name] = []


def blind(_facts: Row, tables: Tables) -> None:
    for row in tables["bounds"]:
        row.update(known=False)


REFUSED: dict[str, tuple[Change, ...]] = {
    "steal": (every("resources", {"steal_share": 0.2}, role="host", scope="measure"),),
    "a part that is torn": (torn,),
    "rows that no disk took": (worker("consumer-0", dropped_rows=9),),
    "a producer that died, and messages of unknown fate": (died,),
    "clocks that disagree": (every("delivery", {"negative_latencies": 7}),),
    "a late start": (late_start,),
    "a cold start": (slow_start,),
    "messages without a row": (every("delivery", {"unaccounted": 3}),),
    "messages that nobody sent": (every("delivery", {"unrecorded": 3}),),
    "a rate that the generator did not reach": (
        every("throughput", {"sent": 8 * RATE * SECONDS // 10}, scope="measure"),
    ),
    "messages that the generator did not send": (
        every("throughput", {"unsent": 2 * RATE, "sent": RATE * (SECONDS - 2)}, scope="measure"),
        every("delivery", {"unsent": 2 * RATE}, scope="measure"),
    ),
    "all processes stood still": (frozen,),
    "widths that nobody knows": (blind,),
    "a consumer that was gone for longer than its session": (
        every("resources", {"poll_gap_ms": 50_000.0}, process="consumer-0", scope="interval"),
        every("delivery", {"duplicate_consumer": 5}, scope="run"),
    ),
    "an expectation on both sides of its bound": (
        scenario("expect", **{"latency.end_to_end.response.p99_ms": "<= 5"}),
        every("bounds", {"p99_ms": 4.0}, metric="end_to_end_response"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("bad", REFUSED)
def test_bad_evidence_is_refused(make: Make, bad: str) -> None:
    assert code_of(assemble(make(*REFUSED[bad]))) == Exit.NOT_VALID


def test_what_is_bad_is_made_of_a_run_that_is_good(make: Make) -> None:
    assert code_of(assemble(make())) == Exit.DONE


def test_a_clock_that_was_set_takes_what_it_tells(make: Make) -> None:
    """And nothing of a run that does not ask it."""
    found = assemble(make(observing, stepped))

    assert found.trust["latency.since_record_time.p50_ms"].trust == "not_believed"
    assert code_of(assemble(make(stepped))) == Exit.DONE


def test_connections_that_the_worker_did_not_open_in_time_are_refused(make: Make) -> None:
    """A run without messages is about nothing else."""
    assert code_of(assemble(make(connecting, silent))) == Exit.DONE
    assert code_of(assemble(make(connecting, silent, lost_rate))) == Exit.NOT_VALID


# Simulated.


@dataclass
class Starved:
    """A run whose clients are starved: what its tables say of it, and what is true."""

    plan: Plan
    cpu: float | None = None
    """Cores that each worker used, where that was all it could have."""
    quota: bool = False
    """Whether a quota stopped them all, which a check notices."""

    def __post_init__(self) -> None:
        sent, received = rows(self.plan)
        end = max(row["received_ns"] for row in received) + NS_PER_MS
        self.told = Plainly(sent, received, (0, end), (0, end))
        self.late = np.sort([row["sent_ns"] - row["due_ns"] for row in sent])
        ordered = np.sort([each["end_to_end"] for each in truths(self.plan).values()])
        self.truth = {name: ordered[rank_of(rank, len(ordered)) - 1] / NS_PER_MS for name, rank in PERCENTILES.items()}

    def __call__(self, _facts: Row, tables: Tables) -> None:
        # Nothing of seconds: each would have to be made worse, too.
        tables["latency"] = [row for row in tables["latency"] if row["metric"] not in METRICS]
        tables["latency"] += [self._latency(metric) for metric in METRICS]
        widths = {metric: self.told.widths(metric) for metric in METRICS}
        nothing = Histograms(Counts.of(), Counts.of())
        tables["bounds"] = bound_rows([Metric(metric, "due", None) for metric in METRICS], nothing, widths)
        late = {f"{name}_ms": self._late(PERCENTILES[name]) for name in ("p50", "p99", "p99_9")}
        tables["schedule_delay"] = [{"producer": None, "count": len(self.late), "max_ms": self._late(10_000), **late}]
        self._resources(tables)

    def _late(self, rank: int) -> float:
        return float(self.late[rank_of(rank, len(self.late)) - 1]) / NS_PER_MS

    def _latency(self, metric: str) -> Row:
        values = np.array([self.told.value(metric, row) for row in self.told.rows(metric)], np.int64)
        real = values.astype(np.float64)
        moments = Moments(len(values), int(values.min()), int(values.max()), real.sum(), (real * real).sum())
        shown = summarise(Buckets.merged(bucket_of(values), np.ones_like(values)), moments, "due").as_result()
        row = latency(metric, 1.0, count=len(values))
        return row | {name: value for name, value in shown.items() if name in row and name.endswith("_ms")}

    def _resources(self, tables: Tables) -> None:
        names = [f"producer-{number}" for number in range(len(self.plan.dues))]
        names += [f"consumer-{number}" for number in range(self.plan.consumers)]
        looks = [row for row in tables["resources"] if row["scope"] != "interval"]
        for name, stalls in zip(names, self.plan.stalls, strict=False):
            for second in range(1, SECONDS + 1):
                gap = max((end - begin for begin, end in stalls), default=0) / NS_PER_MS
                look: Row = {"process": name, "role": name[:-2], "scope": "interval", "second": float(second)}
                looks.append(look | {"poll_gap_ms": gap, "duration_ns": NS_PER_SECOND, "cpu_cores": 0.3})
        tables["resources"] = looks
        for row in looks:
            if self.cpu is not None and row["scope"] == "measure" and row["process"] in names:
                row["cpu_cores"] = self.cpu
            if row["role"] == "host" and self.quota:
                row.update(throttled_share=0.4, throttled_periods=300, throttled_periods_share=0.5)


def dues(producers: int, each: int, gap_ms: float) -> tuple[tuple[int, ...], ...]:
    gap = int(gap_ms * NS_PER_MS)
    return tuple(
        tuple(gap * (each_ + 1) + gap * number // producers for each_ in range(each)) for number in range(producers)
    )


def stalls(begin_ms: float, length_ms: float, times: int = 1, every_ms: float = 0.0) -> Stalls:
    begins = [begin_ms + every_ms * number for number in range(times)]
    return tuple((int(at * NS_PER_MS), int((at + length_ms) * NS_PER_MS)) for at in begins)


NONE: Stalls = ()


def starved(*of_clients: Stalls, counts_delay: bool = True, cpu: float | None = None, quota: bool = False) -> Starved:
    """A second of 1,000 messages a second by two producers for one consumer, whose threads have no core at times."""
    plan = Plan(7, dues(2, 500, 2.0), stalls=of_clients, counts_delay=counts_delay)
    return Starved(plan, cpu, quota=quota)


STARVED: dict[str, Callable[[], Starved]] = {
    "a generator that stood still once": lambda: starved(stalls(300, 80), NONE, NONE),
    "a generator that is late by a little": lambda: starved(stalls(40, 1, 30, 30), stalls(45, 1, 30, 30), NONE),
    "a generator that is late again and again": lambda: starved(stalls(40, 3, 90, 10), stalls(45, 3, 90, 10), NONE),
    "gaps between the polls of a consumer": lambda: starved(NONE, NONE, stalls(50, 30, 9, 100), counts_delay=False),
    "few of them": lambda: starved(NONE, NONE, stalls(50, 4, 9, 100)),
    "gaps between the polls of producers": lambda: starved(stalls(50, 20, 9, 100), stalls(70, 20, 9, 100), NONE),
    "workers without a core": lambda: starved(*(stalls(30 + 3 * each, 12, 40, 25) for each in range(3)), cpu=0.99),
    "a quota that stops them all": lambda: starved(*(stalls(60, 40, 9, 100) for _ in range(3)), quota=True),
}


@pytest.mark.parametrize("bad", STARVED)
def test_a_starved_run_is_refused_or_tells_the_truth(make: Make, bad: str) -> None:
    starved = STARVED[bad]()
    found = assemble(make(starved))
    told = {path: found.trust[path] for path in USED}

    # It is bad: what was measured is far from the truth.
    assert told["latency.end_to_end.response.p99_ms"].value > 1.2 * starved.truth["p99"]
    assert code_of(found) == Exit.NOT_VALID or all(
        each.low is not None and each.high is not None and each.low <= starved.truth[USED[path]] <= each.high
        for path, each in told.items()
    )
    # Whatever has an interval is told rightly.
    for path, each in told.items():
        assert each.low is None or each.low <= starved.truth[USED[path]]
        assert each.high is None or starved.truth[USED[path]] <= each.high
