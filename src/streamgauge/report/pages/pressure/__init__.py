"""The words of lag, backpressure, faults and recovery, which all reports share: from the result alone."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.text.numbers import (
    UNKNOWN,
    cores,
    milliseconds,
    per_second,
    percent,
    plural,
    significant,
    whole,
)
from streamgauge.report.figures.drawing.names import group_names
from streamgauge.report.pages.belief import Doubted, cell
from streamgauge.report.pages.pressure.lag import lag_in_short
from streamgauge.result import Result
from streamgauge.result.model.pressure import (
    BackpressureSection,
    LagFigures,
    Lags,
    RecoveryScore,
)
from streamgauge.result.model.trust import FigureTrust

IN_SHORT: Final = 3
"""Recoveries that are told where there is little room."""
MOST_FAULTS: Final = 100
"""Faults that the report lists; the table `faults` has more."""
_QUANTITIES: Final = {"outstanding": "outstanding", "committed_lag": "committed lag"}
_LAGS: Final = {"committed": "committed lag", "position": "position lag", "outstanding": "outstanding"}
_MS_PER_S: Final = 1_000.0

LAG_HEADS: Final = ("group", "lag", "largest", "at second", "mean", "at the end")
RECOVERY_HEADS: Final = (
    "cause", "of", "judged by", "detected", "peak", "time to drain", "drain rate", "p99 before", "during", "after",
    "latency debt, ms x s",
)  # fmt: skip
FAULT_HEADS: Final = ("second", "what", "of", "", "from now on", "error")


def in_short(result: Result) -> dict[str, str]:
    """What a run has of these, in a line each; nothing of what it has none of."""
    told = {
        "Lag": lag_in_short(result),
        "Backpressure": _policy_in_short(result),
        "Faults": _faults_in_short(result),
        "Recovery": _recovery_in_short(result),
    }
    return {label: text for label, text in told.items() if text}


def _policy_in_short(result: Result) -> str:
    policy = result.backpressure
    if not policy:
        return ""
    parts = [f"{_limits(policy)}: {_most(policy)}", _pauses(policy) if policy.pauses is not None else ""]
    parts.append(f"admitted {per_second(policy.admitted_per_second)} of {per_second(policy.offered_per_second)}")
    if policy.controller_died_second is not None:
        parts.append(f"the controller died at {significant(policy.controller_died_second)} s")
    return "; ".join(filter(None, parts))


def _most(policy: BackpressureSection) -> str:
    """How much there was at most, of what the policy limits, and whether it did."""
    if policy.policy != "credit":
        return f"at most {whole(policy.outstanding_max)} outstanding"
    held = {True: ", limit respected", False: ", limit exceeded", None: ""}[policy.within_limit]
    return f"at most {whole(policy.credits_used_max)} in use{held}"


def _limits(policy: BackpressureSection) -> str:
    resume = f"/{whole(policy.resume)}" if policy.resume is not None else ""
    return f"{policy.policy} {whole(policy.limit)}{resume}"


def _pauses(policy: BackpressureSection) -> str:
    pauses = f"{whole(policy.pauses)} {plural(policy.pauses, 'pause')}"
    return f"{pauses}, {significant(policy.paused_s)} s in all"


def _duration(ms: float | None) -> str:
    """Waits of seconds are told in seconds."""
    if ms is None or ms < _MS_PER_S:
        return milliseconds(ms)
    return f"{significant(ms / _MS_PER_S)} s"


def _faults_in_short(result: Result) -> str:
    faults = result.faults or []
    begun = Counter(row.kind for row in faults if row.action == "begin" and row.error is None)
    failed = sum(row.error is not None for row in faults)
    told = [f"{count} x {kind}" for kind, count in begun.items()]
    return ", ".join([*told, *([f"{failed} could not be injected"] if failed else [])])


def _recovery_in_short(result: Result) -> str:
    judged = [row for row in result.recovery or [] if row.quantity == "outstanding"]
    told = [f"{row.cause} of {row.target}: {_drained(row)}, peak {whole(row.peak)}" for row in judged[:IN_SHORT]]
    return "; ".join(told) + (f"; {len(judged) - IN_SHORT} more in the report" if len(judged) > IN_SHORT else "")


def _drained(row: RecoveryScore) -> str:
    took = row.time_to_drain_s
    return "not drained" if took is None else f"drained in {significant(took)} s"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is known of a policy; `tone` says whether it is `good`, `bad` or in `doubt`."""

    name: str
    text: str
    tone: str = ""


