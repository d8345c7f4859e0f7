"""Trogdor's throughput, its throttle, its flushes and its transactions."""

from fractions import Fraction
from typing import Any, Final

from streamgauge.domain.text.quantities import format_rate
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.trogdor.kinds import kind_of
from streamgauge.foreign.specs.write.translation import Draft, duration

THROTTLE_MS: Final = 100
"""Period of the throttle that most workloads share."""
_KINDS: Final = ("constant", "gaussian")


def rate_of(fields: SpecFields | None, draft: Draft, *, floor: bool) -> Any:
    """The rate of a throughput generator."""
    if fields is None:
        return "max"
    kind = kind_of(fields, _KINDS)
    window_ms = fields.whole("windowSizeMs", THROTTLE_MS)
    window_ms = window_ms if window_ms > 0 else THROTTLE_MS
    rate: Any = "max"
    if kind == "constant":
        name = fields.first("messagesPerWindow", "messagesPerSecond")
        messages = fields.whole(name, 0)
        per_second = Fraction(messages) if name == "messagesPerSecond" else Fraction(messages * 1000, window_ms)
        rate = "max" if messages <= 0 else windows(draft, fields.place(name), per_second, window_ms, floor=floor)
    elif kind == "gaussian":
        rate = _gaussian_rate(fields, draft, window_ms)
    fields.close()
    return rate


def windows(draft: Draft, where: str, per_second: Fraction, window_ms: int, *, floor: bool) -> Any:
    """So many messages a second in windows of a length.

    Trogdor rounds down to whole messages a window, at least one. With `floor` this is kept; else the rate is exact.
    """
    quota = per_second * window_ms / 1000
    whole = max(1, int(quota))
    if quota.denominator == 1 and quota >= 1:
        draft.differs(where, f"exactly {_rate(per_second)}: {whole} at the begin of each {window_ms} ms, as there")
    elif floor:
        draft.differs(
            where, f"rounded as there: {whole} in {window_ms} ms are {_rate(Fraction(whole * 1000, window_ms))}"
        )
    else:
        sent = _rate(Fraction(whole * 1000, window_ms))
        draft.differs(where, f"exactly {_rate(per_second)}, evenly; Trogdor rounds to whole messages a window: {sent}")
        return _rate(per_second)
    return {"windows": {"messages": whole, "window": f"{window_ms}ms"}}


def throttled(draft: Draft, where: str, per_second: int, *, floor: bool) -> Any:
    """The rate of the throttle of most workloads, which counts in tenths of a second."""
    return windows(draft, where, Fraction(per_second), THROTTLE_MS, floor=floor)


def per_period(per_second: int) -> int:
    """Messages that the throttle lets through before it waits."""
    return max(1, per_second * THROTTLE_MS // 1000)


def flush_of(fields: SpecFields | None) -> Any:
    """After how many messages a flush comes; None for never."""
    if fields is None:
        return None
    kind = kind_of(fields, _KINDS)
    flush: Any = None
    if kind == "constant":
        flush = fields.whole("messagesPerFlush", 1, least=1, most=1_000_000)
    elif kind == "gaussian":
        mean = fields.number("messagesPerFlushAverage", 1, least=1, most=1_000_000)
        deviation = fields.number("messagesPerFlushDeviation", 0, least=0, most=1_000_000)
        flush = {"mean": mean, "deviation": deviation}
    fields.close()
    return flush


def transactions_of(fields: SpecFields | None) -> dict[str, Any] | None:
    """What ends a transaction; None for no transactions."""
    if fields is None:
        return None
    kind = kind_of(fields, ("uniform", "interval"))
    made: dict[str, Any] | None = None
    if kind == "uniform":
        fields.required("messagesPerTransaction")
        made = {"messages": fields.whole("messagesPerTransaction", 1, least=1)}
    elif kind == "interval":
        fields.required("transactionIntervalMs")
        made = {"interval": duration(fields.whole("transactionIntervalMs", 1, least=1))}
    fields.close()
    return made


def _rate(per_second: Fraction) -> str:
    return format_rate(round(float(per_second), 3))


def _gaussian_rate(fields: SpecFields, draft: Draft, window_ms: int) -> Any:
    name = fields.first("messagesPerWindowAverage", "messagesPerSecondAverage")
    spread = "messagesPerWindowDeviation" if name == "messagesPerWindowAverage" else "messagesPerSecondDeviation"
    share = 1.0 if name == "messagesPerWindowAverage" else window_ms / 1000
    fields.required(name)
    mean = fields.number(name, 1, least=0.001) * share
    whole = max(1, round(mean))
    if whole != mean:
        draft.differs(fields.place(name), f"{mean:g} messages a window on average are {whole} here")
    if share != 1.0:
        draft.unit(fields.place(name), f"messages a second are messages in each {window_ms} ms")
    hold = max(1, fields.whole("windowsUntilRateChange", 1))
    draft.differs(fields.place(name), "random by the seed of the scenario; Trogdor's numbers cannot be repeated")
    return {
        "windows": {
            "messages": whole,
            "deviation": round(fields.number(spread, 0, least=0) * share, 6),
            "window": f"{window_ms}ms",
            "hold": hold,
        }
    }
