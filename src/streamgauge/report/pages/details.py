"""What few runs have, in words: missing messages, transactions, processing, connections, bytes on the wire, steps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from streamgauge.domain.text.numbers import (
    UNKNOWN,
    milliseconds,
    per_second,
    percent,
    plural,
    significant,
    whole,
)
from streamgauge.report.pages.belief import cell, in_words
from streamgauge.result import Result
from streamgauge.result.model.clients import ConnectionsOfKind
from streamgauge.result.model.latency import LatencyFigures
from streamgauge.result.model.throughput import StepResult
from streamgauge.result.model.trust import FigureTrust

NAMED: Final = 10
"""Messages that are named where there is little room."""
MOST_STEPS: Final = 40
"""Steps of a load that are shown; all are in the table `steps`."""
STEP_HEADS: Final = (
    "step", "target", "achieved", "p50", "p90", "p99", "p99.9", "max", "service p50", "service p99", "errors", "held",
)  # fmt: skip


def also(result: Result) -> dict[str, str]:
    """What few runs have, in a line each; nothing of what a run has none of."""
    told = {
        "Missing": missing(result),
        "Transactions": transactions(result),
        "Replicas": replicas(result),
        "Processing": processing(result),
        "Connections": connections(result),
        "Wire": wire(result),
        "Codecs": codecs(result),
    }
    return {label: text for label, text in told.items() if text}


def missing(result: Result) -> str:
    """The first messages that did not come back, by producer and sequence; empty where none is missing."""
    by_producer: dict[str, list[str]] = {}
    named = result.missing
    for each in named[:NAMED]:
        producer = "of unknown producer" if each.producer is None else f"of producer {each.producer}"
        seq = UNKNOWN if each.seq is None else str(each.seq)
        by_producer.setdefault(f"{each.class_} {producer}", []).append(seq)
    told = "; ".join(f"{who}: {', '.join(seqs)}" for who, seqs in by_producer.items())
    return f"{told}; more in the table problems" if len(named) > NAMED else told


def connections(result: Result) -> str:
    """What became of connections, kind by kind; empty where there were none."""

    def shown(kind: str, name: str, words: Callable[[float | None], str]) -> str:
        value = getattr(getattr(result.connections, kind), name)
        return in_words(cell(value, result.trust.get(f"connections.{kind}.{name}"), words))

    told = []
    for kind, each in result.connections or ():
        if not isinstance(each, ConnectionsOfKind):
            continue
        target = f" of {per_second(each.target_per_second)}" if each.target_per_second is not None else ""
        failed = f"{whole(each.failed)} failed" if each.failed else "none failed"
        times = f"p50 {shown(kind, 'p50_ms', milliseconds)}, p99 {shown(kind, 'p99_ms', milliseconds)}"
        told.append(f"{kind.replace('_', ' ')} {shown(kind, 'per_second', per_second)}{target}, {times}, {failed}")
    return "; ".join(told)


def replicas(result: Result) -> str:
    """Replicas and leaders in the measure phase; empty where the run did not ask for them."""
    found = result.replication
    if found is None:
        return ""
    count = f"{whole(found.replicas)} of each partition" if found.replicas else "different numbers"
    moved = f"{whole(found.leader_changes)} {plural(found.leader_changes, 'leader change')}"
    if controlled := found.controller_changes:
        moved += f", {whole(controlled)} {plural(controlled, 'controller change')}"
    if found.most_behind:
        moved += f"; a broker was up to {whole(found.most_behind)} messages of a partition behind"
    # A partition that lacks its only replica has no leader.
    lacking = found.under_replicated_partitions if found.replicas != 1 else 0
    alone, of = found.leaderless_partitions, whole(found.partitions)
    if not lacking and not alone:
        return f"{count}{', all in sync' if found.replicas != 1 else ''}; {moved}"
    least = "" if found.least_in_sync is None else f" (as few as {whole(found.least_in_sync)} in sync)"
    lacked = f"lacked some, for up to {significant(found.under_replicated_seconds)} s{least}"
    led = f"had no leader, for up to {significant(found.leaderless_seconds)} s"
    told = [f"{whole(each)} of {of} partitions {what}" for each, what in ((lacking, lacked), (alone, led)) if each]
    return f"{count}; {', '.join(told)}; {moved}"


def wire(result: Result) -> str:
    """What producers put on the wire for the bytes of their messages; empty where nobody counted."""
    sent = result.wire and result.wire.producers
    if not sent or sent.ratio is None:
        return ""
    messages = sent.messages_per_request
    each = f", {significant(messages)} messages a request" if messages is not None else ""
    again = f", {whole(sent.retried_messages)} messages retried" if sent.retried_messages else ""
    share = percent(sent.ratio) if sent.ratio < 1 else f"{significant(sent.ratio)} times"
    told = f"payload is {share}{' of' if sent.ratio < 1 else ''} the bytes on the wire{each}{again}"
    return told + _of_all_clients(result)


def _of_all_clients(result: Result) -> str:
    """What all clients put on the wire for a message, where acknowledging single messages adds to it."""
    wire = result.wire
    if not result.redelivery or not wire or wire.bytes_per_message is None or wire.requests_per_message is None:
        return ""
    size, requests = significant(wire.bytes_per_message), significant(wire.requests_per_message)
    return f"; all clients: {size} bytes and {requests} requests a message"


def codecs(result: Result) -> str:
    """How small codecs make batches of the load, and the CPU time of it; empty where nobody asked."""
    found = result.compression
    if found is None:
        return ""
    each = [
        f"{codec.codec} {significant(codec.batch_ratio)} ({significant(codec.encode_ms_per_mb.median)})"
        for codec in sorted(found.codecs, key=lambda codec: -codec.batch_ratio)
        if codec.encode_ms_per_mb
    ]
    size = significant(found.batches.mean_messages)
    return f"ratio (CPU ms per MB) of batches of {size} messages: {', '.join(each)}"


def transactions(result: Result) -> str:
    """How transactions ended, and how long they took; empty where there were none."""
    ended = result.transactions
    if not ended:
        return ""
    told = [f"{whole(each.count)} {outcome}" for outcome, each in ended if each.count]
    took = ended.committed
    rate = f", {per_second(took.per_second)} of {significant(took.mean_messages)} messages" if took.count else ""
    times = f", p50 {milliseconds(took.p50_ms)}, max {milliseconds(took.max_ms)}" if took.count else ""
    return f"{', '.join(told) or 'none'}{rate}{times}"


def processing(result: Result) -> str:
    """What consumers did with messages, beside what they were asked to; empty where they did nothing."""
    done = result.processing
    if not done:
        return ""
    target = f" (target {milliseconds(done.target_ms)})" if done.target_ms is not None else ""
    left = f", {whole(done.unprocessed)} not processed" if done.unprocessed else ""
    busy = f", busy {percent(done.busy_share)} of the time" if done.busy_share is not None else ""
    return f"{whole(done.processed)} in {milliseconds(done.mean_ms)} each{target}{left}{busy}"


def steps(result: Result) -> list[list[str]]:
    """A row of texts for each step of the load, under `STEP_HEADS`; none of a load without steps."""
    return [_step(each, place, result.trust) for place, each in enumerate((result.steps or ())[:MOST_STEPS])]


def steps_held(result: Result) -> str:
    """Up to which rate every step held; empty for a load without steps."""
    broke = [each.target_per_second for each in result.steps or () if not each.held]
    held = [each.target_per_second for each in result.steps or () if each.held and each.target_per_second > 0]
    below = [rate for rate in held if not broke or rate < min(broke)]
    if not result.steps:
        return ""
    more = len(result.steps) - MOST_STEPS
    cut = f"; {more} more steps are in the table steps" if more > 0 else ""
    return f"{f'every step up to {per_second(max(below))} held' if below else 'no rate held'}{cut}"


def _step(step: StepResult, place: int, trust: Mapping[str, FigureTrust]) -> list[str]:
    def figure(kind: str, name: str) -> str:
        return _figure(getattr(step, kind), name, trust.get(f"steps.{place}.{kind}.{name}_ms"))

    achieved = "acked_per_second" if step.received_per_second is None else "received_per_second"
    return [
        str(step.step),
        per_second(step.target_per_second),
        cell(getattr(step, achieved), trust.get(f"steps.{place}.{achieved}"), per_second),
        *(figure("response", name) for name in ("p50", "p90", "p99", "p99_9", "max")),
        *(figure("service", name) for name in ("p50", "p99")),
        whole(step.errors),
        _held(step),
    ]


def _figure(latency: LatencyFigures | None, name: str, trust: FigureTrust | None) -> str:
    value = latency.ms(name) if latency else None
    is_least = latency is not None and value is not None and latency.is_least(name)
    return cell(value, trust, mark="> " if is_least else "")


def _held(step: StepResult) -> str:
    """Whether it held; the figures that did not keep to what is expected."""
    broke = [_short(each.path) for each in step.expectations if not each.passed]
    return "yes" if step.held else f"no: {', '.join(broke)}" if broke else "no"


def _short(path: str) -> str:
    """The figure of a path in a word or two: `p99`, `service p99`, `acked`."""
    name = path.rpartition(".")[2].removesuffix("_ms").removesuffix("_per_second").replace("_", ".")
    return f"service {name}" if ".service." in path else name


def step_table(result: Result, heads: Sequence[str]) -> list[list[str]]:
    """The rows of `steps` with these columns alone."""
    places = [STEP_HEADS.index(head) for head in heads]
    return [[row[place] for place in places] for row in steps(result)]
