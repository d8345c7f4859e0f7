"""What is decided about a run before anything of it starts: whether it may, its identity, its cluster, what to tell."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from streamgauge.domain import clock
from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.text.secrets import without_secrets
from streamgauge.runs.conduct.identity import Identity
from streamgauge.runs.conduct.target import WantedCluster
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.trust import check_trust
from streamgauge.scenario import Scenario, document
from streamgauge.scenario.model.faults import BROKER
from streamgauge.workload.pacing import Int64s


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that may start. Nothing in it changes, and nothing of it needs the cluster or the run folder."""

    identity: Identity
    pair: clock.ClockPair
    """When it was decided, on both clocks."""
    scenario: Scenario
    arrivals: Int64s | None
    """Those of a replay."""
    cluster: WantedCluster
    allow_reset: bool
    """Whether an existing topic of the user's cluster may be deleted."""
    out: Path
    """Folder for new run folders."""
    command: Sequence[str]
    hide: Callable[[str], str]
    """Masks the secrets of scenario and connection in what somebody says of the run."""


def prepare_run(request: Request) -> Prepared:
    """A run from what the user asked for.

    Raises BadInput for what was not granted, and for faults that would stop a broker of the user's.
    """
    check_trust(request.scenario, request.trust)
    _check_faults(request.scenario, embedded=not request.bootstrap)
    pair = clock.clock_pair()
    return Prepared(
        identity=_identity(request.scenario.name, pair),
        pair=pair,
        scenario=request.scenario,
        arrivals=request.arrivals,
        cluster=WantedCluster(
            request.java, request.bootstrap, request.connection, request.broker, keep_broker=request.keep_broker
        ),
        allow_reset=request.allow_reset,
        out=request.out,
        command=request.command,
        hide=partial(without_secrets, given={"scenario": document(request.scenario), "connection": request.connection}),
    )


def _identity(name: str, pair: clock.ClockPair) -> Identity:
    run_id = f"{clock.local_stamp(pair.wall_ns)}-{name}"
    return Identity(run_id, secrets.randbits(32), f"streamgauge-{run_id}-{secrets.token_hex(3)}")


def _check_faults(scenario: Scenario, *, embedded: bool) -> None:
    """A cluster of the user's is not ours to stop."""
    wrong = [place for place, fault in enumerate(scenario.faults) if fault.role == BROKER]
    if wrong and not embedded:
        what = "broker: only an embedded broker can be paused, not a cluster of --bootstrap"
        raise BadInput([Fault(f"faults.{place}.target", what, "Leave --bootstrap out") for place in wrong])
