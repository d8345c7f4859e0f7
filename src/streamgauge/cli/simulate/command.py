"""The command `simulate lag`: lag over time from numbers alone, with the theory beside it."""

from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Work out what a run would do, without a broker.", no_args_is_help=True, rich_markup_mode="markdown"
)


def _option(metavar: str, about: str) -> Any:
    return typer.Option(metavar=metavar, help=about, show_default=False)


@app.command()
def lag(
    scenario: Annotated[
        str | None, _option("NAME", "Take all numbers from this scenario; options change them.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change one value of the scenario.")
    ] = None,
    partitions: Annotated[int | None, _option("N", "Partitions of the topic; 4 without a scenario.")] = None,
    duration: Annotated[str | None, _option("TIME", "How long it goes on; 16s without a scenario.")] = None,
    rate: Annotated[str | None, _option("RATE", "What producers send; 10k/s without a scenario.")] = None,
    producers: Annotated[int | None, _option("N", "Producers that share the rate; 8 without a scenario.")] = None,
    capacity: Annotated[
        str | None, _option("RATE", "What consumers process when they are busy; 4k/s without a scenario.")
    ] = None,
    slots: Annotated[
        int | None, _option("N", "Messages processed at once, of any partition; one of each partition by default.")
    ] = None,
    delay: Annotated[str | None, _option("TIME", "What a message takes, in place of --capacity.")] = None,
    jitter: Annotated[str | None, _option("TIME", "What is added to the delay: evenly between 0 and this.")] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(metavar="AT:KEY=VALUE", help="From a moment on, another rate, capacity or delay. Repeatable."),
    ] = None,
    policy: Annotated[
        str | None, _option("POLICY", "`off`, `hysteresis` or `credit`; follows from the limits.")
    ] = None,
    max_lag: Annotated[str | None, _option("N", "Hysteresis: producers pause above this committed lag.")] = None,
    resume_lag: Annotated[str | None, _option("N", "Hysteresis: they go on below this; half by default.")] = None,
    limit: Annotated[str | None, _option("N", "Credit: messages sent and not processed, at most.")] = None,
    poll: Annotated[
        str | None, _option("TIME", "Between two decisions; 200ms with hysteresis, 1ms with credit.")
    ] = None,
    sampling: Annotated[str | None, _option("TIME", "Between two samples of the lag; 1s without a scenario.")] = None,
    commit: Annotated[str | None, _option("TIME", "Between two commits, or `never`; 1s without a scenario.")] = None,
    partitioning: Annotated[
        str | None, _option("HOW", "`round-robin`, `sticky` (stays with a drawn partition) or `random`.")
    ] = None,
    sticky: Annotated[
        str | None, _option("TIME_OR_N", "How long sticky stays, or for how many messages; 10ms by default.")
    ] = None,
    transit: Annotated[str | None, _option("TIME", "From a send until a consumer has it; 5ms by default.")] = None,
    held: Annotated[
        str | None, _option("HOW", "What becomes of messages that may not be sent: `keep` (as runs do) or `drop`.")
    ] = None,
    seed: Annotated[int | None, _option("N", "Seed of all draws; 42 without a scenario.")] = None,
    every: Annotated[str, typer.Option(metavar="TIME", help="Between two lines.")] = "1s",
    figure: Annotated[Path | None, _option("FILE", "Draw it, too: FILE.svg, FILE.png or FILE.pdf.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Simulate lag over time: partitions, rates, a policy, and what theory says of it; no broker needed.

    Prints a line for each second: messages in the log, committed, the lag between them, what is sent and not processed,
    the partition that is worst, and a bar as long as the lag. Below are peaks, means and utilisation, beside the laws
    that they have to follow.

    Example: `streamgauge simulate lag --change 8s:capacity=16k/s` or `streamgauge simulate lag --scenario bp-tight` or
    `streamgauge simulate lag --rate 10k/s --capacity 4k/s --limit 500 --figure lag.svg`
    """
    from streamgauge.cli.simulate.asked import Asked
    from streamgauge.cli.simulate.printed import simulate_lag

    asked = Asked(
        scenario=scenario, settings=settings or (), partitions=partitions, duration=duration, rate=rate,
        producers=producers, capacity=capacity, slots=slots, delay=delay, jitter=jitter, change=change or (),
        policy=policy, max_lag=max_lag, resume_lag=resume_lag, limit=limit, poll=poll, sampling=sampling,
        commit=commit, partitioning=partitioning, sticky=sticky, transit=transit, held=held, seed=seed, every=every,
        figure=figure,
    )  # fmt: skip
    simulate_lag(asked, as_json=as_json, out=typer.echo)
