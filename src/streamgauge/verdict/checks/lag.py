"""Checks of the lag sampler: whether it received answers, and how much CPU it used."""

from typing import Final

from streamgauge.domain.text.numbers import listed, percent, whole
from streamgauge.verdict.check import Check, passed, unknown
from streamgauge.verdict.evidence import Evidence

FAILED_SHARE: Final = 0.01
SAMPLER_CORES: Final = 0.05
_ROLE: Final = "lag"


def lag_samples(run: Evidence) -> Check | None:
    """Whether the cluster answered the offset requests of lag samples.

    Data: samples of the whole run in the table `lag`, and those with an error.
    Warns when: {FAILED_SHARE:.0%} or more of the samples failed; about the system if the scenario stopped the broker.
    Remedy: see the errors in the table `lag`; sample less often (lag.every).
    """
    if run.profile.lag_every_ns is None or not (run.sends or run.consumes):
        return None
    rows = run.matching("lag", scope="group")
    if not rows:
        return unknown("lag_samples", "instrument", "the lag is not known")
    failed = [row for row in rows if row["error"] is not None]
    evidence = f"{whole(len(failed))} of {whole(len(rows))} samples failed"
    if len(failed) < FAILED_SHARE * len(rows) or not failed:
        return passed("lag_samples", "instrument", evidence)
    evidence += f": {listed(sorted({str(row['error']) for row in failed})[:2])}"
    if stopped := run.stopped("broker"):
        advice = "The scenario declared this fault; lag is unknown while the broker was paused."
        return Check("lag_samples", "system", "warn", f"{evidence}; the scenario stopped {listed(stopped)}", advice)
    return Check("lag_samples", "instrument", "warn", evidence, "Sample less often (lag.every); see the broker's log.")


def lag_sampler(run: Evidence) -> Check | None:
    """Whether lag sampling used so little CPU that it does not affect the results.

    Data: CPU of the sampling process over the measure phase.
    Warns when: it used more than {SAMPLER_CORES:.0%} of a core.
    Remedy: sample less often (lag.every), or not at all.
    """
    if run.profile.lag_every_ns is None or not (run.sends or run.consumes):
        return None
    cores = next((row["cpu_cores"] for row in run.processes(_ROLE) if row.get("cpu_cores") is not None), None)
    if cores is None:
        return unknown("lag_sampler", "instrument", "the cost of lag sampling is not known")
    evidence = f"lag sampling used {percent(cores)} of a core"
    if cores <= SAMPLER_CORES:
        return passed("lag_sampler", "instrument", evidence)
    return Check("lag_sampler", "instrument", "warn", evidence, "Sample less often (lag.every).")
