"""Checks of a pipeline: whether the query stayed alive, and whether its source could be read."""

from typing import Final

from streamgauge.domain.text.numbers import significant, whole
from streamgauge.verdict.check import Check, passed, unknown
from streamgauge.verdict.evidence import Evidence

_GONE: Final = {"died", "failed"}


def query(run: Evidence) -> Check | None:
    """Whether the query in the measured path stayed alive, or recovered from the faults of the scenario.

    Data: the tables `query` and `faults`.
    Warns when: it died more often than the scenario kills it, or after losing its cluster, and recovered.
    Fails when: it failed, or died and did not recover.
    Remedy: see logs/query-spark.log in the run folder.
    """
    if run.piped is None:
        return None
    if "query" not in run.tables:
        return unknown("query", "system", "it is not known whether the query died")
    gone = [row for row in run.rows("query") if row["event"] in _GONE]
    if not gone:
        return passed("query", "system", "the query did not die")
    turns = [row for row in run.rows("query") if row["event"] in _GONE or row["down_s"] is not None]
    down_s = sum(row["down_s"] or 0.0 for row in turns)
    times = "once" if len(gone) == 1 else f"{whole(len(gone))} times"
    seen = f"the query died {times}, {significant(down_s)} s in total"
    # What dies again before it was ready comes back once for all of these deaths.
    if turns[-1]["down_s"] is None:
        why = gone[-1]["detail"]
        ended = f"the query did not recover{f': {why}' if why else ''}"
        return Check("query", "system", "fail", ended, "See logs/query-spark.log in the run folder.")
    if len(gone) <= _kills(run):
        return passed("query", "system", f"{seen}, as the scenario asks for")
    return Check("query", "system", "warn", seen, "See logs/query-spark.log in the run folder.")


def _kills(run: Evidence) -> int:
    """How often the scenario killed the driver."""
    rows = run.matching("faults", kind="kill", target="driver", action="begin")
    return sum(row["error"] is None for row in rows)


def source(run: Evidence) -> Check | None:
    """Whether the source of the pipeline was read after the drain, so that all stages of messages are known.

    Data: messages with an unknown edge in the table `waterfall`.
    Warns when: there are received messages with an unknown stage.
    Remedy: see the reasons in run.json for why the source was not read; give the drain more time (phases.drain).
    """
    if run.piped is None:
        return None
    row = run.one("waterfall", stage="stage_all")
    if row is None:
        return unknown("source", "instrument", "the stages of messages are not known")
    lacking, known = row["null_count"] or 0, row["count"] or 0
    if not lacking:
        return passed("source", "instrument", f"every stage of {whole(known)} messages is known")
    evidence = f"a stage is not known for {whole(lacking)} of {whole(lacking + known)} messages"
    advice = "Give the drain more time (phases.drain); see the reasons in run.json."
    return Check("source", "instrument", "warn", evidence, advice)
