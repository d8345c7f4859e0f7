"""What kind of run this is, from run.json and the footers of its parts: known before a row is read."""

from dataclasses import dataclass

from streamgauge.delivery.audit import Measure
from streamgauge.domain.runfolder import RunFacts
from streamgauge.pipeline.bronze import Bronze
from streamgauge.pipeline.silver import Span

OFF = (None, False, "off")
_TIMES = (
    ("sent", "sent_ns"), ("sent", "acked_ns"), ("received", "received_ns"), ("received", "processed_ns"),
    ("polls", "returned_ns"), ("lag", "at_ns"), ("resources", "at_ns"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a run does, and so what can be known of it."""

    loads: bool
    groups: tuple[int, ...]
    scheduled: bool
    processing: bool
    acks: bool
    """Whether acknowledgements are seen."""
    acks_0: bool
    """Whether the load asked for none."""
    transactional: bool
    all_sound: bool
    """Whether the footers show that every delivery carries a sound stamp."""
    dead: frozenset[int]
    """Numbers of the consumers that died."""

    @property
    def consumes(self) -> bool:
        """Whether anybody receives."""
        return bool(self.groups)

    @property
    def timed_group(self) -> int | None:
        """The group whose latencies are measured: the first; the others are audited and counted only."""
        return min(self.groups, default=None)


def knowledge(facts: RunFacts, bronze: Bronze) -> Knowledge:
    """What run.json and the footers tell."""
    intact = bronze.extent("received", "intact")
    consumes = facts.scenario.get("consume") not in OFF or bronze.rows("received") > 0
    return Knowledge(
        loads=facts.scenario.get("load") not in OFF or bronze.rows("sent") > 0,
        groups=tuple(sorted(group.id for group in facts.groups)) or ((0,) if consumes else ()),
        scheduled=not bronze.extent("sent", "due_ns").unknown,
        processing=not bronze.extent("received", "processed_ns").unknown,
        acks=not bronze.extent("sent", "acked_ns").unknown,
        acks_0=_acks(facts) == "0",
        transactional=not bronze.extent("sent", "transaction").unknown,
        all_sound=(
            bronze.extent("received", "producer").nulls == 0
            and bronze.extent("received", "seq").nulls == 0
            and (intact.unknown or intact.low is True)
        ),
        dead=frozenset(worker.number for worker in facts.workers if worker.role == "consumer" and worker.died),
    )


def _acks(facts: RunFacts) -> str | None:
    load = facts.scenario.get("load")
    client = load.get("client") if isinstance(load, dict) else None
    settings = client if isinstance(client, dict) else {}
    asked = settings.get("acks", settings.get("request.required.acks"))
    return None if asked is None else str(asked)


def span_of(facts: RunFacts, bronze: Bronze) -> Span:
    """What the run and its measure phase cover; without phases, all that was recorded is measured."""
    extents = [bronze.extent(kind, column) for kind, column in _TIMES]
    dues = bronze.extent("sent", "due_ns")
    seen = [each.high for each in extents if each.high is not None]
    begun = [each.low for each in (*extents, dues) if each.low is not None]
    first = min((phase.from_ns for phase in facts.phases), default=min(begun, default=facts.monotonic_ns))
    last = facts.drain_ended_ns or max(seen, default=first)
    measured = facts.phase("measure")
    # A window of all that there is must hold the last moment, and what was due after it.
    whole = Measure(first, max([last, *seen, dues.high or last]) + 1)
    return Span(first, max(last, first), Measure(measured.from_ns, measured.to_ns) if measured else whole)
