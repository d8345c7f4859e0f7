"""The result on one screen: the verdict first, then what was run, what was measured, and where it is kept."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.domain.figures import UNKNOWN, listed, milliseconds, per_second, percent, significant, whole

Result = Mapping[str, Any]

MIN_WIDTH: Final = 80
MAX_WIDTH: Final = 100
GAP: Final = 2
FEW_WORKERS: Final = 4
"""More workers of one role than these are told by their range."""

_WIDEST: Final = "Latency, ms"
_STYLES: Final = {"fail": "bold red", "warn": "yellow", "unknown": "magenta"}
_STATUS_WORDS: Final = {"pass": "passed", "fail": "failed", "warn": "warned", "unknown": "unknown"}
_FIGURES: Final = ("p50", "p99", "p99_9", "max")
_PATHS: Final = {"ack": "ack", "end_to_end": "end-to-end", "processing": "processing"}
_TROUBLES: Final = {
    "failed": "failed to send",
    "unsent": "never sent",
    "lost": "lost",
    "undelivered": "undelivered",
    "expired": "expired",
    "unknown": "undecided",
    "duplicate_producer": "written twice",
    "duplicate_consumer": "received twice",
    "reordered": "reordered",
    "corrupt": "corrupt",
    "foreign": "foreign",
    "unrecorded": "unrecorded",
    "unacked_received": "received though not acknowledged",
    "aborted": "aborted",
}
_TROUBLES_IN_SHORT: Final = {
    "failed": "failed",
    "lost": "lost",
    "undelivered": "undelivered",
    "duplicate_consumer": "repeated",
    "reordered": "reordered",
    "corrupt": "corrupt",
}
_GRAVE: Final = frozenset({"failed", "unsent", "lost", "undelivered", "expired", "corrupt", "unrecorded"})


def summary(result: Result, folder: Path | None = None, *, colour: bool | None = None, width: int | None = None) -> str:
    """The result as text of at most 100 columns, in colour where standard output is a terminal that wants it.

    `folder` is named as the place of the files; `colour` and `width` override what the terminal says.
    """
    terminal = Console()
    console = Console(
        file=io.StringIO(),
        force_terminal=terminal.is_terminal if colour is None else colour,
        width=width or max(MIN_WIDTH, min(MAX_WIDTH, terminal.width)),
        highlight=False,
        emoji=False,
        markup=False,
    )
    with console.capture() as captured:
        console.print(screen(result))
        # A path is there to be copied: it is never broken.
        files = str(folder or result["run"]["id"])
        console.print(Text.assemble((f"{'Files':<{len(_WIDEST) + GAP}}", "bold"), (files, "dim")), soft_wrap=True)
    return "\n".join(line.rstrip() for line in captured.get().rstrip().split("\n"))


def screen(result: Result) -> RenderableType:
    """All but the last line, which names the files."""
    body = Table.grid(padding=(0, GAP))
    body.add_column(no_wrap=True, style="bold")
    body.add_column()
    for label, content in _sections(result):
        body.add_row(label, content)
    return Group(_headline(result), *_troubled_checks(result), "", body)


def _sections(result: Result) -> Iterator[tuple[str, RenderableType]]:
    yield "Run", Text(_what_was_run(result["run"], result["throughput"]["measured_seconds"]))
    yield "Throughput", Text(_throughput(result["throughput"]))
    yield "", ""
    yield _WIDEST, _latency(result["latency"])
    yield "", ""
    yield "Delivery", _delivery(result["delivery"])
    yield "Resources", Text(_resources(result["resources"]))
    if result["expectations"]:
        yield "Expected", _expected(result["expectations"])


def _headline(result: Result) -> Text:
    verdict, run = result["verdict"], result["run"]
    judgement = {True: ("VALID", "bold green"), False: ("NOT VALID", "bold red"), None: ("NOT JUDGED", "bold yellow")}
    counts = [
        f"{len(found)} {words}"
        for status, words in _STATUS_WORDS.items()
        if (found := [check for check in verdict["checks"] if check["status"] == status])
    ]
    line = Text.assemble(judgement[verdict["valid"]], "  ", (run["name"], "bold"))
    line.append(f", {run['ending'] or 'without an end'}")
    return line.append(f"; checks: {', '.join(counts)}" if counts else "; no check was made", style="dim")


def _troubled_checks(result: Result) -> Iterator[RenderableType]:
    """What did not pass: the gravest first, each with what was seen and what to do."""
    checks = result["verdict"]["checks"]
    grid = Table.grid(padding=(0, 2))
    for _ in range(3):
        grid.add_column(no_wrap=True)
    grid.add_column()
    for status, style in _STYLES.items():
        for check in (check for check in checks if check["status"] == status):
            seen = Text(f"{check['evidence']}\n").append(check["advice"], style="dim")
            about = Text(check["about"], style="dim")
            grid.add_row(Text(f"  {status}", style=style), Text(check["name"], style=style), about, seen)
    if grid.row_count:
        yield ""
        yield grid


def _what_was_run(run: Result, seconds: float | None) -> str:
    """The scenario in one line, and on what it ran."""
    scenario, broker = run["scenario"], run["broker"]
    load, consume, topic = scenario.get("load"), scenario.get("consume"), scenario.get("topic")
    chain = []
    if isinstance(load, Mapping):
        rate = "as fast as possible" if load.get("rate") == "max" else load.get("rate", UNKNOWN)
        chain.append(f"{load.get('producers', UNKNOWN)} producers, {rate}, {load.get('size', UNKNOWN)} bytes")
    if isinstance(topic, Mapping):
        chain.append(f"{topic.get('partitions', UNKNOWN)} partitions")
    if isinstance(consume, Mapping):
        chain.append(f"{consume.get('consumers', UNKNOWN)} consumers")
    where = "embedded broker" if broker["embedded"] else broker["bootstrap"]
    version = f" {broker['version']}" if broker["version"] else ""
    measured = f"measured {seconds:.3g} s" if seconds else "nothing was measured"
    return f"{' -> '.join(chain)}\n{measured}, Kafka{version}, {where}"


def _throughput(throughput: Result) -> str:
    stages = ("asked", "sent", "acked", "received")
    known = [(stage, rate) for stage in stages if (rate := throughput[f"{stage}_per_second"]) is not None]
    parts = [f"{stage} {per_second(rate)}" for stage, rate in known]
    megabytes = throughput["sent_mb_per_second"] or throughput["received_mb_per_second"]
    return "   ".join([*parts, f"{significant(megabytes)} MB/s"] if megabytes else parts) or UNKNOWN


def _latency(latency: Result) -> RenderableType:
    """One line for each latency that the run has, or could have."""
    table = Table.grid(padding=(0, 2))
    for justify in ("left", "left", "right", "right", "right", "right", "left"):
        table.add_column(justify=justify, no_wrap=justify == "right")
    table.add_row("", "", *(Text(name.replace("_", "."), style="dim") for name in _FIGURES))
    for path, words in _PATHS.items():
        shown = [(kind, latency[path][kind]) for kind in ("response", "service")]
        if any(figures and figures["p50_ms"] is not None for _, figures in shown):
            for turn, (kind, figures) in enumerate(shown):
                table.add_row("" if turn else words, kind, *_figures(figures))
    if table.row_count == 1:
        table.add_row("poll", "", *_figures(latency["poll"]))
    return table


def _figures(figures: Result | None) -> Iterable[RenderableType]:
    """The cells of one latency: `>` where messages that never came may make it more, and why where there is nothing."""
    if figures is None:
        return [UNKNOWN] * len(_FIGURES)
    marks = ["> " if f"{name}_hi_ms" in figures else "" for name in _FIGURES]
    cells = [mark + significant(figures[f"{name}_ms"]) for name, mark in zip(_FIGURES, marks, strict=True)]
    lacking = next((name for name in _FIGURES if figures[f"{name}_ms"] is None), None)
    return [*cells, Text(figures["reasons"].get(f"{lacking}_ms", ""), style="dim")]


def _delivery(delivery: Result) -> Text:
    """The account in words: what went well, then every class of trouble that is not empty."""
    good = {"sent": "sent", "acked": "acknowledged", "delivered_once": "delivered once"}
    if delivery["sent"] is None:
        good = {"received": "received"}
    known = [f"{whole(delivery[name])} {words}" for name, words in good.items() if delivery[name] is not None]
    out = Text(", ".join(known) or "not known")
    troubles = [(name, words) for name, words in _TROUBLES.items() if delivery[name]]
    for name, words in troubles:
        out.append("\n" if name == troubles[0][0] else ", ")
        out.append(f"{whole(delivery[name])} {words}", style="bold red" if name in _GRAVE else "yellow")
    if not troubles:
        empty = [words for name, words in _TROUBLES_IN_SHORT.items() if delivery[name] == 0]
        out.append(f"\nnone {listed(empty, 'or')}" if empty else "")
    return out


def _resources(resources: Result) -> str:
    """CPU by role, what the machine had to spare, pauses of the collector."""
    by_role = [text for role in ("producer", "consumer", "broker") if (text := _cores(resources["processes"], role))]
    machine, host, pauses = [], resources["host"], resources["garbage_collection"]
    if host:
        machine.append(f"machine {percent(host['idle_share'])} idle, {percent(host['steal_share'])} stolen")
    if pauses:
        machine.append(f"{whole(pauses['pauses'])} collector pauses, longest {milliseconds(pauses['longest_ms'])}")
    return (
        "\n".join(filter(None, [", ".join(by_role) and f"cores: {', '.join(by_role)}", ", ".join(machine)])) or UNKNOWN
    )


def _cores(processes: Sequence[Result], role: str) -> str:
    cores = [row["cpu_cores"] for row in processes if row["role"] == role and row["cpu_cores"] is not None]
    if not cores:
        return ""
    if len(cores) > FEW_WORKERS:
        return f"{len(cores)} {role}s {min(cores):.2f} to {max(cores):.2f}"
    return f"{role}{'s' if len(cores) > 1 else ''} {' + '.join(f'{each:.2f}' for each in cores)}"


def _expected(expectations: Sequence[Result]) -> Text:
    broken = [each for each in expectations if not each["held"]]
    out = Text(f"{len(expectations) - len(broken)} of {len(expectations)} held")
    for each in broken:
        found = each["reason"] or f"found {each['found']}"
        out.append(f"\n{each['path']} wanted {each['wanted']}: {found}", style="bold red")
    return out
