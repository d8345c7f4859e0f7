"""How often comparisons show a difference where there is none, and how often they find one that was planted.

`alike` are experiments whose variants differ in their seeds only, cut into experiments of five rounds. From their
rounds others are drawn: five at random, the runs of each swapped at random, without and with a fifth more for one side.
In `slower` one variant lingers longer, by a fifth of the latency that decides, and has as many rounds as the deviation
of `alike` asks for. With `--folder` experiments are kept, and what is there is not carried out again: forty cases of
five rounds take more than an hour, and may be made in parts (`--minutes`).
"""

import argparse
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

import streamgauge
from benchmarks.common import heading, idle_share, kept_in
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.experiments.record import ExperimentRecord
from streamgauge.runs.experiment.judge import measured
from streamgauge.statistics.comparison import Comparison, RunFigure, Variant, compared
from streamgauge.statistics.power import rounds_for

MORE: Final = 1.2
"""What is planted."""
ROUNDS: Final = 5
TOGETHER: Final = 5
"""So many cases are one experiment, on one broker."""
DRAWN: Final = 2_000
LINGER_MS: Final = 5.0
"""That of the scenario."""
SETTINGS: Final = {"phases.warmup": "1s", "phases.measure": "3s"}
Round = tuple[float, float]
"""The figure of both runs."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=40, help="experiments whose variants are alike")
    options.add_argument("--slower", type=int, default=10, help="experiments in which one variant is slower")
    options.add_argument("--minutes", type=float, default=math.inf, help="begin nothing after so long")
    options.add_argument("--folder", type=Path, help="where experiments are kept")
    chosen = options.parse_args()
    until_ns = monotonic_ns() + chosen.minutes * 60 * NS_PER_SECOND
    heading("Alarms: differences where there is none, and one that was planted")
    print(f"The machine was {idle_share():.0%} idle before.\n", flush=True)
    with kept_in(chosen.folder) as place:
        alike = _carried_out(place / "alike", _of_seeds, ROUNDS, chosen.cases, until_ns)
        whole = [each for record in alike for each in _rounds(record)]
        if len(whole) < ROUNDS:
            raise SystemExit("too few runs were measured")
        median = statistics.median(each for pair in whole for each in pair)
        deviation = statistics.stdev(math.log(other / one) for one, other in whole)
        asked = rounds_for(math.log(MORE), deviation)
        print(f"{alike[0].metric} of {len(whole)} rounds of runs that are alike: median {median:.2f}, ", end="")
        print(f"deviation of the ratios of rounds {deviation:.1%}.\n")
        _print("alike", partial(_cases, alike, ROUNDS))
        rng = np.random.default_rng(1)
        _print("alike, drawn from these rounds", partial(_drawn, whole, ROUNDS, 1.0, rng))
        if asked is None:
            raise SystemExit(f"runs deviate too much to find {MORE - 1:.0%} with any number of rounds")
        _print(f"{MORE - 1:.0%} more, {asked} rounds, drawn from these", partial(_drawn, whole, asked, MORE, rng))
        longer_ms = round(LINGER_MS + (MORE - 1) * median, 1)
        of_linger = partial(_of_linger, longer_ms)
        if slower := _carried_out(place / f"slower-{longer_ms}", of_linger, asked, chosen.slower, until_ns):
            found = [each for record in slower for each in _rounds(record)]
            planted = statistics.median(other / one for one, other in found)
            _print(f"linger {longer_ms} instead of {LINGER_MS:g} ms, {asked} rounds", partial(_cases, slower, asked))
            print(f"\nThe slower variant took {planted:.2f} times as long, median of {len(found)} rounds.")


def _of_seeds(rounds: int) -> dict[str, Any]:
    return {"name": "alike", "scenario": "baseline", "set": SETTINGS, "vary": {"seed": [1, 2]}, "repeat": rounds}


def _of_linger(longer_ms: float, rounds: int) -> dict[str, Any]:
    vary = {"load.client.linger.ms": [LINGER_MS, longer_ms]}
    return {"name": "slower", "scenario": "baseline", "set": SETTINGS, "vary": vary, "repeat": rounds}


def _carried_out(
    place: Path, document: Callable[[int], dict[str, Any]], rounds: int, cases: int, until_ns: float
) -> list[ExperimentRecord]:
    """The records of so many cases; what was begun and not ended is gone on with."""
    found = []
    for number in range(-(-cases // TOGETHER)):
        there = sorted((place / str(number)).glob("*/experiment.json"))
        if there and (made := streamgauge.Experiment(there[-1].parent)).record.ending not in {None, "interrupted"}:
            found.append(made.record)
            continue
        if monotonic_ns() > until_ns:
            break
        given: dict[str, Any] = {"resume": there[-1].parent} if there else {"out": place / str(number)}
        count = min(TOGETHER, cases - number * TOGETHER)
        record = streamgauge.experiment(document(count * rounds), **given).record
        if record.ending == "interrupted":
            raise SystemExit("interrupted; with --folder, the same command goes on")
        found.append(record)
    return found


def _rounds(record: ExperimentRecord) -> list[Round]:
    """The figures of all rounds in which both runs were measured."""
    ones, others = (measured(record, place).runs for place in (0, 1))
    return [(ones[each].value, others[each].value) for each in sorted(ones.keys() & others.keys())]


def _cases(records: Iterable[ExperimentRecord], rounds: int) -> list[Comparison]:
    """What comparisons say of experiments that are cut into experiments of so many rounds."""
    return [
        _compared(*(measured(_part(record, range(first, first + rounds)), place) for place in (0, 1)))
        for record in records
        for first in range(1, record.repeat + 1, rounds)
    ]


def _part(record: ExperimentRecord, rounds: Sequence[int]) -> ExperimentRecord:
    return record.model_copy(update={"runs": [run for run in record.runs if run.round in rounds]})


def _drawn(whole: Sequence[Round], rounds: int, more: float, rng: np.random.Generator) -> list[Comparison]:
    """What they say of experiments of so many rounds that are drawn from these."""
    found = []
    for _ in range(DRAWN):
        # A round that is drawn twice would make runs seem more alike than they are.
        taken = [whole[each] for each in rng.choice(len(whole), rounds, replace=rounds > len(whole))]
        swapped = [pair[::-1] if swap else pair for pair, swap in zip(taken, rng.random(rounds) < 0.5, strict=True)]
        ones, others = ({at: RunFigure(pair[side]) for at, pair in enumerate(swapped)} for side in (0, 1))
        slower = {at: RunFigure(each.value * more) for at, each in others.items()}
        found.append(_compared(Variant("one", ones), Variant("other", slower)))
    return found


def _compared(one: Variant, other: Variant) -> Comparison:
    return compared([(one, other)], "interleaved")[0]


def _print(what: str, find: Callable[[], Sequence[Comparison]]) -> None:
    # Ranks of many rounds take minutes: what is being looked for is told before.
    print(f"- {what}: ", end="", flush=True)
    told = [each.verdict for each in find()]
    judged = len(told) - told.count("no_verdict")
    shown = told.count("higher") + told.count("lower")
    print(f"of {len(told):,} experiments {judged:,} have a verdict; {shown:,} show a difference", end="")
    print(f" ({shown / judged:.1%})." if judged else ".", flush=True)


if __name__ == "__main__":
    main()