def policy(result: Result) -> list[Fact]:
    """What the policy was, whether it held, and what it cost; nothing without a policy."""
    found = result.backpressure
    if not found:
        return []
    facts = [Fact("Policy", f"{_rule(found)}; decided every {milliseconds(found.poll_ms)}"), _peak(found)]
    if found.pauses is not None:
        facts.append(Fact("Pauses", _pauses(found)))
    facts += [Fact("Load", _load(found)), Fact("Throttle wait", _throttle(found))]
    if found.policy == "credit":
        facts.append(_credits(found))
    if found.controller_died_second is not None:
        text = f"died at {significant(found.controller_died_second)} s; no decisions after that"
        facts.append(Fact("Controller", text, "bad"))
    return facts


def _rule(found: BackpressureSection) -> str:
    if found.policy == "credit":
        return f"credit: at most {whole(found.limit)} messages sent and not processed"
    resume = f", resume below {whole(found.resume)}" if found.resume is not None else ""
    return f"hysteresis: producers pause above a committed lag of {whole(found.limit)}{resume}"


def _peak(found: BackpressureSection) -> Fact:
    """Credit bounds the credits in use, and the rows say whether it did; hysteresis bounds nothing."""
    at = "" if found.max_second is None else f" at {significant(found.max_second)} s"
    outstanding = f"{whole(found.outstanding_max)} messages outstanding{at}"
    if found.policy != "credit":
        return Fact("Peak", f"{outstanding} (exact)")
    bound = f"{whole(found.credits_used_max)} of {whole(found.limit)} credits in use at most"
    said, tone = _HELD[found.within_limit]
    return Fact("Peak", f"{outstanding}; {bound}: {said}", tone)


_HELD: Final = {
    True: ("limit respected (exact, from the recorded events)", "good"),
    False: ("limit exceeded (exact, from the recorded events)", "bad"),
    None: ("unknown whether the limit was respected", "doubt"),
}


def _load(found: BackpressureSection) -> str:
    rates = {name: getattr(found, f"{name}_per_second") for name in ("offered", "admitted", "sent", "processed")}
    told = [f"{name} {per_second(rate)}" for name, rate in rates.items() if rate is not None]
    unsent = f"; {whole(found.unsent)} messages were due and never sent" if found.unsent else ""
    return (", ".join(told) or UNKNOWN) + unsent


def _throttle(found: BackpressureSection) -> str:
    """From due to admitted: a stage of the response time that no client sees."""
    wait = found.throttle
    if not wait:
        return found.reasons.get("throttle", UNKNOWN)
    names = {"p50": "p50", "p99": "p99", "p99_9": "p99.9", "max": "max"}
    return ", ".join(f"{words} {_duration(getattr(wait, f'{name}_ms'))}" for name, words in names.items())


def _credits(found: BackpressureSection) -> Fact:
    returned = f"{whole(found.returned)} of failed sends returned"
    ambiguous = f"{whole(found.ambiguous)} of sends with unknown outcome not returned"
    return Fact("Credits", f"{returned}; {ambiguous}", "doubt" if found.ambiguous else "")


def lags(result: Result) -> list[Sequence[str]]:
    """Rows under LAG_HEADS: three lags and the age of the oldest message, of each group."""
    lag = result.lag
    if not lag:
        return []
    if not lag.groups:
        return _lags_of("", lag, result.trust, "lag")
    short = _short_names(result)
    return [
        row
        for place, each in enumerate(lag.groups)
        for row in _lags_of(short.get(each.group, each.group), each, result.trust, f"lag.groups.{place}")
    ]


