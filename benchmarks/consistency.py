"""Whether intervals of a starved run and of a quiet one overlap on a real broker, where the truth is not known.

The broker has a core of its own, the workers have another one. In every other run they stand still for a part of every
100 ms, as a CPU quota makes them. The same latency lies below both, so the intervals of a pair should overlap, as far
as those of two quiet runs do: these are each quiet run and the next one.
"""

import argparse
import contextlib
import os
import random
import tempfile
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

from benchmarks.common import broker, heading, idle_share, run, topic
from benchmarks.starving import starved
from streamgauge.result.model.trust import FigureTrust
from streamgauge.runs.analysis import answered

FIGURES: Final = tuple(
    f"latency.{kind}.{figure}_ms"
    for kind in ("ack.response", "end_to_end.response")
    for figure in ("p50", "p90", "p99", "p99_9")
)
SECONDS: Final = 5
WANTED: Final = 0.95


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=20)
    options.add_argument("--rate", type=int, default=2_000)
    chosen = options.parse_args()
    heading(
        f"Consistency: quiet and starved runs of {chosen.rate:,} messages a second, a core for broker and for workers"
    )
    print(f"The machine was {idle_share():.0%} idle before.\n")
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("two cores are needed")
    with _only(cores[1]), broker() as running, _only(cores[0]):
        pairs = []
        for number in range(chosen.pairs):
            quiet = _trust(running.bootstrap, chosen.rate, (), number)
            pairs.append((quiet, _trust(running.bootstrap, chosen.rate, ("quota",), number)))
            print(f"{number + 1} pairs", flush=True)
    print("\n| figure | both have one | they overlap | quiet ones overlap | refused when quiet | when starved |")
    print("|---|---|---|---|---|---|")
    for name in FIGURES:
        _row(name, [(quiet[name], busy[name]) for quiet, busy in pairs if name in quiet and name in busy])
    print(f"\nWanted: overlap in {WANTED:.0%}.")


def _trust(bootstrap: str, rate: int, ways: tuple[str, ...], seed: int) -> Mapping[str, FigureTrust]:
    """What a run says of its figures."""
    settings = [f"load.rate={rate}", "phases.warmup=2s", f"phases.measure={SECONDS}s"]
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as busy, topic(bootstrap) as name:
        beside = starved(ways, draw, SECONDS + 2.0, Path(busy))
        with beside, run("baseline", bootstrap, *settings, f"topic.name={name}") as ran:
            return answered(ran.folder, lambda _text: None)[1].trust


def _row(name: str, pairs: list[tuple[FigureTrust, FigureTrust]]) -> None:
    known, quiet = _known(pairs), _known(list(pairwise(quiet for quiet, _ in pairs)))
    overlap, control = (sum(_overlap(*pair) for pair in each) for each in (known, quiet))
    refused = [sum(pair[place].trust == "not_believed" for pair in pairs) for place in (0, 1)]
    cells = (f"{len(known)} of {len(pairs)}", overlap, f"{control} of {len(quiet)}", *refused)
    print(f"| {name} | {' | '.join(map(str, cells))} |")


def _known(pairs: list[tuple[FigureTrust, FigureTrust]]) -> list[tuple[FigureTrust, FigureTrust]]:
    """Those of which neither is refused."""
    return [pair for pair in pairs if all(each.trust != "not_believed" for each in pair)]


def _overlap(one: FigureTrust, other: FigureTrust) -> bool:
    """Whether there is a value that both may have been; by chance, too, each may have been another."""
    lows, highs = zip(*((_low(each), _high(each)) for each in (one, other)), strict=True)
    return bool(max(lows) <= min(highs))


def _low(figure: FigureTrust) -> float:
    return min(each for each in (figure.low, figure.sample_low, figure.value) if each is not None)


def _high(figure: FigureTrust) -> float:
    return max(each for each in (figure.high, figure.sample_high, figure.value) if each is not None)


@contextlib.contextmanager
def _only(core: int) -> Iterator[None]:
    """What this process starts in the block runs on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


if __name__ == "__main__":
    main()
