"""What of a latency is this machine's or this generator's, and not the system's.

A broker or a pipeline beside the load had to wait for a core, or the load followed from the answers. It is known what
happened here, and not what the system does elsewhere. Such a figure is named, and keeps its trust.
"""

from typing import Final

from streamgauge.domain.text.numbers import percent
from streamgauge.verdict.evidence import Evidence, Row
from streamgauge.verdict.trust import limits
from streamgauge.verdict.trust.seconds import Seconds, looks, seconds
from streamgauge.verdict.trust.starvation import CoreWait, explained, of_processes, of_workers, starved

_PIPELINE: Final = ("query", "driver", "executor", "python")
_OTHER_LOAD: Final = "another generator would have sent another load: it depends on how fast messages are acknowledged"

_WAITS: Final = (
    "producers wait for reports, to flush or to end a transaction: what they are late by in one wait adds to the next, "
    "and the interval holds only the largest of these delays"
)


def of_load(run: Evidence) -> str | None:
    """Why all latencies are this generator's; None where a schedule alone says what is sent.

    Also of a schedule whose producers wait for reports on the way: then the interval holds the largest of their delays,
    and not what one wait adds to the next. Like the latencies of a closed loop these keep their trust.
    """
    if run.follows_answers:
        return _OTHER_LOAD
    return _WAITS if run.sends and run.waits_for_reports else None


def of_seconds(run: Evidence) -> list[Seconds]:
    """Seconds in which latency was this machine's: a broker or a pipeline beside the load had no core."""
    found = {
        "the broker had no core for long": starved(run, "broker"),
        "the pipeline had no core for long": [row for role in _PIPELINE for row in starved(run, role)],
        "a CPU quota stopped the broker": _throttled(run),
    }
    return [seconds(run, because, rows) for because, rows in found.items() if rows]


def of_run(run: Evidence) -> str | None:
    """How much of the tail waits for a core on this machine can explain; None where that is next to none.

    Those of broker and pipeline are this machine's, and not the system's; those of the workers are the instrument's.
    """
    shares = {"the broker's": of_processes(run, ("broker",)), "the pipeline's": of_processes(run, _PIPELINE)}
    waits = [
        CoreWait(share, f"{whose} threads waited for a core for {percent(share)} of the time")
        for whose, share in shares.items()
        if share >= limits.TOLD_SHARE
    ]
    workers = of_workers(run)
    waits += [workers] if workers.share >= limits.TOLD_WORKERS_SHARE else []
    told = [explained(*waits)] if waits else []
    return "; ".join([*told, *(each.because for each in of_seconds(run))]) or None


def _throttled(run: Evidence) -> list[Row]:
    if not run.facts.broker.processes:
        return []
    return [row for row in looks(run, "host") if (row.get("throttled_share") or 0.0) >= limits.THROTTLED_SHARE]
