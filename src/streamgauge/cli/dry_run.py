"""The option `--dry-run`: what a run would do, told instead of done."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

from streamgauge.domain.text.numbers import seconds, size, whole
from streamgauge.domain.text.quantities import format_duration
from streamgauge.domain.text.shown import one_line
from streamgauge.runs.request.options import ready_seconds
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.scenario_file import yaml_text
from streamgauge.scenario import shareable
from streamgauge.scenario.model.environment.faults.schedule import Occurrence, occurrences
from streamgauge.scenario.volume import Estimate, estimate

_MOST_FAULTS: Final = 100
"""Faults that are listed."""


def forecast(request: Request, converted: Sequence[str] = (), *, as_json: bool) -> str:
    """What the request comes to, as comments above the resolved scenario, so that all of it is a scenario file.

    `converted` tells what became of a specification of another tool.
    """
    embedded = request.bootstrap is None
    found = estimate(request.scenario, embedded=embedded, replayed=request.replayed_messages)
    ready, who = ready_seconds(request.scenario, embedded=embedded)
    notes, faults = [*converted, *request.advice()], [_fault(each) for each in _occurrences(request)]
    if as_json:
        told = {"runs_on": _where(request), "ready_seconds": ready, **asdict(found), "notes": notes, "faults": faults}
        return json.dumps({**told, "scenario": shareable(request.scenario)}, indent=2)
    lines = [*_lines(request, found, f"up to {ready} s until {who} are ready"), *(f"Note: {note}" for note in notes)]
    lines += [f"Fault: {each}" for each in faults[:_MOST_FAULTS]]
    lines += [f"Fault: {len(faults) - _MOST_FAULTS} more"] if len(faults) > _MOST_FAULTS else []
    return "\n".join([*(f"# {line}" for line in lines), yaml_text(request.scenario)])


def _lines(request: Request, found: Estimate, begin: str) -> Iterator[str]:
    yield f"Dry run: nothing was started. It would run on {_where(request)}."
    start_at = request.scenario.phases.start_at
    begin = f"load from {start_at}" if start_at else begin
    load = f"{'at most ' if found.at_most else ''}{seconds(found.load_seconds)} of load"
    yield f"Duration: {begin}, {load}, at most {seconds(found.drain_seconds)} of drain, and the analysis."
    if request.scenario.load:
        messages = "as many as the clients accept" if found.messages is None else f"about {whole(found.messages)}"
        yield f"Messages: {messages}."
    written = "unknown" if found.bytes_written is None else f"at most about {size(found.bytes_written)}"
    yield f"Bytes written below {one_line(str(request.out))}: {written}."


def _occurrences(request: Request) -> list[Occurrence]:
    """All faults, those of a nemesis as they are drawn."""
    scenario = request.scenario
    return occurrences(scenario.faults, scenario.phases.measure_ns, scenario.seed)


def _fault(each: Occurrence) -> str:
    """`at 12.5s kill of random-broker for 2s`."""
    fault = each.fault
    lasting = f" for {format_duration(fault.for_)}" if fault.for_ else ""
    again = f" every {format_duration(fault.every)}" if fault.when and fault.every else ""
    waits = ", ".join(f"{name} {value}" for name, value in fault.when.model_dump().items()) if fault.when else ""
    when = f" when {waits}{again}," if waits else ""
    return f"at {format_duration(each.at_ns)}{when} {fault.kind} of {fault.target}{lasting}"


def _where(request: Request) -> str:
    """The cluster, and who carries out a pipeline."""
    pipeline = request.scenario.pipeline
    nodes = request.scenario.brokers + request.scenario.cluster.controllers
    ours = f"an embedded cluster of {nodes} nodes" if nodes > 1 else "an embedded broker"
    security = request.scenario.cluster.security
    guarded = f" with {security.protocol}" if security.protocol != "PLAINTEXT" else ""
    broker = f"{ours}{guarded} (Java {request.java.version})" if request.bootstrap is None else request.bootstrap
    if pipeline is None or pipeline.engine.client:
        return broker
    return f"{broker}, with Spark {'at ' + pipeline.master if pipeline.master else 'on this machine'}"
