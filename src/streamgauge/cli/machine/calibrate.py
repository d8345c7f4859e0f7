"""The command `calibrate`: what was planted beside what was measured."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from streamgauge.domain.errors import BadInput, BadValue
from streamgauge.domain.text.numbers import UNKNOWN, listed, significant, whole
from streamgauge.domain.text.quantities import parse_rate_per_second
from streamgauge.domain.text.shown import shown
from streamgauge.record.calibrations import keep_calibrations
from streamgauge.report.pages.page import page
from streamgauge.runs.machine.calibrate.compared import FIGURES, INVENTED, NAMES, PLANTED, Compared, Figures
from streamgauge.runs.machine.calibrate.planned import Planned
from streamgauge.runs.machine.calibrate.round_trip import shifts_ms
from streamgauge.runs.machine.calibrate.run import calibrate as carry_out
from streamgauge.runs.machine.calibrate.run import kept_as
from streamgauge.runs.request.options import checked_java
from streamgauge.verdict.exits import Exit

RATES: Final = "1k,10k,100k"
SECONDS: Final = 8.0
QUICK_RATES: Final = "1k"
QUICK_SECONDS: Final = 2.0
MOST: Final = 1_000_000
"""The highest rate that may be asked for."""
UNTESTED: Final = """\
Error = measured - planted. Not tested by this: librdkafka's threads when they wait for a core, how its fetches wake
up, and the broker. Errors of latency include what other load on this machine did meanwhile."""
ABREAST: Final = 3
"""So many rates fit side by side."""
_SPACES: Final = str.maketrans("._", "  ")


def calibrate(
    rates: str | None,
    seconds: float | None,
    *,
    quick: bool,
    as_json: bool,
    out: Callable[[str], None],
    progress: Callable[[str], None],
) -> Exit:
    """Measure a modelled broker, show the errors and keep them; NOT_VALID where a count is not what was planted."""
    lasts = seconds or (QUICK_SECONDS if quick else SECONDS)
    asked = _rates(rates or (QUICK_RATES if quick else RATES))
    found = carry_out([Planned(rate, lasts, 0.5 if quick else 1.0) for rate in asked], checked_java(), progress)
    shifts = {} if quick else shifts_ms()
    file = keep_calibrations(kept_as(found))
    out(json.dumps(_document(found, shifts, file), indent=2) if as_json else _page(found, shifts, file))
    return Exit.NOT_VALID if any(each.miscounted for each in found) else Exit.DONE


def _rates(text: str) -> list[int]:
    """The rates of `1k,10k`; raises BadInput with what is wrong."""
    try:
        rates = [round(parse_rate_per_second(each)) for each in text.split(",")]
    except BadValue as error:
        raise BadInput([error.at("--rates", shown("--rates", text))]) from error
    if not all(100 <= rate <= MOST for rate in rates) or len(set(rates)) < len(rates):
        what = f"{text}: not different rates from 100 to {MOST:,} messages a second"
        raise BadInput.single("--rates", what, f"Write some like {RATES}")
    return rates


def _document(found: Sequence[Compared], shifts: Mapping[int, float], file: Path) -> dict[str, Any]:
    rates = [
        {
            "rate": each.rate,
            "planted": _told(each.planted),
            "measured": _told(each.measured) | {"intervals_ms": each.measured.intervals_ms},
            "unsent": each.unsent,
            "errors_ms": each.errors_ms,
            "outside": each.outside,
            "miscounted": each.miscounted,
        }
        for each in found
    ]
    return {"rates": rates, "round_trip_shifts_ms": shifts, "kept": str(file)}


def _told(figures: Figures) -> dict[str, Any]:
    return {"latencies_ms": figures.latencies_ms, "counts": figures.counts}


def _page(found: Sequence[Compared], shifts: Mapping[int, float], file: Path) -> str:
    tables = [part for at in range(0, len(found), ABREAST) for part in (_table(found[at : at + ABREAST]), "")]
    counts = [line for each in found for line in (*_counts(each), *_intervals(each))]
    return page(*tables, *counts, *_round_trips(shifts), "", UNTESTED, f"Kept in {file}")


def _table(found: Sequence[Compared]) -> Table:
    """One row for each figure, and for each rate what was planted, what was found, and the error."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("\nms", no_wrap=True)
    table.add_column()
    for each in found:
        for title in (f"{whole(each.rate)}/s\nplanted", "\nfound", "\nerror"):
            table.add_column(title, justify="right", no_wrap=True)
    for name in NAMES:
        kind, _, figure = name.rpartition(".")
        cells: list[str] = []
        for each in found:
            error = each.errors_ms.get(name)
            cells += [significant(each.planted.latencies_ms[name]), significant(each.measured.latencies_ms[name])]
            cells.append(UNKNOWN if error is None else f"{error:+.3f}")
        first = kind.translate(_SPACES) if figure == FIGURES[0] else ""
        table.add_row(first, figure.replace("_", "."), *cells)
    return table


def _counts(each: Compared) -> Iterator[str]:
    """What was found of what was planted, and what was not planted and found all the same."""
    told = [
        f"{name.replace('_', ' ')} {whole(each.measured.counts[name])} of {whole(each.planted.counts[name])}"
        for name in PLANTED
    ]
    yield f"{whole(each.rate)}/s: found {', '.join(told)}"
    invented = [
        f"{name.replace('_', ' ')} {whole(count)}" for name in INVENTED if (count := each.measured.counts[name])
    ]
    if invented:
        yield f"  and what was not planted: {', '.join(invented)}"
    if each.unsent:
        yield f"  {whole(each.unsent)} messages were never sent: this machine could not keep up with the rate"


def _round_trips(shifts: Mapping[int, float]) -> Iterator[str]:
    """How much later acknowledgements of librdkafka come for each round trip."""
    if shifts:
        planted, found = listed([str(each) for each in shifts]), listed([significant(each) for each in shifts.values()])
        yield f"Round trips of {planted} ms on librdkafka's mock cluster: found {found} ms"


def _intervals(each: Compared) -> Iterator[str]:
    """Whether the intervals of the result hold what was planted."""
    known, outside = len(each.measured.intervals_ms), each.outside
    not_in = f"; not {listed([name.translate(_SPACES) for name in outside])}" if outside else ""
    yield f"  {known - len(outside)} of {known} intervals hold what was planted{not_in}"
