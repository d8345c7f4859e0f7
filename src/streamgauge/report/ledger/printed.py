"""The ledger and the life of a message as text."""

from collections.abc import Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from streamgauge.delivery.log import TRUNCATED
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.text.numbers import UNKNOWN, whole
from streamgauge.report.ledger.audited import AFTERMATH_SECONDS, FaultProblems, LedgerClass, RunLedger
from streamgauge.report.ledger.life import MessageLife
from streamgauge.report.pages.page import page, plain

_MOST_PLACES: Final = 4


def ledger_text(ledger: RunLedger) -> str:
    """The ledger of a run: counts, classes with their first examples, and faults."""
    counts = ledger.counts
    told = ((name, words) for name, words in _WELL if name in counts)
    parts: list[Text | Table | str] = [
        Text(f"{plain(ledger.run)}: {', '.join(f'{whole(counts[name])} {words}' for name, words in told)}")
    ]
    if ledger.classes:
        parts += [Text(""), _classes(ledger.classes)]
    else:
        parts += [Text("No message has a delivery problem.", style="green")]
    if ledger.faults:
        parts += [Text(""), _faults(ledger.faults)]
    if why := ledger.reasons.get(TRUNCATED):
        parts += [Text(f"\n{TRUNCATED}: not known, {plain(why)}", style="dim")]
    if any(example.name for each in ledger.classes for example in each.examples):
        parts += ["", "The life of one message: streamgauge trace RUN MESSAGE"]
    return page(*parts)


_WELL: Final = (("sent", "sent"), ("acked", "acknowledged"), ("delivered_once", "delivered once"))


def _classes(classes: Sequence[LedgerClass]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for head in ("Class", "Count", "Group", "Due in second", "Partitions", "First"):
        table.add_column(head, overflow="fold", justify="right" if head == "Count" else "left")
    for each in classes:
        names = [plain(example.name) for example in each.examples if example.name]
        table.add_row(
            each.name, whole(each.count), plain(each.group or UNKNOWN), _span(each), _places(each), "\n".join(names)
        )
    return table


def _span(each: LedgerClass) -> str:
    if each.first_second is None:
        return UNKNOWN
    if each.first_second == each.last_second:
        return str(each.first_second)
    return f"{each.first_second} to {each.last_second}"


def _places(each: LedgerClass) -> str:
    """The partitions with the most of them."""
    shown = [f"{plain(place)}: {whole(count)}" for place, count in list(each.by_partition.items())[:_MOST_PLACES]]
    more = len(each.by_partition) - len(shown)
    return "\n".join([*shown, *([f"and {more} more"] if more else [])]) or UNKNOWN


def _faults(faults: Sequence[FaultProblems]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for head in ("Fault", "Target", "Second", f"Problems due until {AFTERMATH_SECONDS} s after its end"):
        table.add_column(head, overflow="fold")
    for each in faults:
        ended = UNKNOWN if each.end_second is None else f"{each.end_second:.3f}"
        problems = ", ".join(f"{whole(count)} {name}" for name, count in each.problems.items()) or "none"
        table.add_row(plain(each.kind), plain(each.target), f"{each.begin_second:.3f} to {ended}", problems)
    return table


def life_text(lives: Sequence[MessageLife]) -> str:
    """The life of each message, one below the other."""
    parts: list[Text | Table | str] = []
    for life in lives:
        where = f", {plain(life.topic)}" if life.topic else ""
        at = "" if life.partition is None else f"/{life.partition}"
        offset = "" if life.offset is None else f"@{life.offset}"
        size = "" if life.size_bytes is None else f", {whole(life.size_bytes)} bytes"
        parts += [] if not parts else [Text("")]
        parts += [Text(f"{plain(life.name)}{where}{at}{offset}{size}", style="bold"), Text(plain(life.state))]
        if life.classes:
            parts += [Text(f"counted as {', '.join(life.classes)}", style="bold red")]
        parts += [_events(life)]
    return page(*parts)


def _events(life: MessageLife) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("Second", justify="right")
    table.add_column("ms", justify="right")
    table.add_column("Event", no_wrap=True)
    table.add_column("", overflow="fold")
    begun = next((each.at_ns for each in life.events if each.at_ns is not None and each.event in {"due", "sent"}), None)
    for each in life.events:
        second = UNKNOWN if each.second is None else f"{each.second:.6f}"
        since = UNKNOWN if each.at_ns is None or begun is None else f"{(each.at_ns - begun) / NS_PER_MS:+,.3f}"
        table.add_row(second, since, each.event, plain(each.detail))
    return table
