"""The document result.json."""

import json
from typing import Any, Final, Literal

from pydantic import Field

from streamgauge.result.imported import ImportedSection
from streamgauge.result.model.base import Reasons, Section
from streamgauge.result.model.clients import ConnectionsSection, ProcessingSection, RedeliverySection, WireSection
from streamgauge.result.model.delivery import (
    DeliverySection,
    FaultScorecard,
    MissingMessage,
    TransactionsSection,
)
from streamgauge.result.model.latency import LatencySection, ScheduleDelaySection
from streamgauge.result.model.pipeline import PipelineSection
from streamgauge.result.model.pressure import (
    BackpressureSection,
    FaultAction,
    LagSection,
    RecoveryScore,
    ReplicationSection,
)
from streamgauge.result.model.resources import CompressionSection, ResourcesSection
from streamgauge.result.model.run import RunSection
from streamgauge.result.model.throughput import (
    RatesSection,
    StepResult,
    ThroughputSection,
    TimelineSecond,
    WarmupTotals,
)
from streamgauge.result.model.trust import FigureTrust
from streamgauge.result.model.verdict import ExpectationResult, VerdictSection

FORMAT: Final = 2
"""Version of result.json; additions do not change it."""


class Result(Section):
    """result.json, format 2. Later versions may add keys, and change none. Unknown values are null, and `reasons`
    beside them has the reason. Readers should ignore unknown keys.
    """

    format: Literal[2]
    """Version of this document."""
    run: RunSection
    """Contents of run.json: scenario, environment, times, and how the run ended. Times are CLOCK_MONOTONIC in ns."""
    verdict: VerdictSection
    """Whether the measurement can be trusted, and what the measured system did."""
    expectations: list[ExpectationResult]
    """Expectations of the scenario, and whether they passed."""
    trust: dict[str, FigureTrust] = Field(default_factory=dict)
    """Each figure by its path: what it can have been without the instrument, and whether it can be believed. Empty if
    the run was not judged."""
    imported: ImportedSection | None = None
    """Where the figures come from, if another tool measured them. Null for a run of Streamgauge."""
    throughput: ThroughputSection
    """Measure phase; each rate by the time of its own event. MB are 10^6 bytes of value."""
    rates: RatesSection | None = None
    """Rates by topic, by partition and by minute; measure phase."""
    warmup: WarmupTotals | None = None
    """Messages, bytes and errors of the warm-up. Null without a warm-up."""
    steps: list[StepResult] | None = None
    """Steps of a load whose rate changes and is not repeated, each for itself. Null for other loads."""
    latency: LatencySection
    """Measure phase. Response time starts when a message was due, service time when it was sent."""
    schedule_delay: ScheduleDelaySection | None
    """Delay of sends after their due time; null without a schedule."""
    delivery: DeliverySection
    """Exact counts of the whole run for the worst group; also those of the measure phase and of every group."""
    missing: list[MissingMessage] = Field(default_factory=list)
    """The first messages of each class that were not delivered; `delivery` counts all of them."""
    redelivery: RedeliverySection | None = None
    """Deliveries of messages that are acknowledged one by one; whole run. Null where offsets are committed."""
    transactions: TransactionsSection | None = None
    """Transactions by outcome and by the time they ended; measure phase. Null without transactions."""
    processing: ProcessingSection | None = None
    """Processing time of messages, by the time processing ended; measure phase. Null without processing."""
    wire: WireSection | None = None
    """Network traffic of clients, from their own statistics."""
    compression: CompressionSection | None = None
    """What codecs make of batches of the load. Null unless `load.codecs` asks for it."""
    connections: ConnectionsSection | None = None
    """Operations on connections besides the load, by kind; measure phase. Null if the scenario configures none."""
    lag: LagSection | None = None
    """Lag of consumers; measure phase, and at the end of the run. Null if unknown."""
    replication: ReplicationSection | None = None
    """Replicas of the topics; measure phase. Null if the run did not ask for them."""
    pipeline: PipelineSection | None = None
    """The pipeline between the topic that producers write to and the topic that consumers read. Null without a
    pipeline."""
    backpressure: BackpressureSection | None = None
    """Summary of the backpressure policy. Null without a policy."""
    faults: list[FaultAction] | None = None
    """Faults and other changes of the scenario, as carried out. Null if there were none."""
    recovery: list[RecoveryScore] | None = None
    """Recovery of the run after each cause ended; one object for each quantity and group. Null if there was none."""
    scorecards: list[FaultScorecard] | None = None
    """What each fault did to partitions and messages. Null if no fault was over."""
    resources: ResourcesSection
    """Measure phase. 1.0 CPU cores are one fully used core; `rss_bytes` is the maximum."""
    timeline: list[TimelineSecond]
    """One object for each second of the run, including warm-up and drain; seconds of warm-up are negative."""
    reasons: Reasons = Field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The result as written to result.json; values that were never set are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def text(self) -> str:
        """The document as JSON."""
        return json.dumps(self.document(), indent=2, allow_nan=False)
