"""Backpressure policies, in turn on one broker: whether limits are kept, and whether consumers are busy.

The load is 10,000 messages a second for twelve in-order slots of 4 to 5 ms, which process about a quarter of it.
Capacity is the rate processed without a policy in the same round. Peaks are computed exactly from the recorded rows.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from benchmarks.common import Int64s, Ran, broker, heading, idle_share, run, spread, topic, warm_page_cache
from streamgauge.control.simulate import Summary, simulate
from streamgauge.control.simulation import model_of
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.folder.facts import Phase
from streamgauge.runs.request.scenario_file import load_scenario

SLOTS: Final = 12
SCENARIO: Final = "credit-5000"
TIGHT: Final = "backpressure={hysteresis: {max_lag: 5000, resume_lag: 1000, poll: 100ms, held: drop}}"
LOOSE: Final = "backpressure={hysteresis: {max_lag: 20000, resume_lag: 5000, poll: 200ms, held: drop}}"
OFF: Final = "off"
FAST: Final = "load.client.linger.ms=1"
"""Small limits go round often: a message that lingers has no other in its place."""


class Case(NamedTuple):
    """One policy on the same workload."""

    settings: tuple[str, ...]
    limit: int | None = None
    """Of credit."""


def _credit(limit: int, *settings: str) -> Case:
    return Case((f"backpressure={{credit: {{limit: {limit}}}}}", *settings), limit)


CASES: Final[Mapping[str, Case]] = {
    OFF: Case(("backpressure=off",)),
    "credit 5,000": _credit(5_000),
    "hysteresis 5,000 / 1,000": Case((TIGHT, "lag.every=1s")),
    "hysteresis 20,000 / 5,000": Case((LOOSE, "lag.every=1s")),
    "credit 500": _credit(500, FAST),
    "credit 50": _credit(50, FAST),
    "credit 5,000, sticky": _credit(5_000, "load.partition=client"),
    "credit 500, sticky": _credit(500, "load.partition=client", FAST),
    "credit 50, sticky": _credit(50, "load.partition=client", FAST),
}


class Found(NamedTuple):
    """What one run says."""

    processed: float
    """Messages a second, in the measure phase."""
    busy: float
    """Share of the slots' time that was spent processing."""
    peak: int
    """Most messages sent and not below the processed frontier, whole run."""
    peak_lag: float
    """Largest committed lag that was sampled; NaN without samples."""
    p50_s: float
    p99_s: float
    """Service time until processed, of messages sent in the measure phase and processed."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=int, default=20)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--only", nargs="+", default=list(CASES), choices=list(CASES), metavar="POLICY")
    chosen = options.parse_args()
    heading("Backpressure: 10,000 messages a second for twelve slots of 4 to 5 ms")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    names = list(dict.fromkeys((OFF, *chosen.only)))
    found: dict[str, list[Found]] = {name: [] for name in names}
    with broker() as running:
        warm_page_cache(running.bootstrap)
        for _ in range(chosen.rounds):
            for name in names:
                found[name].append(_measured(running.bootstrap, chosen.seconds, CASES[name].settings))
        sampler = [_sampler_share(running.bootstrap, every) for every in ("100ms", "100ms", "100ms")]
    _print(found, {name: _simulated(chosen.seconds, CASES[name].settings) for name in names})
    shares = spread([share * 100 for share in sampler])
    print(f"\nSampling the lag of 12 partitions every 100 ms takes {shares} % of a core.")


def _measured(bootstrap: str, seconds: int, settings: tuple[str, ...]) -> Found:
    with _run(SCENARIO, bootstrap, f"phases.measure={seconds}s", "phases.drain=6s", *settings) as ran:
        return found_in(ran)


@contextmanager
def _run(scenario: str, bootstrap: str, *settings: str) -> Iterator[Ran]:
    """A run on a topic that it makes by itself, as credit wants it."""
    with topic(bootstrap, None) as name, run(scenario, bootstrap, f"topic.name={name}", *settings) as ran:
        yield ran


def _simulated(seconds: int, settings: tuple[str, ...]) -> Summary:
    """What the model says of the same scenario."""
    scenario = load_scenario(SCENARIO, [f"phases.measure={seconds}s", *settings])
    return simulate(model_of(scenario)).summary


def found_in(ran: Ran) -> Found:
    """What the rows of a run say."""
    measure = next(phase for phase in ran.facts.phases if phase.name == "measure")
    started, processed, sent = _processed(ran, "started_ns", "processed_ns", "sent_ns")
    within = (processed >= measure.from_ns) & (processed < measure.to_ns)
    seconds = (measure.to_ns - measure.from_ns) / NS_PER_SECOND
    service_s = (processed - sent)[(sent >= measure.from_ns) & (sent < measure.to_ns)] / NS_PER_SECOND
    return Found(
        processed=float(within.sum()) / seconds,
        busy=float((processed - started)[within].sum()) / (measure.to_ns - measure.from_ns) / SLOTS,
        peak=peak_of(ran),
        peak_lag=_peak_lag(ran),
        p50_s=float(np.percentile(service_s, 50)),
        p99_s=float(np.percentile(service_s, 99)),
    )


def peak_of(ran: Ran) -> int:
    """Most messages sent and not below the processed frontier of their partition, replayed; ties count down first."""
    (sent,) = ran.column("sent", "sent_ns")
    partition, offset, processed = _processed(ran, "partition", "offset", "processed_ns")
    frontier = frontiers(partition, offset, processed)
    at_ns = np.concatenate([frontier, sent])
    step = np.concatenate([np.full(len(frontier), -1), np.ones(len(sent), np.int64)])
    return int(np.cumsum(step[np.lexsort((step, at_ns))]).max())


def frontiers(partition: Int64s, offset: Int64s, processed_ns: Int64s) -> Int64s:
    """When each message fell below the frontier: the running maximum, by offset, of when each was first processed."""
    order = np.lexsort((processed_ns, offset, partition))
    partition, offset, processed_ns = partition[order], offset[order], processed_ns[order]
    first = np.ones(len(offset), np.bool_)
    first[1:] = (np.diff(partition) != 0) | (np.diff(offset) != 0)
    partition, processed_ns = partition[first], processed_ns[first]
    for each in np.unique(partition):
        lane = partition == each
        processed_ns[lane] = np.maximum.accumulate(processed_ns[lane])
    return processed_ns


def _peak_lag(ran: Ran) -> float:
    """Committed lag of all partitions together, at the worst sample."""
    rows = [row for row in _rows(ran, "lag", "moment", "at_ns", "end", "committed") if row["moment"] == "sample"]
    lags: Counter[int] = Counter()
    for row in rows:
        if row["committed"] is not None and row["end"] is not None:
            lags[row["at_ns"]] += row["end"] - row["committed"]
    return float(max(lags.values(), default=0)) if rows else float("nan")


def _sampler_share(bootstrap: str, every: str) -> float:
    """CPU time of the lag sampler by time."""
    with _run("baseline", bootstrap, "phases.measure=10s", f"lag.every={every}") as ran:
        measure = next(phase for phase in ran.facts.phases if phase.name == "measure")
        return _cpu_of(ran, "lag", measure)


def _processed(ran: Ran, *names: str) -> list[Int64s]:
    """Columns of the messages that were received and processed."""
    table = _table(ran, "received", *names)
    table = table.filter(table["processed_ns"].is_valid())
    return [table[name].to_numpy().copy() for name in names]


def _rows(ran: Ran, kind: str, *names: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = _table(ran, kind, *names).to_pylist()
    return rows


def _table(ran: Ran, kind: str, *names: str) -> pa.Table:
    files = sorted(str(path) for path in ran.folder.events.glob(f"{kind}/*/part-*.parquet"))
    return ds.dataset(files).to_table(columns=list(names))


def _cpu_of(ran: Ran, role: str, phase: Phase) -> float:
    rows = _rows(ran, "resources", "at_ns", "role", "cpu_ns")
    looks = [(row["at_ns"], row["cpu_ns"]) for row in rows if row["role"] == role]
    looks = [look for look in looks if phase.from_ns <= look[0] <= phase.to_ns]
    (begin, before), (end, after) = looks[0], looks[-1]
    return float((after - before) / (end - begin))


HEADS: Final = (
    "policy", "processed/s", "of capacity, %", "slots busy, %", "simulated", "peak outstanding", "simulated",
    "peak committed lag", "service p50, s", "service p99, s", "p99 x capacity / limit",
)  # fmt: skip


def _print(found: Mapping[str, list[Found]], simulated: Mapping[str, Summary]) -> None:
    print(f"| {' | '.join(HEADS)} |\n{'|---' * len(HEADS)}|")
    for name, rounds in found.items():
        print(f"| {' | '.join([name, *_cells(rounds, found[OFF], simulated[name], CASES[name].limit)])} |")


def _cells(rounds: list[Found], without: list[Found], model: Summary, limit: int | None) -> list[str]:
    pairs = list(zip(rounds, without, strict=True))
    return [
        _cell(rounds, lambda each: each.processed, 0),
        spread([each.processed / off.processed * 100 for each, off in pairs]),
        _cell(rounds, lambda each: each.busy * 100),
        f"{model.utilisation:.0%}",
        _cell(rounds, lambda each: each.peak, 0),
        f"{model.peak_outstanding:,}",
        _cell(rounds, lambda each: each.peak_lag, 0),
        _cell(rounds, lambda each: each.p50_s),
        _cell(rounds, lambda each: each.p99_s),
        spread([each.p99_s * off.processed / limit for each, off in pairs]) if limit else "",
    ]


def _cell(rounds: list[Found], value: Callable[[Found], float], digits: int = 2) -> str:
    return spread([value(each) for each in rounds], digits=digits)


if __name__ == "__main__":
    main()