def _short_names(result: Result) -> dict[str, str]:
    """What groups are called in tables, by their names."""
    short = group_names(result)
    return {group.name: short[group.id] for group in result.run.groups}


def _lags_of(group: str, lags: Lags, trust: Mapping[str, FigureTrust], path: str) -> list[Sequence[str]]:
    known = {key: each for key in _LAGS if (each := getattr(lags, key))}
    rows = [_lag_row(group, _LAGS[key], each, trust, f"{path}.{key}") for key, each in known.items()]
    if age := lags.time_lag:
        names = ("max_ms", "mean_ms", "final_ms")
        figures = [cell(getattr(age, name), trust.get(f"{path}.time_lag.{name}"), _duration) for name in names]
        rows.append((group, "time lag", figures[0], significant(age.max_second), *figures[1:]))
    return rows


def _lag_row(group: str, words: str, each: LagFigures, trust: Mapping[str, FigureTrust], path: str) -> Sequence[str]:
    figures = [cell(getattr(each, name), trust.get(f"{path}.{name}"), whole) for name in ("max", "mean", "final")]
    return (group, words, figures[0], significant(each.max_second), *figures[1:])


def sampling(result: Result) -> str:
    """How lag was sampled, and what that cost; empty where it was not."""
    lag = result.lag
    if not lag or not lag.samples:
        return ""
    cost = f", {cores(lag.cpu_cores)} cores" if lag.cpu_cores is not None else ""
    failed = f"{whole(lag.failed)} failed ({percent(lag.failed_share)})" if lag.failed else "none failed"
    every = f", one every {_duration(lag.every_ms)}" if lag.every_ms is not None else ""
    return f"{whole(lag.samples)} samples{every}, {failed}{cost}"


def recoveries(result: Result) -> list[Sequence[str]]:
    """Rows under RECOVERY_HEADS, one for each cause, quantity and group."""
    found = result.recovery or []
    # A group is named where there are several.
    names = _short_names(result) if len({row.group for row in found}) > 1 else None
    return [_recovery(row, f"recovery.{place}", result.trust, names) for place, row in enumerate(found)]


def _recovery(
    row: RecoveryScore, path: str, trust: Mapping[str, FigureTrust], names: Mapping[str, str] | None
) -> Sequence[str]:
    def shown(name: str, words: Callable[[float | None], str]) -> str:
        return cell(getattr(row, name), trust.get(f"{path}.{name}"), words)

    group = f" of {names.get(row.group, row.group)}" if names is not None and row.group is not None else ""
    peak = shown("peak", whole)
    return (
        f"{row.cause} {row.detail or ''}".strip(),
        row.target,
        f"{_QUANTITIES.get(row.quantity, row.quantity)}{group}",
        shown("detected_s", _seconds),
        peak if row.peak is None or isinstance(peak, Doubted) else f"{peak} at {_seconds(row.peak_second)}",
        "not drained" if row.time_to_drain_s is None else shown("time_to_drain_s", _seconds),
        shown("drain_rate_per_second", per_second),
        *(shown(f"p99_{name}_ms", _duration) for name in ("before", "during", "after")),
        shown("latency_debt_ms_s", significant),
    )


def _seconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{significant(value)} s"


def faults(result: Result) -> list[Sequence[str]]:
    """Rows under FAULT_HEADS, the first of them where there are many."""
    rows = (result.faults or [])[:MOST_FAULTS]
    return [
        (significant(row.second), row.kind, row.target, row.action, row.detail or "", row.error or "") for row in rows
    ]


def more_faults(result: Result) -> str:
    """How many faults are not listed; empty where all are."""
    left = len(result.faults or []) - MOST_FAULTS
    return f"{whole(left)} more are in the table faults." if left > 0 else ""
