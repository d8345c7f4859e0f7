"""Policies that hold producers back, in turn on one broker: is the bound kept, and are consumers kept busy?

The load is 10,000 messages a second for twelve in-order slots of 4 to 5 ms, which take about a quarter of it. Capacity
is what is processed with no policy in the same round. The bound is replayed from the rows, to the message.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow.dataset as ds

from benchmarks.common import Int64s, Ran, broker, heading, idle_share, run, spread, warm_page_cache
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.domain.runfolder import Phase
from streamgauge.kafka.admin import Cluster

SLOTS: Final = 12
SCENARIO: Final = "credit-5000"
TIGHT: Final = "backpressure={hysteresis: {max_lag: 5000, resume_lag: 1000, poll: 100ms, held: drop}}"
LOOSE: Final = "backpressure={hysteresis: {max_lag: 20000, resume_lag: 5000, poll: 200ms, held: drop}}"
OFF: Final = "off"
FAST: Final = "load.client.linger.ms=1"
"""Small limits go round often: a message that lingers has no other in its place."""
POLICIES: Final[Mapping[str, tuple[str, ...]]] = {
    OFF: ("backpressure=off",),
    "credit 5,000": ("backpressure={credit: {limit: 5000}}",),
    "hysteresis 5,000 / 1,000": (TIGHT, "lag.every=1s"),
    "hysteresis 20,000 / 5,000": (LOOSE, "lag.every=1s"),
    "credit 500": ("backpressure={credit: {limit: 500}}", FAST),
    "credit 50": ("backpressure={credit: {limit: 50}}", FAST),
    "credit 5,000, sticky": ("backpressure={credit: {limit: 5000}}", "load.partition=client"),
    "credit 500, sticky": ("backpressure={credit: {limit: 500}}", "load.partition=client", FAST),
    "credit 50, sticky": ("backpressure={credit: {limit: 50}}", "load.partition=client", FAST),
}
LIMITS: Final = {"5,000": 5_000, "500": 500, "50": 50}


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
    options.add_argument("--only", nargs="+", default=list(POLICIES), choices=list(POLICIES), metavar="POLICY")
    chosen = options.parse_args()
    heading("Backpressure: 10,000 messages a second for twelve slots of 4 to 5 ms")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    names = list(dict.fromkeys((OFF, *chosen.only)))
    found: dict[str, list[Found]] = {name: [] for name in names}
    with broker() as running:
        warm_page_cache(running.bootstrap)
        for _ in range(chosen.rounds):
            for name in names:
                found[name].append(_measured(running.bootstrap, chosen.seconds, POLICIES[name]))
        sampler = [_sampler_share(running.bootstrap, every) for every in ("100ms", "100ms", "100ms")]
    _print(found)
    shares = spread([share * 100 for share in sampler])
    print(f"\nSampling the lag of 12 partitions every 100 ms takes {shares} % of a core.")


def _measured(bootstrap: str, seconds: int, settings: tuple[str, ...]) -> Found:
    with _run(SCENARIO, bootstrap, f"phases.measure={seconds}s", *settings) as ran:
        return found_in(ran)


def _run(scenario: str, bootstrap: str, *settings: str) -> "_Fresh":
    return _Fresh(scenario, bootstrap, settings)


class _Fresh:
    """A run on a topic that it makes by itself, as credit wants it; the topic is gone afterwards."""

    def __init__(self, scenario: str, bootstrap: str, settings: tuple[str, ...]) -> None:
        self._topic = f"bench-{monotonic_ns()}"
        self._bootstrap = bootstrap
        self._run = run(scenario, bootstrap, f"topic.name={self._topic}", *settings)

    def __enter__(self) -> Ran:
        return self._run.__enter__()

    def __exit__(self, *error: object) -> None:
        self._run.__exit__(None, None, None)
        Cluster(self._bootstrap, {}).delete_topic(self._topic)


def found_in(ran: Ran) -> Found:
    """What the rows of a run say."""
    measure = next(phase for phase in ran.facts.phases if phase.name == "measure")
    started, processed, sent = ran.column("received", "started_ns", "processed_ns", "sent_ns")
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
    partition, offset, processed = ran.column("received", "partition", "offset", "processed_ns")
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
    """Processor time of the lag sampler by time."""
    with _run("baseline", bootstrap, "phases.measure=10s", f"lag.every={every}") as ran:
        measure = next(phase for phase in ran.facts.phases if phase.name == "measure")
        return _cpu_of(ran, "lag", measure)


def _rows(ran: Ran, kind: str, *names: str) -> list[dict[str, Any]]:
    files = sorted(str(path) for path in ran.folder.events.glob(f"{kind}/*/part-*.parquet"))
    rows: list[dict[str, Any]] = ds.dataset(files).to_table(columns=list(names)).to_pylist()
    return rows


def _cpu_of(ran: Ran, role: str, phase: Phase) -> float:
    rows = _rows(ran, "resources", "at_ns", "role", "cpu_ns")
    looks = [(row["at_ns"], row["cpu_ns"]) for row in rows if row["role"] == role]
    looks = [look for look in looks if phase.from_ns <= look[0] <= phase.to_ns]
    (begin, before), (end, after) = looks[0], looks[-1]
    return float((after - before) / (end - begin))


def _print(found: Mapping[str, list[Found]]) -> None:
    print("| policy | processed/s | of capacity, % | slots busy, % | peak outstanding | peak committed lag "
          "| service p50, s | service p99, s | p99 x capacity / limit |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for name, rounds in found.items():
        limit = next(
            (limit for word, limit in LIMITS.items() if name.startswith("credit") and f" {word}" in name), None
        )
        shares = [each.processed / off.processed * 100 for each, off in zip(rounds, found[OFF], strict=True)]
        by_law = [each.p99_s * off.processed / limit if limit else float("nan")
                  for each, off in zip(rounds, found[OFF], strict=True)]  # fmt: skip
        cells = [
            _cell(rounds, lambda each: each.processed, 0), spread(shares), _cell(rounds, lambda each: each.busy * 100),
            _cell(rounds, lambda each: each.peak, 0), _cell(rounds, lambda each: each.peak_lag, 0),
            _cell(rounds, lambda each: each.p50_s), _cell(rounds, lambda each: each.p99_s),
            spread(by_law) if limit else "",
        ]  # fmt: skip
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _cell(rounds: list[Found], value: Callable[[Found], float], digits: int = 2) -> str:
    return spread([value(each) for each in rounds], digits=digits)


if __name__ == "__main__":
    main()
