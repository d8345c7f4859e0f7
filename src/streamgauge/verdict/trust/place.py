"""What of a latency is this machine's, and not the system's: a broker beside the load had to wait for a core.

It is known what this machine did, and not what the system does elsewhere. Such a figure is named, and keeps its trust.
"""

from streamgauge.domain.text.numbers import percent
from streamgauge.verdict.evidence import Evidence, Row
from streamgauge.verdict.trust import limits
from streamgauge.verdict.trust.seconds import Seconds, looks, seconds


def of_seconds(run: Evidence) -> list[Seconds]:
    """Seconds in which latency was this machine's: a broker beside the load had no core."""
    found = {"the broker had no core for long": _starved(run), "a CPU quota stopped the broker": _throttled(run)}
    return [seconds(run, because, rows) for because, rows in found.items() if rows]


def of_run(run: Evidence) -> str | None:
    """How much of the tail a broker on this machine can explain by waiting for a core; None where that is next to none.

    Threads that waited for a share of the time may have touched this share of the messages, and what queued behind.
    """
    shares = [row.get("run_delay_share") for row in run.processes("broker")]
    share = min(1.0, sum(each for each in shares if each is not None))
    if share < limits.TOLD_SHARE:
        return None
    waited = f"the broker's threads waited for a core for {percent(share)} of the time"
    explained = f"this can explain the slowest {percent(share)} of the messages, and what queued behind them"
    return "; ".join([f"{waited}: {explained}", *(each.because for each in of_seconds(run))])


def _starved(run: Evidence) -> list[Row]:
    return [row for row in looks(run, "broker") if _had_no_core(row)]


def _had_no_core(look: Row) -> bool:
    waited = look.get("run_delay_share") or 0.0
    return waited >= limits.STARVED_SHARE and waited > (look.get("cpu_cores") or 0.0)


def _throttled(run: Evidence) -> list[Row]:
    if not run.facts.broker.processes:
        return []
    return [row for row in looks(run, "host") if (row.get("throttled_share") or 0.0) >= limits.THROTTLED_SHARE]
