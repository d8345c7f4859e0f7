"""The figures of a result with their intervals: what each can have been without the instrument, and what is left of it.

Latencies have intervals from bounds of each message (the table `bounds`); counts are exact unless the fate of messages
is unknown; what a failing check of the instrument takes has none.
"""

from collections.abc import Sequence

from streamgauge.result.model.clients import ConnectionsSection
from streamgauge.result.model.delivery import DeliverySection
from streamgauge.result.model.latency import LatencySection, ScheduleDelay
from streamgauge.result.model.pipeline import PipelineSection
from streamgauge.result.model.pressure import LagSection, RecoveryScore
from streamgauge.result.model.throughput import StepResult, ThroughputSection
from streamgauge.result.model.trust import FigureTrust
from streamgauge.verdict.check import Check
from streamgauge.verdict.evidence import ARRIVING, Evidence
from streamgauge.verdict.trust import place, starvation, unbounded
from streamgauge.verdict.trust.causes import LIMITED_RATES, LIMITING, SLOWED_LOAD, STARVED_CONSUMERS, Taken, taken
from streamgauge.verdict.trust.figures import connected, counts, latencies, pressure, recovered
from streamgauge.verdict.trust.figures.interval import disbelieved
from streamgauge.verdict.trust.seconds import TIMES, Seconds

Figures = dict[str, FigureTrust]


def figures(
    run: Evidence,
    checks: Sequence[Check],
    *,
    throughput: ThroughputSection,
    latency: LatencySection,
    delivery: DeliverySection,
    connections: ConnectionsSection | None,
    lag: LagSection | None,
    recovery: Sequence[RecoveryScore],
    pipeline: PipelineSection | None,
    schedule_delay: ScheduleDelay | None,
    steps: Sequence[StepResult],
    path: str,
) -> Figures:
    """Every figure by its path in the result; latencies of steps are those of a `path` like `end_to_end`.

    A step in which all came that was due was limited by nothing, whatever limited the run in others.
    """
    found = {
        **dict(counts.rates(run, throughput, delivery)),
        **dict(latencies.latencies(run, latency)),
        **dict(latencies.own(latency, schedule_delay)),
        **dict(latencies.stages(run, pipeline)),
        **dict(counts.counts(run, delivery)),
        **dict(connected.connections(connections)),
        **dict(pressure.lags(run, lag)),
        **dict(recovered.recoveries(run, recovery)),
    }
    bounded = tuple(latencies.bounded(run, latency, pipeline))
    causes = _causes(run, taken(checks, found, run.profile))
    seconds = [*unbounded.of_latency(run), *starvation.of_clients(run)]
    here, load = place.of_seconds(run), place.of_load(run)
    left = {path: _less(path, figure, causes, seconds, bounded) for path, figure in found.items()}
    placed = {path: _placed(path, figure, here, load) for path, figure in left.items()}
    unlimited = [(check, takes) for check, takes in causes if check.name not in LIMITING]
    for each in (*counts.of_steps(run, steps, delivery), *latencies.of_steps(run, steps, path)):
        own = _within(seconds, each.step)
        figure = _less(each.of_run, each.figure, unlimited if each.is_complete else causes, own, bounded)
        placed[each.path] = _placed(each.of_run, figure, _within(here, each.step), load)
    return placed


def _within(seconds: Sequence[Seconds], step: StepResult) -> list[Seconds]:
    """What of it happened in a step."""
    found = [each.within(step.from_second, step.to_second) for each in seconds]
    return [each for each in found if each.share]


def _causes(run: Evidence, taken: Sequence[tuple[Check, Taken]]) -> list[tuple[Check, Taken]]:
    """What failing checks take, with what they take besides in such a run."""
    more: list[tuple[Check, Taken]] = []
    for check, _ in taken:
        if check.name == "worker_cpu" and (share := run.received_share) is not None and share < ARRIVING:
            more.append((check, STARVED_CONSUMERS))
        if check.name == "cpu_quota" and not run.has_schedule:
            more.append((check, LIMITED_RATES))
        if check.name in {"worker_cpu", "cpu_quota"}:
            more.append((check, SLOWED_LOAD))
    return [*taken, *more]


def _placed(path: str, figure: FigureTrust, here: Sequence[Seconds], load: str | None) -> FigureTrust:
    """A latency that may be this machine's, or this generator's, says so."""
    because = [each.because for each in here if each.takes(path)]
    because += [load] if load and path.startswith(TIMES) else []
    return figure.model_copy(update={"place": "; ".join(because)}) if because else figure


def _less(
    path: str,
    figure: FigureTrust,
    taken: Sequence[tuple[Check, Taken]],
    seconds: Sequence[Seconds],
    bounded: tuple[str, ...],
) -> FigureTrust:
    """A figure after what failing checks, and seconds without a bound, take from it."""
    has_bounds = path.startswith(bounded) if bounded else False
    causes = [check.evidence for check, takes in taken if takes.names(path) and not (takes.bounded and has_bounds)]
    causes += [each.because for each in seconds if each.takes(path)]
    return disbelieved(figure, causes) if causes else figure
