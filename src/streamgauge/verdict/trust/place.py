"""What of a latency is this machine's or this generator's, and not the system's.

A broker beside the load had to wait for a core, or the load followed from the answers. It is known what happened here,
and not what the system does elsewhere. Such a figure is named, and keeps its trust.
"""

from typing import Final

from streamgauge.domain.text.numbers import percent
from streamgauge.verdict.evidence import Evidence, Row
from streamgauge.verdict.trust import limits
from streamgauge.verdict.trust.seconds import Seconds, looks, seconds

_OTHER_LOAD: Final = "another generator would have made another load, which follows from how fast messages are answered"


def of_load(run: Evidence) -> str | None:
    """Why all latencies are this generator's; None where a schedule alone says what is sent."""
    return _OTHER_LOAD if run.follows_answers else None


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
