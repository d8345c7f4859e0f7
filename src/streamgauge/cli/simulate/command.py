"""The command `simulate lag`: lag over time from numbers alone, with the theory beside it."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from streamgauge.cli import completion
from streamgauge.cli.options import OUTPUT, SCENARIO, JsonOption, PlainCommand, PlainGroup, SetOption

app = typer.Typer(
    cls=PlainGroup, help="Simulate runs without a broker.", no_args_is_help=True, rich_markup_mode="markdown"
)


STREAM: Final = "Stream"
CONSUMERS: Final = "Consumers"
POLICY: Final = "Policy"


def _option(metavar: str, about: str, panel: str, complete: Callable[[str], list[str]] | None = None) -> Any:
    return typer.Option(metavar=metavar, help=about, show_default=False, rich_help_panel=panel, autocompletion=complete)


@app.command(cls=PlainCommand)
def lag(
    scenario: Annotated[
        str | None,
        _option("NAME", "Take all values from this scenario; options override them.", SCENARIO, completion.scenarios),
    ] = None,
    settings: SetOption = None,
    partitions: Annotated[int | None, _option("N", "Partitions of the topic; 4 without a scenario.", STREAM)] = None,
    duration: Annotated[str | None, _option("TIME", "Duration; 16s without a scenario.", STREAM)] = None,
    rate: Annotated[
        str | None, _option("RATE", "Target rate of all producers; 10k/s without a scenario.", STREAM)
    ] = None,
    producers: Annotated[
        int | None, _option("N", "Producers that share the rate; 8 without a scenario.", STREAM)
    ] = None,
    capacity: Annotated[
        str | None, _option("RATE", "Processing capacity of all consumers; 4k/s without a scenario.", CONSUMERS)
    ] = None,
    slots: Annotated[
        int | None,
        _option(
            "N", "Parallel slots for messages of any partition; without a scenario one for each partition.", CONSUMERS
        ),
    ] = None,
    delay: Annotated[
        str | None, _option("TIME", "Processing time of a message, instead of --capacity.", CONSUMERS)
    ] = None,
    jitter: Annotated[
        str | None, _option("TIME", "Random addition to the delay, uniform between 0 and this.", CONSUMERS)
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AT:KEY=VALUE",
            help="Change rate, capacity or delay at this time. Repeatable.",
            rich_help_panel=STREAM,
        ),
    ] = None,
    policy: Annotated[
        str | None,
        _option(
            "POLICY",
            "`off`, `hysteresis` or `credit`; by default derived from the limits.",
            POLICY,
            completion.one_of("off", "hysteresis", "credit"),
        ),
    ] = None,
    max_lag: Annotated[
        str | None, _option("N", "Hysteresis: producers pause above this committed lag.", POLICY)
    ] = None,
    resume_lag: Annotated[
        str | None, _option("N", "Hysteresis: producers resume below this; half by default.", POLICY)
    ] = None,
    limit: Annotated[str | None, _option("N", "Credit: maximum of messages sent and not processed.", POLICY)] = None,
    poll: Annotated[
        str | None, _option("TIME", "Interval of decisions; 200ms with hysteresis, 1ms with credit.", POLICY)
    ] = None,
    sampling: Annotated[str | None, _option("TIME", "Interval of lag samples; 1s without a scenario.", POLICY)] = None,
    commit: Annotated[
        str | None, _option("TIME", "Interval of commits, or `never`; 1s without a scenario.", CONSUMERS)
    ] = None,
    partitioning: Annotated[
        str | None,
        _option(
            "HOW",
            "`round-robin`, `sticky` (a random partition for a while) or `random`.",
            STREAM,
            completion.one_of("round-robin", "sticky", "random"),
        ),
    ] = None,
    sticky: Annotated[
        str | None,
        _option("TIME_OR_N", "How long, or for how many messages, sticky uses a partition; 10ms by default.", STREAM),
    ] = None,
    transit: Annotated[
        str | None, _option("TIME", "Time from a send until a consumer receives it; 5ms by default.", STREAM)
    ] = None,
    held: Annotated[
        str | None,
        _option(
            "HOW",
            "Throttled messages: `keep` them (as runs do) or `drop` them.",
            POLICY,
            completion.one_of("keep", "drop"),
        ),
    ] = None,
    seed: Annotated[int | None, _option("N", "Random seed; 42 without a scenario.", STREAM)] = None,
    every: Annotated[
        str, typer.Option(metavar="TIME", help="Interval of output lines.", rich_help_panel=OUTPUT)
    ] = "1s",
    figure: Annotated[
        Path | None, _option("FILE", "Also write a figure: FILE.svg, FILE.png or FILE.pdf.", OUTPUT)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate lag over time, and compare it with theory.

    Needs no broker. Prints a line for each second: log end, committed offset, lag, outstanding messages (sent and not
    processed), the partition with the most lag, and a bar for the lag. Below are peaks, means and utilisation, compared
    with the formulas.

    Example: `streamgauge simulate lag --change 8s:capacity=16k/s`
    """
    from streamgauge.cli.simulate.options import SimulationOptions
    from streamgauge.cli.simulate.printed import simulate_lag

    options = SimulationOptions(
        scenario=scenario, settings=settings or (), partitions=partitions, duration=duration, rate=rate,
        producers=producers, capacity=capacity, slots=slots, delay=delay, jitter=jitter, change=change or (),
        policy=policy, max_lag=max_lag, resume_lag=resume_lag, limit=limit, poll=poll, sampling=sampling,
        commit=commit, partitioning=partitioning, sticky=sticky, transit=transit, held=held, seed=seed, every=every,
        figure=figure,
    )  # fmt: skip
    simulate_lag(options, as_json=as_json, out=typer.echo)
