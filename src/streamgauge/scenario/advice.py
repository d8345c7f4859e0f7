"""What is allowed in a scenario and hardly ever meant: said before the run, with the figure and the remedy."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from streamgauge.domain.text.numbers import per_second
from streamgauge.domain.text.quantities import format_duration
from streamgauge.scenario.model.acknowledge import Retry
from streamgauge.scenario.model.load import Load
from streamgauge.scenario.model.scenario import Scenario
from streamgauge.scenario.model.values import Setting

BUSY_PER_SECOND: Final = 1_000
"""From this rate on, a request for every message is felt."""
LINGER: Final = ("linger.ms", "queue.buffering.max.ms")
_IN_FLIGHT: Final = ("max.in.flight.requests.per.connection", "max.in.flight")
_FEW_IN_FLIGHT: Final = 5


def advice(scenario: Scenario) -> list[str]:
    """One sentence each, like `load.client.linger.ms: ...`."""
    of_load = (
        [*_of_load(scenario.load), *_of_spinning(scenario.load, scenario.topic.replication)] if scenario.load else ()
    )
    retry = scenario.consume.retry if scenario.consume else None
    return [*of_load, *(_of_retry(retry, scenario.phases.drain) if retry else ())]


def _of_load(load: Load) -> Iterator[str]:
    linger, in_flight = number_of(load.client, LINGER), number_of(load.client, _IN_FLIGHT)
    rate = load.mean_rate
    if linger == 0 and (in_flight is None or in_flight > _FEW_IN_FLIGHT) and rate and rate >= BUSY_PER_SECOND:
        yield (
            f"load.client.linger.ms: 0 at {per_second(rate)} sends a request for nearly every message; at 10,000/s "
            "this was measured to cost a broker a whole core, and a median latency of 200 ms. Write 1 (about 1 ms), or "
            "bound max.in.flight.requests.per.connection to 5"
        )


def _of_spinning(load: Load, replication: int) -> Iterator[str]:
    if load.is_idempotent and replication > 1 and number_of(load.client, _IN_FLIGHT) != 1:
        yield (
            "load.client.max.in.flight: threads of librdkafka poll without a pause while five messages of a partition "
            "wait to be acknowledged, if the producer is idempotent or transactional and may have several requests in "
            "flight. That takes whole cores, which brokers may need on this machine. Write 1"
        )


def _of_retry(retry: Retry, drain_ns: int) -> Iterator[str]:
    if retry.most is None:
        return
    whole_ns = sum(retry.delays) + (retry.most - len(retry.delays)) * retry.delays[-1]
    if whole_ns >= drain_ns:
        yield (
            f"phases.drain: {format_duration(drain_ns)} is no longer than all delays of a message together, "
            f"{format_duration(whole_ns)}: what waits in a retry topic then stays open. Write more, or shorter delays"
        )


def number_of(settings: Mapping[str, Setting], names: Sequence[str]) -> float | None:
    """The number that a setting is given under one of its names; None where it is not, or is no number."""
    given = next((settings[name] for name in names if name in settings), None)
    try:
        return None if given is None else float(given)
    except ValueError:
        return None
