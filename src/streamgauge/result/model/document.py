"""The whole of result.json."""

import json
from typing import Any, Final, Literal

from pydantic import Field

from streamgauge.result.model.base import Reasons, Section
from streamgauge.result.model.clients import ConnectionsSection, ProcessingSection, WireSection
from streamgauge.result.model.delivery import DeliverySection, MissingMessage, TransactionsSection
from streamgauge.result.model.latency import LatencySection, ScheduleDelaySection
from streamgauge.result.model.pipeline import PipelineSection
from streamgauge.result.model.pressure import BackpressureSection, FaultAction, LagSection, RecoveryScore
from streamgauge.result.model.resources import ResourcesSection
from streamgauge.result.model.run import RunSection
from streamgauge.result.model.throughput import ThroughputSection, TimelineSecond
from streamgauge.result.model.trust import FigureTrust
from streamgauge.result.model.verdict import ExpectationResult, VerdictSection

FORMAT: Final = 2
"""Version of result.json; what is added later does not change it."""


class Result(Section):
    """result.json, format 2. Additive only: a later version may add keys, and changes none. Unknown is null, and
    `reasons` beside it says why. Readers ignore keys that they do not know.
    """

    format: Literal[2]
    """Version of this document."""
    run: RunSection
    """What run.json says: what was asked, on what, when, and how it ended. Times are CLOCK_MONOTONIC in ns."""
    verdict: VerdictSection
    """May these numbers be believed, and what did the measured system do."""
    expectations: list[ExpectationResult]
    """What the scenario expected of this result, and whether it passed."""
    trust: dict[str, FigureTrust] = Field(default_factory=dict)
    """Each figure by its path: what it can have been without the instrument, and whether it may be believed. Empty
    where the run was not judged."""
    throughput: ThroughputSection
    """Measure phase; each rate by the clock of its own event. MB are 10^6 bytes of value."""
    latency: LatencySection
    """Measure phase. Response time is counted from when a message was due, service time from when it was sent."""
    schedule_delay: ScheduleDelaySection | None
    """How late producers sent what was due; null without a schedule."""
    delivery: DeliverySection
    """Exact counts over the whole run, of the group that fared worst; beside it the measure phase and every group."""
    missing: list[MissingMessage] = Field(default_factory=list)
    """The first messages of each class that did not come back, by name; `delivery` counts them all."""
    transactions: TransactionsSection | None = None
    """How transactions ended, by when they did; measure phase. Null without transactions."""
    processing: ProcessingSection | None = None
    """How long consumers took to process messages, by when they finished; measure phase. Null where consumers do no
    processing."""
    wire: WireSection | None = None
    """What clients sent and received, by their own statistics."""
    connections: ConnectionsSection | None = None
    """What became of connections beside the load, kind by kind; measure phase. Null where the scenario asks for
    none."""
    lag: LagSection | None = None
    """How far consumers were behind; measure phase, and at the end of the run. Null where nothing is known of it."""
    pipeline: PipelineSection | None = None
    """What stood between the topic that is sent to and the one that is read. Null without a pipeline."""
    backpressure: BackpressureSection | None = None
    """What the policy that holds producers back did. Null without a policy."""
    faults: list[FaultAction] | None = None
    """What the scenario did to the run, as it was carried out. Null where that was nothing."""
    recovery: list[RecoveryScore] | None = None
    """How the run came back after each cause that was over; one object for each quantity and group. Null where there
    was none."""
    resources: ResourcesSection
    """Measure phase. 1.0 CPU cores are one core fully used; `rss_bytes` is the largest seen."""
    timeline: list[TimelineSecond]
    """One object for each second of the run, warm-up and drain included; seconds of warm-up are negative."""
    reasons: Reasons = Field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The result as result.json says it: what was never set is left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def text(self) -> str:
        """The document as JSON."""
        return json.dumps(self.document(), indent=2, allow_nan=False)
