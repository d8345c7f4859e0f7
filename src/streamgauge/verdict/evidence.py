"""What the checks look at: run.json and the gold tables, asked by name; None wherever something is not known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.folder.facts import RunFacts, WorkerFacts
from streamgauge.scenario.model.jobs import AGGREGATE
from streamgauge.scenario.profile import Profile, recorded_profile
from streamgauge.scenario.profile.model import CLOSED, MAX, PipelineProfile, PolicyProfile

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]

ARRIVING: Final = 0.99
"""Share of the messages due, or acknowledged, that have to arrive: with less, a rate does not hold, and consumers fall
behind."""
FULL_QUEUE_SHARE = 0.005
"""Below this share of the time, a full queue explains no percentile up to p99: what is late during a wait, and while
the queue is caught up with, is less than one message in a hundred."""

STOPPING = frozenset(
    {"pause", "kill", "stop", "restart", "rolling-restart", "disk-fails", "lose-data", "truncate-tail"}
)
"""Kinds of faults during which a process does nothing."""

_PROBLEMS = ("lost", "undelivered", "expired", "unknown", "duplicate_producer", "duplicate_consumer", "corrupt")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One run, seen through its facts and tables."""

    facts: RunFacts
    tables: Tables
    profile: Profile = field(init=False)
    """What the scenario means."""

    def __post_init__(self) -> None:
        """Read the profile once."""
        object.__setattr__(self, "profile", recorded_profile(self.facts.profile, self.facts.scenario))

    @property
    def sends(self) -> bool:
        """Whether the run had producers."""
        return self.profile.load is not None

    @property
    def consumes(self) -> bool:
        """Whether the run had consumers."""
        return self.profile.consume is not None

    @property
    def has_schedule(self) -> bool:
        """Whether messages were due at some time, rather than sent when there was room, or the last was answered."""
        return self.profile.pace is not None and self.profile.pace.is_scheduled

    @property
    def waits_for_reports(self) -> bool:
        """Whether producers wait for the system between messages: in a closed loop, to flush, to end a transaction."""
        load = self.profile.load
        return load is not None and (load.pace.kind == CLOSED or load.flushes or load.transactional)

    @property
    def is_flat_out(self) -> bool:
        """Whether the run takes all the CPU that there is, because nothing but room and speed holds it up."""
        return self.profile.pace is None or (self.profile.pace.kind == MAX and not self.waits_for_reports)

    @property
    def is_held_back(self) -> bool:
        """Whether consumers were slow on purpose: by what they did with messages, or to keep to a rate."""
        consume = self.profile.consume
        return consume is not None and (consume.processing is not None or consume.per_second is not None)

    @property
    def target_per_second(self) -> float | None:
        """The target rate of all producers together in the measure phase; None without a schedule.

        That of a shape is what was due in the measure phase, by its length.
        """
        if self.profile.pace and self.profile.pace.is_shape:
            row, seconds = self.measured, self.measured_seconds
            return row["due"] / seconds if row and seconds else None
        return self.profile.pace.per_second if self.profile.pace else None

    @property
    def peak_per_second(self) -> float | None:
        """The highest target rate of any second; None without a schedule."""
        if self.profile.pace and self.profile.pace.is_shape:
            return largest([row for row in self.matching("throughput", scope="window") if self.is_measured(row)], "due")
        return self.profile.pace.per_second if self.profile.pace else None

    def rows(self, table: str) -> Sequence[Row]:
        """The rows of a table; none where it is missing."""
        return self.tables.get(table, ())

    def one(self, table: str, **wanted: Any) -> Row | None:
        """The first row with these values."""
        return next(iter(self.matching(table, **wanted)), None)

    def matching(self, table: str, **wanted: Any) -> list[Row]:
        """The rows with these values."""
        return [row for row in self.rows(table) if all(row.get(key) == value for key, value in wanted.items())]

    @property
    def measured(self) -> Row | None:
        """Throughput of the measure phase."""
        return self.one("throughput", scope="measure")

    @property
    def measured_seconds(self) -> float | None:
        """Length of the measure phase, as it was."""
        duration_ns = (self.measured or {}).get("duration_ns")
        return duration_ns / NS_PER_SECOND if duration_ns else None

    def is_measured(self, window: Row) -> bool:
        """Whether a row of scope window lies in the measure phase."""
        return window.get("second") is not None and 0 <= window["second"] < (self.measured_seconds or 0)

    def latency(self, metric: str) -> Row:
        """One latency of the measure phase; empty where there is none."""
        return self.one("latency", metric=metric, scope="measure") or {}

    def delivery(self, scope: str) -> Row | None:
        """What became of the messages, for the group that fared worst."""
        return worst_group(self.matching("delivery", scope=scope))

    def processes(self, role: str) -> list[Row]:
        """What each process of a role used over the measure phase."""
        return self.matching("resources", scope="measure", role=role)

    def numbers(self, process: str) -> list[int]:
        """The numbers of the clients in a worker's process, as they stand in the rows."""
        return next((worker.numbers for worker in self.facts.workers if worker.name == process), [])

    @property
    def received_share(self) -> float | None:
        """Share of what was to be received in the measure phase that was, by the group that received the least."""
        row, delivery = self.measured, self.delivery("measure") or {}
        if not self.is_followed:
            return None
        dropped = sum(each["dropped"] or 0 for each in self.matching("pipeline_delivery", scope="measure", group=0))
        wanted = (row["acked"] if row else 0) - sum(delivery.get(name) or 0 for name in ("aborted", "unread")) - dropped
        wanted += delivery.get("fate_unknown_received") or 0
        groups = self.matching("throughput", scope="group")
        return min(float(group["received"]) for group in groups or [row]) / wanted if row and wanted > 0 else None

    @property
    def piped(self) -> PipelineProfile | None:
        """What stands between the topic that is sent to and the one that is read; None for nothing."""
        return self.profile.pipeline

    @property
    def is_followed(self) -> bool:
        """Whether each message can be followed until it is received: not where one row stands for several."""
        return self.piped is None or self.piped.does != AGGREGATE

    @property
    def full_queue_share(self) -> float | None:
        """The largest share of the time that a producer waited for room in its client's queue."""
        return largest(self.processes("producer"), "blocked_share")

    @property
    def is_held_up(self) -> bool:
        """Whether full queues, and so the system, can explain messages that went out late."""
        return (self.full_queue_share or 0.0) >= FULL_QUEUE_SHARE

    @property
    def policy(self) -> PolicyProfile | None:
        """What held producers back; None for nothing."""
        return self.profile.backpressure

    @property
    def is_throttled(self) -> bool:
        """Whether a policy made messages wait, or let none go: those that it has dropped waited for nothing."""
        if self.policy is None:
            return False
        waited = (self.latency("throttle").get("max_ms") or 0.0) > 0
        paused = ((self.one("backpressure") or {}).get("paused_s") or 0.0) > 0
        return waited or paused or (self.measured or {}).get("sent") == 0

    @property
    def makes_messages_wait(self) -> bool:
        """Whether messages waited for the system, or for a policy, before they were sent."""
        return self.is_held_up or self.is_throttled

    @property
    def follows_answers(self) -> bool:
        """Whether the load follows from how fast messages are answered, and not from a schedule alone."""
        return self.sends and (self.is_throttled or not self.has_schedule)

    @property
    def schedule_delay(self) -> Row | None:
        """How late messages were sent in the measure phase, after they were due and a policy had admitted them."""
        return (
            self.one("schedule_delay", producer=None)
            if self.policy is None
            else self.latency("own_schedule_delay") or None
        )

    def stopped(self, *roles: str) -> list[str]:
        """The processes of these roles that the scenario paused, stopped, killed, or let end."""
        return sorted({str(row["target"]) for row in self._stops if str(row["target"]).partition("-")[0] in roles})

    def is_stopped(self, look: Row) -> bool:
        """Whether the scenario had paused the process of a look at it, or let it go on in the look before."""
        stops = [row for row in self._stops if row["target"] == look["process"]]
        length = (look.get("duration_ns") or NS_PER_SECOND) / NS_PER_SECOND
        begins = [row["second"] for row in stops if row["action"] == "begin" and row["second"] <= look["second"]]
        ends = [
            row["second"] for row in stops if row["action"] == "end" and row["second"] < look["second"] - 2 * length
        ]
        return len(begins) > len(ends)

    @property
    def _stops(self) -> list[Row]:
        return [row for row in self.rows("faults") if row["kind"] in STOPPING and row["error"] is None]

    @property
    def killed_on_purpose(self) -> list[WorkerFacts]:
        """Workers whose death the scenario declared."""
        return [worker for worker in self.facts.workers if worker.died and worker.declared_dead]

    def pauses_ms(self) -> list[float]:
        """Pauses of the brokers' garbage collectors in the measure phase."""
        return pauses_ms(self.rows("gc"), self.measured_seconds)


def pauses_ms(gc: Sequence[Row], measured_seconds: float | None) -> list[float]:
    """The pauses that fall into the measure phase, out of all rows of the table `gc`."""
    end = measured_seconds or 0.0
    return [row["pause_ms"] for row in gc if row.get("second") is not None and 0 <= row["second"] < end]


def arrived(step: Row) -> int | None:
    """How many of the messages due in a step each group received at least; None where that is not to be all of them.

    Older tables say of all groups together how much they received.
    """
    found: int | None = step.get("arrived", step["received"])
    return found


def worst_group(rows: Sequence[Row]) -> Row | None:
    """The row of `delivery` with the gravest problems: the most lost, then the most undelivered, and so on."""
    return max(rows, key=lambda row: tuple(row.get(name) or 0 for name in _PROBLEMS), default=None)


def largest(rows: Sequence[Row], column: str) -> float | None:
    """The largest known value of a column."""
    return max((row[column] for row in rows if row.get(column) is not None), default=None)
