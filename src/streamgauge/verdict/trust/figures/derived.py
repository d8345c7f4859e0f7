"""Figures of parts of a run that have no bounds of their own: they are not believed where those of the run are not."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from streamgauge.result.model.clients import RedeliverySection
from streamgauge.result.model.throughput import StepResult
from streamgauge.result.model.trust import FigureTrust
from streamgauge.verdict.trust.figures.interval import disbelieved, exact
from streamgauge.verdict.trust.parts import main_of

_KINDS: Final = ("response", "service")
_TIMES: Final = ("delay", "answer", "success")
_TIME_FIGURES: Final = ("p50", "p90", "p99", "max")


def derived(
    figures: Mapping[str, FigureTrust],
    path: str,
    steps: Sequence[StepResult],
    redelivery: RedeliverySection | None,
    doubted: Mapping[str, str],
) -> dict[str, FigureTrust]:
    """Companions of redeliveries, and of the latencies of steps, which are those of a `path` like `end_to_end`.

    Steps have none of their own where an older version analysed the run. Whatever makes a latency of the run doubtful
    may have happened in any step, and to any message that came again. The reasons are those of the figure of the run.
    Where that has bounds these have none, and keep no companion. Counts of redeliveries have one where they are
    `doubted`, with that reason.
    """
    times = _doubted(figures, {**dict(_of_steps(path, steps)), **dict(_of_times(figures, redelivery))})
    return {**dict(times), **dict(_of_redeliveries(redelivery, doubted))}


def _of_redeliveries(
    redelivery: RedeliverySection | None, doubted: Mapping[str, str]
) -> Iterator[tuple[str, FigureTrust]]:
    for name, because in doubted.items():
        # What did not happen, a gap has not caused.
        if value := getattr(redelivery, name, None):
            yield f"redelivery.{name}", disbelieved(exact(value), [because])


def _doubted(
    figures: Mapping[str, FigureTrust], known: Mapping[str, tuple[str, float]]
) -> Iterator[tuple[str, FigureTrust]]:
    for path, (of_run, value) in known.items():
        whole = figures.get(of_run)
        if path not in figures and whole is not None and whole.trust == "not_believed":
            yield path, disbelieved(exact(value), whole.because)


def _of_steps(path: str, steps: Sequence[StepResult]) -> Iterator[tuple[str, tuple[str, float]]]:
    """Figures of steps by their paths, with the path of the same figure of the run."""
    for place, step in enumerate(steps):
        for kind in _KINDS:
            shown = getattr(step, kind)
            for name, value in shown or ():
                of_run = f"latency.{path}.{kind}.{name}"
                if isinstance(value, int | float):
                    yield f"steps.{place}.{kind}.{name}", (of_run, value)
            for name, value in (shown.delivered or ()) if shown else ():
                if value is not None:
                    yield f"steps.{place}.{kind}.delivered.{name}", (f"latency.{path}.{kind}.delivered.{name}", value)


def _of_times(
    figures: Mapping[str, FigureTrust], redelivery: RedeliverySection | None
) -> Iterator[tuple[str, tuple[str, float]]]:
    """Times of redeliveries: they end by the same steps as the main latency of the run."""
    main = main_of(figures)
    for time in _TIMES:
        for name in _TIME_FIGURES:
            value = getattr(redelivery, f"{time}_{name}_ms", None)
            if main is not None and value is not None:
                yield f"redelivery.{time}_{name}_ms", (f"{main}.{name}_ms", value)
