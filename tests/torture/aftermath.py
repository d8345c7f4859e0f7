"""What must hold of a run that was ended: its rows, its result, analysed twice, and its verdict."""

import json
from collections.abc import Mapping
from typing import Any, Final

from tests.torture.accounts import claims_hold, counts_hold, kept_rate, log_holds

from streamgauge.domain.errors import StreamgaugeError
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.record.facts import read_facts
from streamgauge.runs.analysis import analyse

KEPT_WITHIN: Final = 0.005


def run_holds(folder: RunFolder, next_seqs: Mapping[int, int] | None, bootstrap: str | None) -> list[str]:
    """Faults of a run of which the shared cells said `next_seqs`; with `bootstrap`, its topic is still there."""
    was_analysed = folder.result.exists()
    results = [json.loads(folder.result.read_bytes())] if was_analysed else []
    for is_first in [False] if was_analysed else [True, False]:
        try:
            # The same result makes the same report.
            analyse(folder, lambda _: None, reports=is_first)
        except (StreamgaugeError, OSError) as error:
            return [f"cannot be analysed: {error}"]
        results.append(json.loads(folder.result.read_bytes()))
    faults = [] if results[0] == results[-1] else [f"another answer: {_differences(*results)}"]
    facts, result = read_facts(folder), results[-1]
    if next_seqs is not None:
        faults += claims_hold(folder, next_seqs)
        told = {n: s for w in facts.workers if w.next_seqs for n, s in zip(w.numbers, w.next_seqs, strict=True)}
        if facts.workers and told != next_seqs:
            faults.append(f"run.json says {told}, the cells {next_seqs}")
    faults += counts_hold(folder, result["delivery"])
    if bootstrap:
        faults += log_holds(folder, facts, bootstrap)
    return faults + _verdict_holds(facts, result)


def rate_holds(folder: RunFolder, rate: float) -> list[str]:
    """Faults: a generator that is blamed for its rate, though it kept it."""
    result = json.loads(folder.result.read_bytes()) if folder.result.exists() else {}
    if result and _is_blamed(result) and abs((kept := kept_rate(folder, read_facts(folder), rate)) - 1) <= KEPT_WITHIN:
        return [f"the generator is blamed for its rate, of which it kept {kept:.2%}"]
    return []


def _check(result: dict[str, Any], name: str) -> dict[str, Any]:
    return next((each for each in result["verdict"]["checks"] if each["name"] == name), {})


def _status(result: dict[str, Any], check: str) -> str | None:
    return _check(result, check).get("status")


def _is_blamed(result: dict[str, Any]) -> bool:
    """Whether the verdict says that the generator missed its rate, and not that it did so because a producer died."""
    rate = _check(result, "rate")
    return rate.get("status") == "fail" and "a producer died" not in rate["evidence"]


def _verdict_holds(facts: RunFacts, result: dict[str, Any]) -> list[str]:
    """Faults: a verdict that says less than happened."""
    faults = []
    bad = [worker.name for worker in facts.workers if worker.died and not worker.declared_dead]
    if result["verdict"]["valid"] and (facts.ending is None or facts.ending == "failed" or bad):
        faults.append(f"valid, though it ended {facts.ending}, {bad} dead")
    if any(worker.dropped_rows for worker in facts.workers) and _status(result, "dropped_rows") != "fail":
        faults.append("rows were dropped, and no check says so")
    if result["delivery"].get("unaccounted") not in {0, None}:
        faults.append(f"{result['delivery']['unaccounted']} messages are not accounted for")
    if result["delivery"].get("fate_unknown") and _status(result, "fate_unknown") not in {"warn", "fail"}:
        faults.append("messages are of unknown fate, and no check says so")
    return faults


def _differences(one: Any, other: Any, place: str = "") -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            each
            for name in sorted({*one, *other})
            for each in _differences(one.get(name), other.get(name), f"{place}.{name}")
        ][:5]
    return [] if one == other else [f"{place}: {str(one)[:80]} and {str(other)[:80]}"]
