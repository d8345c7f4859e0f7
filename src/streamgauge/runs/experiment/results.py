"""What an experiment leaves beside its runs: result.json, summary.md, report.html, and gold tables."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord
from streamgauge.report.compare.answers import Together
from streamgauge.report.compare.expected import ExpectedAnswer
from streamgauge.report.compare.pages import comparison_markdown
from streamgauge.runs.experiment.folder import write_whole


def experiment_document(
    record: ExperimentRecord, found: Together | None, expected: Sequence[ExpectedAnswer]
) -> dict[str, Any]:
    """An experiment as JSON: its record, what the runs say together, and what they say about the expectations."""
    about = record.model_dump(mode="json", exclude={"asked"})
    return {
        "experiment": about,
        "answer": found.document() if found else None,
        "expectations": [asdict(each) for each in expected],
    }


def write_results(
    folder: ExperimentFolder, record: ExperimentRecord, found: Together | None, expected: Sequence[ExpectedAnswer]
) -> None:
    """Write result.json and, where any run has a result, summary.md and report.html; raises RecordError."""
    write_whole(folder.result, json.dumps(experiment_document(record, found, expected), indent=2) + "\n")
    if found:
        sentences = [each.sentence for each in expected]
        write_whole(folder.summary, comparison_markdown(found, sentences))
        # Figures need a library of their own, which takes long to load.
        from streamgauge.report.compare.html import comparison_html

        write_whole(folder.report, comparison_html(found, record.name, sentences))


def write_tables(folder: ExperimentFolder, record: ExperimentRecord) -> None:
    """Write the gold tables below `tables/`; raises AnalysisError where Spark cannot answer."""
    # Spark is heavy, and what else is done with experiments needs none.
    from streamgauge.pipeline.many.gold import write_gold
    from streamgauge.pipeline.spark.session import SESSIONS
    from streamgauge.pipeline.spark.settings import sizing

    with SESSIONS.session(sizing(0, os.cpu_count() or 1), None, folder.root / "spark.log") as spark:
        write_gold(spark, folder, record)
