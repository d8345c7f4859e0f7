"""What few runs have, in words: messages that are missing, transactions, processing, connections, bytes on the wire."""

from collections.abc import Callable
from typing import Final

from streamgauge.domain.text.numbers import (
    UNKNOWN,
    milliseconds,
    per_second,
    percent,
    significant,
    whole,
)
from streamgauge.report.pages.belief import cell, in_words
from streamgauge.result import Result
from streamgauge.result.model.clients import ConnectionsOfKind

NAMED: Final = 10
"""Messages that are named where there is little room."""


def also(result: Result) -> dict[str, str]:
    """What few runs have, in a line each; nothing of what a run has none of."""
    told = {
        "Missing": missing(result),
        "Transactions": transactions(result),
        "Processing": processing(result),
        "Connections": connections(result),
        "Wire": wire(result),
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
        asked = f" of {per_second(each.target_per_second)}" if each.target_per_second is not None else ""
        failed = f"{whole(each.failed)} failed" if each.failed else "none failed"
        times = f"p50 {shown(kind, 'p50_ms', milliseconds)}, p99 {shown(kind, 'p99_ms', milliseconds)}"
        told.append(f"{kind.replace('_', ' ')} {shown(kind, 'per_second', per_second)}{asked}, {times}, {failed}")
    return "; ".join(told)


def wire(result: Result) -> str:
    """What producers put on the wire for the bytes of their messages; empty where nobody counted."""
    sent = result.wire and result.wire.producers
    if not sent or sent.ratio is None:
        return ""
    messages = sent.messages_per_request
    each = f", {significant(messages)} messages a request" if messages is not None else ""
    share = percent(sent.ratio) if sent.ratio < 1 else f"{significant(sent.ratio)} times"
    return f"payload is {share}{' of' if sent.ratio < 1 else ''} the bytes on the wire{each}"


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
    asked = f" (target {milliseconds(done.target_ms)})" if done.target_ms is not None else ""
    left = f", {whole(done.unprocessed)} not processed" if done.unprocessed else ""
    busy = f", busy {percent(done.busy_share)} of the time" if done.busy_share is not None else ""
    return f"{whole(done.processed)} in {milliseconds(done.mean_ms)} each{asked}{left}{busy}"
