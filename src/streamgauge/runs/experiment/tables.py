"""The gold tables of an experiment, written by the Spark session that analysed its runs."""

import os

from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord


def write_tables(folder: ExperimentFolder, record: ExperimentRecord) -> None:
    """Write the gold tables below `tables/`; raises AnalysisError where Spark cannot answer."""
    # Spark is heavy, and what else is done with experiments needs none.
    from streamgauge.pipeline.many.gold import write_gold
    from streamgauge.pipeline.spark.session import SESSIONS
    from streamgauge.pipeline.spark.settings import sizing

    with SESSIONS.session(sizing(0, os.cpu_count() or 1), None, folder.root / "spark.log") as spark:
        write_gold(spark, folder, record)
