"""The command `simulate lag`: lag over time from numbers alone, with the theory beside it."""

from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(help="Simulate runs without a broker.", no_args_is_help=True, rich_markup_mode="markdown")


def _option(metavar: str, about: str) -> Any:
    return typer.Option(metavar=metavar, help=about, show_default=False)


@app.command()
def lag(
    scenario: Annotated[
        str | None, _option("NAME", "Take all values from this scenario; options override them.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change one value of the scenario.")
    ] = None,
    partitions: Annotated[int | None, _option("N", "Partitions of the topic; 4 without a scenario.")] = None,
    duration: Annotated[str | None, _option("TIME", "Duration; 16s without a scenario.")] = None,
    rate: Annotated[str | None, _option("RATE", "Target rate of all producers; 10k/s without a scenario.")] = None,
    producers: Annotated[int | None, _option("N", "Producers that share the rate; 8 without a scenario.")] = None,
    capacity: Annotated[
        str | None, _option("RATE", "Processing capacity of all consumers; 4k/s without a scenario.")
    ] = None,
    slots: Annotated[
        int | None, _option("N", "Parallel slots for messages of any partition; by default one for each partition.")
    ] = None,
    delay: Annotated[str | None, _option("TIME", "Processing time of a message, instead of --capacity.")] = None,
    jitter: Annotated[str | None, _option("TIME", "Random addition to the delay, uniform between 0 and this.")] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(metavar="AT:KEY=VALUE", help="Change rate, capacity or delay at this time. Repeatable."),
    ] = None,
    policy: Annotated[
        str | None, _option("POLICY", "`off`, `hysteresis` or `credit`; by default derived from the limits.")
    ] = None,
    max_lag: Annotated[str | None, _option("N", "Hysteresis: producers pause above this committed lag.")] = None,
    resume_lag: Annotated[str | None, _option("N", "Hysteresis: producers resume below this; half by default.")] = None,
    limit: Annotated[str | None, _option("N", "Credit: maximum of messages sent and not processed.")] = None,
    poll: Annotated[
        str | None, _option("TIME", "Interval of decisions; 200ms with hysteresis, 1ms with credit.")
    ] = None,
    sampling: Annotated[str | None, _option("TIME", "Interval of lag samples; 1s without a scenario.")] = None,
    commit: Annotated[str | None, _option("TIME", "Interval of commits, or `never`; 1s without a scenario.")] = None,
    partitioning: Annotated[
        str | None, _option("HOW", "`round-robin`, `sticky` (a random partition for a while) or `random`.")
    ] = None,
    sticky: Annotated[
        str | None,
        _option("TIME_OR_N", "How long, or for how many messages, sticky uses a partition; 10ms by default."),
    ] = None,
    transit: Annotated[
        str | None, _option("TIME", "Time from a send until a consumer receives it; 5ms by default.")
    ] = None,
    held: Annotated[str | None, _option("HOW", "Throttled messages: `keep` them (as runs do) or `drop` them.")] = None,
    seed: Annotated[int | None, _option("N", "Random seed; 42 without a scenario.")] = None,
    every: Annotated[str, typer.Option(metavar="TIME", help="Interval of output lines.")] = "1s",
    figure: Annotated[Path | None, _option("FILE", "Also write a figure: FILE.svg, FILE.png or FILE.pdf.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Simulate lag over time and compare it with theory; no broker needed.

    Prints a line for each second: log end, committed offset, lag, outstanding messages (sent and not processed),
    the partition with the most lag, and a bar for the lag. Below are peaks, means and utilisation, compared with the
    formulas.

    Example: `streamgauge simulate lag --change 8s:capacity=16k/s` or `streamgauge simulate lag --scenario bp-tight` or
    `streamgauge simulate lag --rate 10k/s --capacity 4k/s --limit 500 --figure lag.svg`
    """
    from streamgauge.cli.simulate.options import Asked
    from streamgauge.cli.simulate.printed import simulate_lag

    asked = Asked(
        scenario=scenario, settings=settings or (), partitions=partitions, duration=duration, rate=rate,
        producers=producers, capacity=capacity, slots=slots, delay=delay, jitter=jitter, change=change or (),
        policy=policy, max_lag=max_lag, resume_lag=resume_lag, limit=limit, poll=poll, sampling=sampling,
        commit=commit, partitioning=partitioning, sticky=sticky, transit=transit, held=held, seed=seed, every=every,
        figure=figure,
    )  # fmt: skip
    simulate_lag(asked, as_json=as_json, out=typer.echo)
