"""What `simulate lag` finds, as text and as JSON."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from rich.table import Table

from streamgauge.cli.simulate.checked import checked
from streamgauge.cli.simulate.options import SimulationOptions
from streamgauge.control.simulate import Simulated, SimulatedMoment, Summary, simulate
from streamgauge.control.simulation import TICK_NS, LagModel
from streamgauge.control.theory import Law, laws
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.text.numbers import UNKNOWN, per_second, percent, whole
from streamgauge.report.pages.page import page
from streamgauge.scenario import Scenario, shareable

BAR: Final = 32
"""The longest bar."""
FIGURE_ROWS: Final = 800
_SIGNS: Final = {"at most": "<=", "at least": ">=", "about": "~"}


def simulate_lag(options: SimulationOptions, *, as_json: bool, out: Callable[[str], None]) -> None:
    """Simulate what the options describe, and show it; raises BadInput with everything that is wrong."""
    scenario, model, every_ns = checked(options)
    found, theory = simulate(model, every_ns), laws(model)
    if options.figure:
        from streamgauge.report.figures.simulated import save_simulated

        finely_ns = max(1, model.measure_ns // FIGURE_ROWS // TICK_NS) * TICK_NS
        save_simulated(options.figure, simulate(model, finely_ns), model, theory)
    out(json.dumps(_told(scenario, model, found, theory), indent=2) if as_json else _shown(model, found, theory))


def _told(scenario: Scenario, model: LagModel, found: Simulated, theory: Sequence[Law]) -> dict[str, Any]:
    """The result in JSON."""
    summary = found.summary._asdict()
    return {
        "scenario": shareable(scenario),
        "model": {
            "slots": model.slots,
            "capacity_per_second": model.capacity(0),
            "transit_ms": model.transit_ns / NS_PER_MS,
            "held": model.held,
            "sticky": None
            if model.sticky is None
            else {
                "lasts_ms": None if model.sticky.lasts_ns is None else model.sticky.lasts_ns / NS_PER_MS,
                "messages": model.sticky.messages,
            },
        },
        "rows": [_row(row) for row in found.rows],
        "summary": summary,
        "laws": [{**law._asdict(), "simulated": summary[law.figure]} for law in theory],
    }


def _row(row: SimulatedMoment) -> dict[str, Any]:
    return {
        "second": row.at_ns / NS_PER_SECOND,
        "due": row.due,
        "end": row.end,
        "committed": row.committed,
        "processed": row.processed,
        "lag": row.lag,
        "outstanding": row.outstanding,
        "worst_partition": row.worst,
        "worst_partition_lag": row.worst_lag,
        "paused": row.paused,
        "granted": row.granted,
    }


def _shown(model: LagModel, found: Simulated, theory: Sequence[Law]) -> str:
    paused = ["", "A bar of = : producers are paused."] if any(row.paused for row in found.rows) else []
    return page(_lines(found.rows), *paused, "", *_summed(model, found.summary), "", _beside(found.summary, theory))


def _lines(rows: Sequence[SimulatedMoment]) -> Table:
    """One line for each moment, with a bar for its lag."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in ("Second", "End", "Committed", "Lag", "Outstanding", "Worst"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    most = max(1, *(row.lag for row in rows)) if rows else 1
    for row in rows:
        table.add_row(
            f"{row.at_ns / NS_PER_SECOND:g}",
            *(whole(each) for each in (row.end, row.committed, row.lag, row.outstanding)),
            f"{row.worst}: {whole(row.worst_lag)}",
            ("=" if row.paused else "#") * round(BAR * row.lag / most),
        )
    return table


def _summed(model: LagModel, summary: Summary) -> Iterator[str]:
    """The summary, a few words for each line."""
    sticky = "round robin" if model.sticky is None else "random partitions"
    yield (
        f"Model        {whole(model.partitions)} partitions, {whole(model.producers)} producers, {sticky}, "
        f"{whole(model.slots)} slots, capacity {per_second(model.capacity(0))}"
    )
    yield (
        f"Rates        offered {per_second(summary.offered_per_second)}, sent {per_second(summary.sent_per_second)}, "
        f"processed {per_second(summary.processed_per_second)}; slots busy {percent(summary.utilisation)}"
    )
    yield f"Lag          committed: peak {whole(summary.peak_lag)}, mean {whole(summary.mean_lag)}"
    yield f"Outstanding  peak {whole(summary.peak_outstanding)}, mean {whole(summary.mean_outstanding)}"
    yield (
        f"Throttled    {percent(summary.held_share)} of the time, {whole(summary.pauses)} pauses; "
        f"{whole(summary.held)} messages waiting at the end, {whole(summary.dropped)} dropped"
    )


def _beside(summary: Summary, theory: Sequence[Law]) -> Table:
    """What was simulated, beside what it must come to."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("Theory", no_wrap=True)
    table.add_column("Simulated", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    figures = summary._asdict()
    for law in theory:
        show = percent if law.figure == "utilisation" else whole
        found = figures.get(law.figure)
        table.add_row(
            law.figure.replace("_", " "),
            UNKNOWN if found is None else show(found),
            _SIGNS[law.relation],
            show(law.value),
            law.says,
        )
    return table
