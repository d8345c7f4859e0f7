"""The option `--dry-run`: what a run would do, told instead of done."""

import json
from collections.abc import Iterator
from dataclasses import asdict

from streamgauge.domain.text.numbers import seconds, size, whole
from streamgauge.domain.text.shown import one_line
from streamgauge.runs.request.options import ready_seconds
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.scenario_file import yaml_text
from streamgauge.scenario import shareable
from streamgauge.scenario.volume import Estimate, estimate


def forecast(request: Request, *, as_json: bool) -> str:
    """What the request comes to, as comments above the resolved scenario, so that all of it is a scenario file."""
    embedded = request.bootstrap is None
    found = estimate(request.scenario, embedded=embedded)
    ready, who = ready_seconds(request.scenario, embedded=embedded)
    notes = request.advice()
    if as_json:
        told = {"runs_on": _where(request), "ready_seconds": ready, **asdict(found), "notes": notes}
        return json.dumps({**told, "scenario": shareable(request.scenario)}, indent=2)
    lines = [*_lines(request, found, f"up to {ready} s until {who} are ready"), *(f"Note: {note}" for note in notes)]
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


def _where(request: Request) -> str:
    """The cluster, and who carries out a pipeline."""
    pipeline = request.scenario.pipeline
    broker = f"an embedded broker (Java {request.java.version})" if request.bootstrap is None else request.bootstrap
    if pipeline is None or pipeline.engine.client:
        return broker
    return f"{broker}, with Spark {'at ' + pipeline.master if pipeline.master else 'on this machine'}"
