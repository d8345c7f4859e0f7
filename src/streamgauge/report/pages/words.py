"""The words and figures that terminal and summary.md share: plain text without layout, from the result alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.folder.facts import node_of
from streamgauge.domain.text.numbers import (
    UNKNOWN,
    closely,
    cores,
    figure,
    listed,
    milliseconds,
    per_second,
    percent,
    plural,
    seconds,
    significant,
    whole,
)
from streamgauge.domain.text.quantities import format_duration
from streamgauge.report.pages.belief import cell
from streamgauge.result import Result
from streamgauge.result.model.delivery import DeliverySection
from streamgauge.result.model.latency import LatencyFigures, LatencySection, RecordAge
from streamgauge.result.model.resources import ProcessUsage, ResourcesSection
from streamgauge.result.model.run import RunSection
from streamgauge.result.model.throughput import ThroughputSection
from streamgauge.result.model.trust import FigureTrust
from streamgauge.result.model.verdict import CheckResult, ExpectationResult
from streamgauge.scenario.model.expectations import parse_bound
from streamgauge.scenario.profile.model import ProcessingProfile

FEW_WORKERS: Final = 4
"""More workers of one role than these are told by their range."""


GRAVEST_FIRST: Final = ("fail", "warn", "unknown")
"""The statuses of checks that did not pass."""

STAGES: Final = {
    "target": "target_per_second",
    "sent": "sent_per_second",
    "acked": "acked_per_second",
    "received": "received_per_second",
}
"""Rates by what they are called, and their keys."""

FIGURES: Final = ("p50", "p90", "p99", "p99_9", "max", "mean")
"""The figures of a latency that the terminal and summary.md show, unless others are asked for."""

ALL_FIGURES: Final = ("p50", "p90", "p95", "p99", "p99_9", "p99_99", "max", "mean")
"""The figures of a latency where there is room for all of them: on the page."""

MOMENTS: Final = ("min", "max", "mean")
"""Figures of delivered messages alone."""

_APART: Final = "KRaft controller"
_CLOCKS: Final = {"append": "broker", "create": "producer", "both": "mixed"}

_STATUS_WORDS: Final = {"pass": "passed", "fail": "failed", "warn": "warned", "unknown": "unknown"}

_PATHS: Final = {"ack": "ack", "end_to_end": "end-to-end", "processing": "processing"}

_SINGLE: Final = {
    "batch": "batch",
    "flush_wait": "flush wait",
    "throttle": "throttle wait",
    "since_record_time": "since record time",
}
"""Latencies that few runs have, and have no begin to choose."""

DELIVERED_ONLY: Final = "delivered only"

WHY_CENSORED: Final = (
    "`>`: messages that never arrived count with their age at the end; `delivered only` omits them, so it improves as "
    "more messages are missing."
)
"""Why percentiles of what was delivered are shown, and are not the result."""

_PACES: Final = {"max": "as fast as possible", "closed": "closed loop"}

_GOOD: Final = {"sent": "sent", "acked": "acknowledged", "delivered_once": "delivered once"}

_TROUBLES: Final = {
    "failed": "failed to send",
    "unsent": "not sent",
    "lost": "lost",
    "undelivered": "undelivered",
    "expired": "expired",
    "unknown": "undecided",
    "duplicate_producer": "duplicated by producers",
    "duplicate_consumer": "duplicated by consumers",
    "reordered": "reordered",
    "corrupt": "corrupt",
    "foreign": "foreign",
    "unrecorded": "unrecorded",
    "unacked_received": "received though not acknowledged",
    "aborted": "aborted",
    "aborted_received": "aborted and received",
    "resent": "sent again",
    "unread": "in partitions that are not consumed",
    "fate_unknown": "of unknown fate",
    "unaccounted": "unaccounted for",
    "truncated": "acknowledged and gone from the log",
    "vanished": "received and gone from the log",
    "offset_conflicts": "offsets of several messages",
    "received_early": "received before their commit",
}

_TROUBLES_IN_SHORT: Final = {
    "failed": "failed",
    "lost": "lost",
    "undelivered": "undelivered",
    "duplicate_consumer": "duplicated",
    "reordered": "reordered",
    "corrupt": "corrupt",
}

_GRAVE: Final = frozenset(
    {"failed", "unsent", "lost", "undelivered", "expired", "corrupt", "unrecorded", "unaccounted", "truncated"}
)


def ending(run: RunSection) -> str:
    """How the run ended."""
    return run.ending or "did not end"


def checks_counted(checks: Sequence[CheckResult]) -> str:
    """How many checks passed, failed and so on; empty where there are none."""
    counts = {status: sum(check.status == status for check in checks) for status in _STATUS_WORDS}
    return ", ".join(f"{count} {_STATUS_WORDS[status]}" for status, count in counts.items() if count)


def troubled_checks(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """What did not pass, the gravest first."""
    return [check for status in GRAVEST_FIRST for check in checks if check.status == status]


def title(check: CheckResult) -> str:
    """The title of a check; its name in results of older versions."""
    return check.title or check.name


def what_was_run(run: RunSection) -> str:
    """The scenario in one line; of an imported run, who measured it."""
    if run.imported:
        return f"{run.imported}: {run.name}"
    profile, chain = run.profile, []
    if load := profile.load:
        rate = _PACES.get(load.pace.words, load.pace.words)
        chain.append(f"{_some(load.producers, 'producer')}, {rate}, {figure(load.size)} bytes")
    pipeline = profile.pipeline
    through = int(pipeline is not None)
    topics = _each(profile.sent_topics(len(run.topics)) - through, "topics")
    chain.append(f"{topics}{_some(profile.partitions, 'partition')}")
    if pipeline:
        chain.append(f"{pipeline.job} ({pipeline.engine})")
    if consume := profile.consume:
        slow = f", {_processing(consume.processing)}" if consume.processing else ""
        chain.append(f"{_each(len(run.groups) - through, 'groups')}{_some(consume.consumers, 'consumer')}{slow}")
    return " -> ".join(chain)


def _some(count: int | None, what: str) -> str:
    return f"{count} {plural(count, what)}"


def _each(count: int, things: str) -> str:
    return f"{count} {things} of " if count > 1 else ""


def _processing(processing: ProcessingProfile) -> str:
    if processing.function:
        return "a function for each message"
    first = processing.delays[0]
    spread = f" plus up to {format_duration(first.jitter_ns)}" if first.jitter_ns else ""
    return f"{format_duration(first.delay_ns)}{spread} a message"


def on_what(run: RunSection, measured_seconds: float | None) -> str:
    """How long was measured, and on which broker."""
    broker = run.broker
    if run.imported:
        where = broker.bootstrap or "an unknown cluster"
        return f"measured {seconds(measured_seconds)}, {where}" if measured_seconds else f"{where}, time not known"
    nodes = len(set(map(node_of, broker.processes)))
    ours = f"embedded cluster of {nodes} nodes" if nodes > 1 else "embedded broker"
    guarded = f", {broker.security}" if broker.security else ""
    where = f"{ours}{guarded}" if broker.embedded else broker.bootstrap
    version = f" {broker.version}" if broker.version else ""
    measured = f"measured {seconds(measured_seconds)}" if measured_seconds else "no measurement"
    return f"{measured}, Kafka{version}, {where}"


def megabytes(throughput: ThroughputSection) -> str | None:
    """How many bytes a second were sent, or received where nothing was sent; None where there is no such figure."""
    rate = throughput.sent_mb_per_second or throughput.received_mb_per_second
    return f"{significant(rate)} MB/s" if rate else None


@dataclass(frozen=True, slots=True)
class LatencyLine:
    """One latency: which, its figures, and why one of them is missing."""

    path: str
    kind: str
    figures: tuple[str, ...]
    reason: str = ""
    lacking: str = ""
    """The first figure that it has not, for this reason; empty where it has none at all."""


def heads(names: Sequence[str] = ALL_FIGURES) -> tuple[str, ...]:
    """The heads of figures: `p99.9` for `p99_9`."""
    return tuple(name.replace("_", ".") for name in names)


def latency_lines(
    latency: LatencySection, trust: Mapping[str, FigureTrust], names: Sequence[str] = ALL_FIGURES
) -> list[LatencyLine]:
    """One line for each latency that the run has, or could have; of polls where it has none of messages.

    `names` are the figures of each.
    """
    lines = []
    for path, words in _PATHS.items():
        kinds = getattr(latency, path).kinds
        if any(_is_known(figures) for figures in kinds.values()):
            for kind, figures in kinds.items():
                line = _latency_line(words, kind, figures, _below(trust, f"latency.{path}.{kind}."), names)
                lines += _both(line, figures, names)
    for name, words in _SINGLE.items():
        if figures := getattr(latency, name):
            kind = _CLOCKS.get(figures.clock or "", "") if isinstance(figures, RecordAge) else ""
            lines.append(_latency_line(words, kind, figures, _below(trust, f"latency.{name}."), names))
    return lines or [_latency_line("poll", "", latency.poll, {}, names)]


def _is_known(figures: LatencyFigures | None) -> bool:
    """Whether a latency has figures: messages give it a median, and other tools may have less."""
    return figures is not None and any(figures.ms(name) is not None for name in ("p50", "p95", "max", "mean"))


def _below(trust: Mapping[str, FigureTrust], prefix: str) -> dict[str, FigureTrust]:
    """The trust in figures below a path, by the rest of their paths."""
    return {path.removeprefix(prefix): each for path, each in trust.items() if path.startswith(prefix)}


def _both(line: LatencyLine, figures: LatencyFigures | None, names: Sequence[str]) -> list[LatencyLine]:
    """A latency, and beside one that is censored what it would look like if messages that never came did not count."""
    if not figures or not figures.delivered:
        return [line]
    # Moments are of delivered messages in any case; not every percentile is known of them alone.
    known = {**dict(figures.delivered), **{f"{name}_ms": figures.ms(name) for name in MOMENTS}}
    cells = tuple(significant(known.get(f"{name}_ms")) for name in names)
    return [line, LatencyLine(line.path, DELIVERED_ONLY, cells)]


def is_censored(lines: Sequence[LatencyLine]) -> bool:
    """Whether one of the lines leaves out what never came."""
    return any(line.kind == DELIVERED_ONLY for line in lines)


def _latency_line(
    path: str, kind: str, figures: LatencyFigures | None, trust: Mapping[str, FigureTrust], names: Sequence[str]
) -> LatencyLine:
    """Marked with `>` where messages that never came may make it more; an interval where a figure is bounded."""
    if figures is None:
        return LatencyLine(path, kind, (UNKNOWN,) * len(names))
    cells = tuple(_percentile(figures, name, trust.get(f"{name}_ms")) for name in names)
    lacking = next((name for name in names if figures.ms(name) is None), None)
    # What follows a colon explains the reason, at more length than a line has.
    reason = figures.reasons.get(f"{lacking}_ms", "").partition(": ")[0]
    is_partial = reason and lacking != names[0]
    return LatencyLine(path, kind, cells, reason, "".join(heads([lacking])) if lacking and is_partial else "")


def _percentile(figures: LatencyFigures, name: str, trust: FigureTrust | None) -> str:
    return cell(figures.ms(name), trust, mark="> " if figures.is_least(name) else "")


def rates(result: Result) -> dict[str, str]:
    """The rates that a run has, by their stages."""
    known = {stage: (key, getattr(result.throughput, key)) for stage, key in STAGES.items()}
    return {
        stage: cell(rate, result.trust.get(f"throughput.{key}"), per_second)
        for stage, (key, rate) in known.items()
        if rate is not None
    }


@dataclass(frozen=True, slots=True)
class Account:
    """One count of the delivery in words."""

    count: str
    words: str
    grave: bool = False

    def __str__(self) -> str:
        return f"{self.count} {self.words}"


def went_well(result: Result) -> list[Account]:
    """How far messages got, as far as that is known."""
    delivery = result.delivery
    good = {"received": "received"} if delivery.sent is None else _GOOD
    counts = {name: count for name in good if (count := getattr(delivery, name)) is not None}
    return [Account(_count(result, name, count), good[name]) for name, count in counts.items()]


def troubles(result: Result) -> list[Account]:
    """Every class of trouble that is not empty."""
    found = {name: count for name in _TROUBLES if (count := getattr(result.delivery, name))}
    return [Account(_count(result, name, count), _TROUBLES[name], name in _GRAVE) for name, count in found.items()]


def _count(result: Result, name: str, count: int) -> str:
    return cell(count, result.trust.get(f"delivery.{name}"), whole)


def no_troubles(delivery: DeliverySection) -> str:
    """Which troubles are known to be none; empty where that is not known of any."""
    empty = [words for name, words in _TROUBLES_IN_SHORT.items() if getattr(delivery, name) == 0]
    return f"none {listed(empty, 'or')}" if empty else ""


def cores_by_role(processes: Sequence[ProcessUsage]) -> list[tuple[str, str]]:
    """Each role, in the number that there are of it, and the cores that it used."""
    kinds = ("producer", "consumer", "broker", _APART)
    return [told for kind in kinds if (told := _cores([row for row in processes if _kind(row) == kind], kind))]


def _kind(process: ProcessUsage) -> str:
    """The role of a process; a node of an embedded cluster may be a controller apart from the brokers."""
    is_apart = process.role == "broker" and process.process.startswith("controller-")
    return _APART if is_apart else process.role


def _cores(processes: Sequence[ProcessUsage], kind: str) -> tuple[str, str] | None:
    used = [row.cpu_cores for row in processes if row.cpu_cores is not None]
    if not used:
        return None
    if len(used) > FEW_WORKERS:
        # A node that started again is two processes: `broker-1` and `broker-1.2`.
        count = len({row.process.partition(".")[0] for row in processes})
        return f"{count} {kind}s", f"{cores(min(used))} to {cores(max(used))}"
    return f"{kind}{'s' if len(used) > 1 else ''}", " + ".join(map(cores, used))


def spare(resources: ResourcesSection) -> str:
    """What the machine had to spare, and what it did not get; empty where that is not known."""
    host = resources.host
    if not host:
        return ""
    told = f"{percent(host.idle_share)} idle, {percent(host.steal_share)} steal"
    stopped = host.throttled_periods_share if host.throttled_share else None
    return told if stopped is None else f"{told}, a CPU quota used up in {percent(stopped)} of the time"


def pauses(resources: ResourcesSection) -> str:
    """Pauses of the brokers' collectors; empty where there was nothing to look at."""
    seen = resources.garbage_collection
    return f"{whole(seen.pauses)} GC pauses, longest {milliseconds(seen.longest_ms)}" if seen else ""


def passed(expectations: Sequence[ExpectationResult]) -> str:
    """How many expectations passed."""
    return f"{sum(each.passed for each in expectations)} of {len(expectations)} passed"


def found(expectation: ExpectationResult) -> str:
    """What was found in place of what was wanted, or why nothing was."""
    return expectation.reason or f"found {found_value(expectation)}"


def found_value(expectation: ExpectationResult) -> str:
    """What was found, with as many digits as it takes to see on which side of the bound it is."""
    value, shown = expectation.found, figure(expectation.found)
    if not isinstance(value, float):
        return shown
    bound = parse_bound(expectation.wanted)
    return shown if bound.holds(float(shown.replace(",", ""))) == bound.holds(value) else closely(value)
