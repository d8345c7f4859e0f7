"""Whether searches agree: the highest rate under an objective, again and again, each time on a broker of its own."""

import argparse
from pathlib import Path
from typing import Final

import streamgauge
from benchmarks.common import heading, idle_share, kept_in, spread

APART: Final = 1.1
"""Answers that differ by less agree."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scenario", default="baseline")
    options.add_argument("--objective", default="p99 <= 20 ms")
    options.add_argument("--times", type=int, default=3)
    options.add_argument("--step", default="10s", help="measure phase of each run")
    options.add_argument("--folder", type=Path, help="where searches are kept")
    chosen = options.parse_args()
    heading("Searches: the highest rate at which an objective holds")
    print(f"The machine was {idle_share():.0%} idle before. Objective: {chosen.objective}.\n", flush=True)
    print("| search | held | next | did not for certain | all agreed below | and above | runs upward | way down |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    held = []
    for number in range(1, chosen.times + 1):
        with kept_in(chosen.folder) as place:
            found = streamgauge.search(chosen.scenario, [chosen.objective], step=chosen.step, out=place)
        answer, record = found.answer, found.record
        if answer.held is None or record.ending == "interrupted":
            raise SystemExit(f"no answer: {record.ending}")
        held.append(answer.held)
        certain = record.broke_for_certain
        rates = (answer.held, answer.broke, certain, answer.surely_held, answer.surely_broke, record.held_again)
        *up, down = ("none" if each is None else f"{each:,.0f}/s" for each in rates)
        steps = sum(step.phase == "up" for step in record.steps)
        print(f"| {number} | {' | '.join(up)} | {steps} | {down} |", flush=True)
    apart = max(held) / min(held)
    agree = "agree" if apart <= APART else "do not agree"
    print(f"\nHeld: {spread(held, '/s', digits=0)}. The largest is {apart:.2f} times the least: they {agree} ", end="")
    print(f"within {APART - 1:.0%}.")


if __name__ == "__main__":
    main()
