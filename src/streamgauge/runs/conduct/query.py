"""Where a pipeline of a scenario meets what carries it out, and what is read of its topics afterwards."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from streamgauge.cluster.jars import CONNECTOR, fetched
from streamgauge.control.batching import BatchSize
from streamgauge.domain.query import QuerySpec
from streamgauge.engine.query import Hosting
from streamgauge.engine.worker.observers import LookupJob, QueryJob
from streamgauge.jobs.query import SparkQuery
from streamgauge.kafka.forward import ClientQuery
from streamgauge.processes.patience import Check, no_check
from streamgauge.record.table import GrowingTable
from streamgauge.scenario import Scenario, Setting
from streamgauge.scenario.model.pipeline import Pipeline


def connector_jars(
    scenario: Scenario, progress: Callable[[str], None] | None = None, check: Check = no_check
) -> tuple[str, ...]:
    """Paths of the jars that connect Spark with Kafka, fetched if need be; none where Spark is not asked for.

    Raises BrokerError where they cannot be fetched, and what `check` raises, which is asked meanwhile.
    """
    pipeline = scenario.pipeline
    if pipeline is None or pipeline.engine.client:
        return ()
    return tuple(str(jar) for jar in fetched(CONNECTOR, progress, check=check))


def query_job(
    scenario: Scenario,
    pipeline: Pipeline,
    name: str,
    connection: Mapping[str, Setting],
    run: Path,
    starts: Sequence[int],
) -> QueryJob:
    """Who carries out the pipeline; `starts` are the offsets where it begins, and `name` is what it is called."""
    _, options = pipeline.job.chosen
    load, partitions = scenario.load, scenario.topic.partitions
    spec = QuerySpec(
        name=name,
        job=pipeline.job.name,
        options={name: value for name, value in options if value is not None},
        does=pipeline.job.does,
        engine=pipeline.engine.name,
        interval_ns=pipeline.engine.interval_ns,
        source=scenario.sent_topics[0],
        partitions=partitions,
        starts=tuple(starts),
        sink=scenario.sink_topic,
        table=str(table) if (table := table_folder(scenario, run)) else None,
        checkpoint=str(Path(pipeline.checkpoint).absolute() if pipeline.checkpoint else run / "checkpoint"),
        connection={**connection, "client.id": name},
        in_headers=load.stamped_in_headers if load else True,
        read_committed=bool(load and load.transactions),
        master=pipeline.master,
        parallelism=_parallelism(pipeline, partitions),
        max_offsets=pipeline.first_limit,
        settings=pipeline.settings,
        jars=connector_jars(scenario),
        log=str(run / "logs" / "query-spark.log"),
        raw=str(run / "logs" / "query-progress.jsonl"),
        folder=str(Path.cwd()),
    )
    hosting = Hosting(
        topic=0,
        first_place=0,
        starts=tuple(starts),
        restarts=pipeline.restarts,
        survives_failures=scenario.harms_cluster,
        waits_for_load=pipeline.engine.available_now is not None,
        max_offsets=pipeline.first_limit,
        sizes=_sizes(pipeline),
    )
    return QueryJob(ClientQuery if pipeline.engine.client else SparkQuery, spec, hosting)


def _sizes(pipeline: Pipeline) -> BatchSize | None:
    """What chooses the size of batches; None for nothing."""
    wanted = pipeline.batch_time
    return BatchSize(wanted.batch, wanted.least, wanted.most, wanted.begin) if wanted else None


def _parallelism(pipeline: Pipeline, partitions: int) -> int:
    """Tasks at once: in real-time mode every partition holds one as long as a batch lasts."""
    if pipeline.parallelism is not None:
        return pipeline.parallelism
    return partitions + 1 if pipeline.engine.real_time else os.cpu_count() or 1


def lookup_job(scenario: Scenario, run: Path) -> LookupJob | None:
    """Who asks the table of a pipeline while it grows; None for nobody."""
    table, folder = scenario.pipeline.table if scenario.pipeline else None, table_folder(scenario, run)
    if table is None or folder is None or table.queried is None:
        return None
    return LookupJob(GrowingTable, folder, table.queried)


def table_folder(scenario: Scenario, run: Path) -> Path | None:
    """Where the table of a pipeline is; None where it writes none."""
    return (run / scenario.pipeline.table.table).absolute() if scenario.pipeline and scenario.pipeline.table else None
