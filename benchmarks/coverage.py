"""Whether intervals hold the truth: runs against the modelled broker, whose truth is known, while workers are starved.

Each run has a rate, and ways to starve its workers, drawn from its seed; `--only 17` repeats one. With `--keep` each
run's figures are appended to a file, and what is there is not measured again: 200 runs take more than an hour.
"""

import argparse
import json
import os
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.common import heading, idle_share
from benchmarks.starving import drawn, starved
from streamgauge.processes.jvm.java import find_java
from streamgauge.runs.machine.calibrate.compared import NAMES, Compared
from streamgauge.runs.machine.calibrate.planned import Planned
from streamgauge.runs.machine.calibrate.run import calibrate
from streamgauge.verdict.trust.limits import BELIEVED_MS, BELIEVED_SHARE

RATES: Final = (1_000, 3_000, 10_000, 30_000)
SECONDS: Final = 5.0
AT_ONCE: Final = 10
"""Runs that are analysed together, in one JVM."""
USED: Final = ("end_to_end.response.p50", "end_to_end.response.p99")
"""Latencies that the verdict uses."""
WIDTH_FACTOR: Final = 3.0
WIDTH_MS: Final = 0.2
"""How wide intervals are wanted to be, at the median: so many times the error, and so many ms."""


@dataclass(frozen=True, slots=True)
class Told:
    """One figure of one run, in ms."""

    truth: float
    value: float
    trust: str
    low: float | None
    high: float | None

    @property
    def error(self) -> float:
        """How far the figure is off."""
        return abs(self.value - self.truth)

    @property
    def is_refused(self) -> bool:
        """Whether the figure is not believed."""
        return self.trust == "not_believed"

    @property
    def is_missed(self) -> bool:
        """Whether the truth lies outside of the interval."""
        return self.low is None or self.high is None or not self.low <= self.truth <= self.high

    @property
    def is_right(self) -> bool:
        """Whether the figure is within its limit of the truth."""
        return self.error <= max(BELIEVED_SHARE * self.truth, BELIEVED_MS)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run: what was done to it, and its figures by name."""

    seed: int
    rate: int
    ways: tuple[str, ...]
    state: str | None
    """The verdict."""
    failed: tuple[str, ...]
    """Checks of the instrument that failed: any of them used to make the run NOT VALID."""
    figures: Mapping[str, Told]

    @property
    def holds(self) -> bool:
        """Whether the truth of every latency that the verdict uses lies in its interval."""
        return not any(self.figures[name].is_missed for name in USED)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--only", type=int, help="seed of the one run to make")
    options.add_argument("--keep", type=Path, help="file of the figures of each run")
    chosen = options.parse_args()
    heading("Coverage: whether intervals hold what was planted, while workers are starved")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    seeds = [chosen.only] if chosen.only is not None else list(range(chosen.runs))
    found = {each.seed: each for each in _kept(chosen.keep)}
    missing = [seed for seed in seeds if seed not in found]
    for at in range(0, len(missing), AT_ONCE):
        for outcome in _outcomes(missing[at : at + AT_ONCE]):
            found[outcome.seed] = outcome
            if chosen.keep:
                with chosen.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(outcome)) + "\n")
        print(f"{len(found)} runs", flush=True)
    _print([found[seed] for seed in seeds if seed in found], each=chosen.only is not None)


def _kept(file: Path | None) -> Iterator[Outcome]:
    for line in file.read_text(encoding="utf-8").splitlines() if file and file.exists() else ():
        told = json.loads(line)
        figures = {name: Told(**figure) for name, figure in told["figures"].items()}
        yield Outcome(told["seed"], told["rate"], tuple(told["ways"]), told["state"], tuple(told["failed"]), figures)


def _outcomes(seeds: Sequence[int]) -> list[Outcome]:
    """Make these runs; what each is and does is drawn from its seed."""
    draws = [random.Random(seed) for seed in seeds]
    rates = [draw.choice(RATES) for draw in draws]
    ways = [drawn(draw) for draw in draws]
    plans = [Planned(rate, SECONDS, 1.0) for rate in rates]
    beside = [partial(starved, way, draw, SECONDS + 1.0) for way, draw in zip(ways, draws, strict=True)]
    made = calibrate(plans, find_java(os.environ), lambda _text: None, beside)
    return [
        Outcome(seed, rate, way, each.state, each.failed, _figures(each))
        for seed, rate, way, each in zip(seeds, rates, ways, made, strict=True)
    ]


def _figures(compared: Compared) -> dict[str, Told]:
    found = {}
    for name in NAMES:
        truth, trust = compared.planted.latencies_ms[name], compared.measured.trust.get(name)
        if truth is not None and trust is not None:
            found[name] = Told(truth, float(trust.value), trust.trust, trust.low, trust.high)
    return found


def _print(outcomes: Sequence[Outcome], *, each: bool) -> None:
    print(
        f"\n{len(outcomes)} runs of {SECONDS:g} s. Not refused, and the truth is not in the interval: missed. Believed"
    )
    print("and off by more than the limit: wrongly. Within the limit and not refused: kept. Width and error in ms.\n")
    print("| figure | refused | missed | wrongly | kept | median error | median width | width within 3 x error + 0.2 |")
    print("|---|---|---|---|---|---|---|---|")
    for name in NAMES:
        _row(name, [outcome.figures[name] for outcome in outcomes if name in outcome.figures])
    every = [figure for outcome in outcomes for figure in outcome.figures.values()]
    _row("all", every)
    bad = [outcome for outcome in outcomes if outcome.failed]
    refused = [outcome for outcome in bad if outcome.state == "not_valid"]
    holding = [outcome for outcome in bad if outcome not in refused and outcome.holds]
    print(f"\nRuns with a failing check of the instrument: {len(bad)}. NOT VALID: {len(refused)}. Of the others, the")
    of = f"{len(holding)} of {len(bad) - len(refused)}"
    print(f"truth of the p50 and p99 that the verdict uses lies in its interval in {of}.")
    if each:
        for outcome in outcomes:
            print(f"\n{outcome.seed}: {outcome.rate:,}/s, {', '.join(outcome.ways)}")
            for name, figure in outcome.figures.items():
                print(f"  {name}: {figure}")


def _row(name: str, figures: Sequence[Told]) -> None:
    shown = [figure for figure in figures if not figure.is_refused]
    right = [figure for figure in figures if figure.is_right]
    missed = sum(figure.is_missed for figure in shown)
    wrongly = sum(figure.trust == "believed" and not figure.is_right for figure in figures)
    kept = sum(not figure.is_refused for figure in right) / len(right) if right else 1.0
    known = [figure for figure in shown if figure.low is not None and figure.high is not None]
    widths = [(figure.high or 0.0) - (figure.low or 0.0) for figure in known]
    error = statistics.median([figure.error for figure in known]) if known else 0.0
    width = statistics.median(widths) if known else 0.0
    is_narrow = "yes" if width <= WIDTH_FACTOR * error + WIDTH_MS else "no"
    cells = (f"{len(figures) - len(shown)} of {len(figures)}", missed, wrongly, f"{kept:.0%} of {len(right)}")
    print(f"| {name} | {' | '.join(map(str, cells))} | {error:.3f} | {width:.3f} | {is_narrow} |")


if __name__ == "__main__":
    main()
