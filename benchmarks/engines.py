"""Engines of a pipeline, in turn on one broker: latency at several rates, CPU a message, highest sustainable rate.

The job is `pass`, topics have two partitions, messages have 512 bytes. Latency is from the due time of a message until
its output is received. A rate is sustainable if latency does not grow in the last third of the measure phase; the
highest is found by bisection.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from benchmarks.common import Ran, analysed, broker, heading, idle_share, run, spread, topic
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.folder.facts import Phase
from streamgauge.pipeline.stream.query import OF_QUERY
from streamgauge.report.figures import catalogue
from streamgauge.report.figures.compare import LabelledRun, engines

ENGINES: Final[Mapping[str, tuple[str, ...]]] = {
    "client": ("pipeline.engine=client",),
    "real-time": ("pipeline.engine={real-time: {batch: 60s}}", "phases.drain=90s"),
    "micro-batch": ("pipeline.engine=micro-batch",),
    "micro-batch, 1 s": ("pipeline.engine={micro-batch: {every: 1s}}",),
}
SCENARIO: Final = "spark-pass-microbatch"
GROWTH: Final = 0.02
"""Where a rate is sustained, latency grows by no more of the time that passes."""
NEAR: Final = 1.1
"""Bisection ends when the bounds are so near each other."""
SEAM_MS: Final = 1_000
"""So long after the begin of a batch, and so long before it, a slow message is one of the seam."""
SLOW_MS: Final = 25
LOWEST: Final = 2_000.0


class Found(NamedTuple):
    """What one run says; times in ms."""

    p50: float
    p99: float
    p999: float
    longest: float
    cpu_us: float
    """Of the pipeline's processes, a message."""
    slow_at_seam: float
    """Share of the messages slower than `SLOW_MS` that were due near the begin of a batch; NaN without slow ones."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rates", type=int, nargs="*", default=[100, 1_000, 10_000])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--warmup", type=int, default=90, help="seconds; the first gap between batches is cold")
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--only", nargs="+", default=list(ENGINES), choices=list(ENGINES), metavar="ENGINE")
    options.add_argument("--highest", action="store_true", help="also find the highest sustainable rate of each engine")
    options.add_argument(
        "--figures", type=Path, metavar="FOLDER", help="save percentile curves of the first round here"
    )
    chosen = options.parse_args()
    heading("Engines of a pipeline: latency, CPU, and highest sustainable rate")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    with broker() as running:
        if chosen.rates:
            _latencies(running.bootstrap, chosen)
        if chosen.highest:
            _highest(running.bootstrap, chosen.only)


def _latencies(bootstrap: str, chosen: argparse.Namespace) -> None:
    found: dict[tuple[int, str], list[Found]] = {}
    results: list[LabelledRun] = []
    for turn in range(chosen.rounds):
        for rate in chosen.rates:
            for engine in chosen.only:
                settings = (f"phases.warmup={chosen.warmup}s", f"phases.measure={chosen.seconds}s")
                with piped(bootstrap, rate, *ENGINES[engine], *settings) as ran:
                    found.setdefault((rate, engine), []).append(found_in(ran))
                    if chosen.figures and turn == 0:
                        results.append(LabelledRun(f"{engine} {rate}", analysed(ran.folder)))
    print(
        "| messages/s | engine | p50 ms | p99 ms | p99.9 ms | max ms | CPU us a message "
        f"| messages slower than {SLOW_MS} ms that are near a gap |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for (rate, engine), rows in found.items():
        cells = [spread([getattr(row, name) for row in rows]) for name in ("p50", "p99", "p999", "longest", "cpu_us")]
        seam = [row.slow_at_seam for row in rows if not np.isnan(row.slow_at_seam)]
        # Batches of the others begin so often that anything lies near one.
        cells.append(f"{np.median(seam):.0%}" if seam and engine == "real-time" else "")
        print(f"| {rate:,} | {engine} | {' | '.join(cells)} |")
    if results:
        catalogue.save([engines(results)], chosen.figures)


def _highest(bootstrap: str, names: Sequence[str]) -> None:
    print("\n| engine | highest rate sustained, messages/s | lowest rate not sustained | runs |")
    print("|---|---|---|---|")
    for engine in names:
        low, high, runs = bisected(bootstrap, ENGINES[engine])
        print(f"| {engine} | {low:,.0f} | {high:,.0f} | {runs} |", flush=True)


def bisected(bootstrap: str, engine: Sequence[str]) -> tuple[float, float, int]:
    """The highest rate that was sustained, the lowest that was not, and how many runs that took."""
    low, high, runs = 0.0, LOWEST, 0
    while _is_sustained(bootstrap, high, engine):
        low, high, runs = high, high * 4, runs + 1
    runs += 1
    while low and high / low > NEAR:
        middle = (low * high) ** 0.5
        runs += 1
        if _is_sustained(bootstrap, middle, engine):
            low = middle
        else:
            high = middle
    return low, high, runs


def _is_sustained(bootstrap: str, rate: float, engine: Sequence[str]) -> bool:
    settings = ("phases.warmup=20s", "phases.measure=20s", "load.producers=2", "load.client.linger.ms=5")
    # What is left of a rate that is too high need not be waited for, but where the engine says so.
    with piped(bootstrap, rate, "phases.drain=10s", *engine, *settings) as ran:
        return falls_behind(ran) <= GROWTH


@contextmanager
def piped(bootstrap: str, rate: float, *settings: str) -> Iterator[Ran]:
    """A run through a pipeline on topics of its own."""
    with topic(bootstrap, None) as name, topic(bootstrap, None) as sink:
        where = (f"topic.name={name}", f"pipeline.sink={sink}", "topic.reset=false", "expect={}")
        with run(SCENARIO, bootstrap, f"load.rate={rate:g}/s", *where, *settings) as ran:
            yield ran


def found_in(ran: Ran) -> Found:
    """What the rows of a run say of its measure phase."""
    measure = measured(ran)
    due, received = (_column(ran, "received", name) for name in ("due_ns", "received_ns"))
    inside = (due >= measure.from_ns) & (due < measure.to_ns)
    due, ms = due[inside], (received - due)[inside] / NS_PER_MS
    p50, p99, p999 = np.percentile(ms, [50, 99, 99.9])
    return Found(p50, p99, p999, ms.max(), _cpu_us(ran, measure, len(ms)), _at_seam(ran, due[ms > SLOW_MS]))


def falls_behind(ran: Ran) -> float:
    """By how much the latency grew in the last third of the measure phase, over the third before, by the time between.

    Medians of messages by when they were due; what never came counts as infinitely late. Rates in and out would not do:
    an engine that delivers in batches is early or late by one of them.
    """
    measure = measured(ran)
    due, received = _column(ran, "received", "due_ns"), _column(ran, "received", "received_ns")
    third = (measure.to_ns - measure.from_ns) // 3
    begins = [measure.from_ns + third, measure.from_ns + 2 * third]
    wanted = _column(ran, "sent", "due_ns")
    before, after = (_median_late(wanted, due, received, begin, begin + third) for begin in begins)
    return float("inf") if np.isinf(after) else (after - before) / third


def _median_late(wanted: Any, due: Any, received: Any, from_ns: int, to_ns: int) -> float:
    """The median over all messages that were due in a time, in ns."""
    inside = (due >= from_ns) & (due < to_ns)
    missing = ((wanted >= from_ns) & (wanted < to_ns)).sum() - inside.sum()
    late = np.concatenate([(received - due)[inside], np.full(max(0, missing), np.inf)])
    return float(np.median(late)) if len(late) else float("inf")


def _at_seam(ran: Ran, due_ns: Any) -> float:
    """Share of these messages that were due near the begin of a batch of the query."""
    if not len(due_ns):
        return float("nan")
    ahead_ns = ran.facts.wall_ns - ran.facts.monotonic_ns
    begins = _column(ran, "progress", "began_ms") * NS_PER_MS - ahead_ns
    return float((np.abs(due_ns[:, None] - begins[None, :]).min(axis=1) < SEAM_MS * NS_PER_MS).mean())


def _cpu_us(ran: Ran, measure: Phase, messages: int) -> float:
    """CPU time of the processes of the pipeline within the measure phase, a message."""
    table = table_of(ran, "resources", "at_ns", "process", "role", "cpu_ns").to_pylist()
    spent: dict[str, list[tuple[int, int]]] = {}
    for row in table:
        if row["role"] in OF_QUERY and measure.from_ns <= row["at_ns"] <= measure.to_ns:
            spent.setdefault(row["process"], []).append((row["at_ns"], row["cpu_ns"]))
    shares = [
        (last[1] - first[1]) / (last[0] - first[0]) for first, *_, last in map(sorted, spent.values()) if last > first
    ]
    return sum(shares) * (measure.to_ns - measure.from_ns) / max(1, messages) / (NS_PER_SECOND / 1e6)


def measured(ran: Ran) -> Phase:
    """The measure phase of a run."""
    return next(phase for phase in ran.facts.phases if phase.name == "measure")


def _column(ran: Ran, kind: str, name: str) -> Any:
    return table_of(ran, kind, name)[name].drop_null().to_numpy()


def table_of(ran: Ran, kind: str, *names: str) -> pa.Table:
    """Columns of the rows of an event, of all workers."""
    files = sorted(str(path) for path in ran.folder.events.glob(f"{kind}/*/part-*.parquet"))
    return ds.dataset(files).to_table(columns=list(names))


if __name__ == "__main__":
    main()
