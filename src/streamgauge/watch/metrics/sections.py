"""The sections of the dashboard: what each panel shows, by which queries."""

from typing import Final

from streamgauge.watch.metrics import names
from streamgauge.watch.metrics.names import Name
from streamgauge.watch.metrics.panels import BAD_SECONDS, RUN, Panel, PanelQuery, PanelRow, lines, number
from streamgauge.watch.metrics.queries import (
    BY_RUN,
    CHOSEN,
    final,
    in_stage,
    mean,
    over_range,
    quantile,
    quantile_over_range,
    rate,
    series,
    share,
    summed,
)

MINUTE: Final = "1m"
SPAN: Final = "$span"
"""The window of rates that a variable of the dashboard chooses."""
BY_ROLE: Final = f"{BY_RUN}, role"
BY_WORKER: Final = f"{BY_RUN}, worker"
WORKER: Final = f"{RUN} {{{{worker}}}}"
ROLE: Final = f"{RUN} {{{{role}}}}"
SHARES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
LATENCIES: Final = {
    "End-to-end latency": names.END_TO_END,
    "Ack latency": names.ACK,
    "Send batch latency": names.SEND_BATCH,
}


def sections() -> tuple[PanelRow, ...]:
    """All sections, in their order."""
    return (_overview(), _rates(), _latency(), _lag(), _errors(), _workers())


def _overview() -> PanelRow:
    totals = {"Sent": names.SENT, "Received": names.RECEIVED}
    numbers = [number(f"{title}, total", name.about, "short", final(name, CHOSEN)) for title, name in totals.items()]
    numbers.append(number("Failed, total", names.FAILED.about, "short", final(names.FAILED, CHOSEN), red_from=1))
    numbers.append(number("Target rate", names.TARGET.about, "cps", final(names.TARGET, CHOSEN)))
    for title, role in {"Producers done": "producer", "Consumers done": "consumer"}.items():
        select = f'{CHOSEN}, role="{role}"'
        done = share(final(names.DONE, select), final(names.CLIENTS, select))
        numbers.append(number(title, f"Share of the {role}s that have finished.", "percentunit", done))
    numbers += _figures("Send rate", names.SENT) + _figures("Receive rate", names.RECEIVED)
    for title, name in LATENCIES.items():
        highest = over_range("max_over_time", quantile(0.95, name, MINUTE, CHOSEN))
        about = f"Highest p95 over one minute. {name.about}"
        numbers.append(number(f"{title}, highest p95", about, "s", highest, width=8, red_from=BAD_SECONDS))
    stage = PanelQuery(f"max by ({BY_RUN}, stage) ({series(names.STAGE, CHOSEN)}) == 1", f"{RUN} {{{{stage}}}}")
    return PanelRow("Overview", (*numbers, Panel("Stage", names.STAGE.about, "short", "states", (stage,), 24)))


def _figures(title: str, name: Name) -> list[Panel]:
    """What the rate of a run comes to, over the time range of the dashboard."""
    # Before the load and during the analysis, when counters stand still, the run has no rate.
    by_minute = f"{rate(name, MINUTE, CHOSEN)} and {in_stage('measure', CHOSEN)}"
    most = "95 % of the rates over one minute are at most this, in the measure phase."
    highest, average = (over_range(f"{each}_over_time", by_minute) for each in ("max", "avg"))
    return [
        number(f"{title}, highest", "Highest rate over one minute, in the measure phase.", "cps", highest),
        number(f"{title}, average", "Mean of the rates over one minute, in the measure phase.", "cps", average),
        number(f"{title}, 95 % quantile", most, "cps", quantile_over_range(0.95, by_minute)),
    ]


def _rates() -> PanelRow:
    def of_steps(window: str) -> list[PanelQuery]:
        steps = {"sent": names.SENT, "acked": names.ACKED, "received": names.RECEIVED}
        rates = [PanelQuery(rate(name, window, CHOSEN), f"{RUN} {step}") for step, name in steps.items()]
        return [*rates, PanelQuery(summed(names.TARGET, CHOSEN), f"{RUN} target")]

    def by_worker(title: str, name: Name) -> Panel:
        query = PanelQuery(rate(name, SPAN, CHOSEN, BY_WORKER), WORKER)
        return lines(title, "Messages a second of each worker process.", "cps", query, width=8)

    sizes = {"acked": names.ACKED_BYTES, "received": names.RECEIVED_BYTES}
    volume = [PanelQuery(rate(name, SPAN, CHOSEN), f"{RUN} {step}") for step, name in sizes.items()]
    chosen = "Messages a second over the window that the variable Rate window chooses."
    return PanelRow(
        "Rates",
        (
            lines("Messages, chosen window", chosen, "cps", *of_steps(SPAN)),
            lines("Messages, one minute", "Messages a second over one minute.", "cps", *of_steps(MINUTE)),
            lines("Volume", "Bytes of message values a second, before compression.", "Bps", *volume, width=8),
            by_worker("Sent by producer", names.SENT),
            by_worker("Received by consumer", names.RECEIVED),
        ),
    )


def _latency() -> PanelRow:
    panels: list[Panel] = []
    for title, name in LATENCIES.items():
        figures = [PanelQuery(quantile(each, name, MINUTE, CHOSEN), f"{RUN} {shown}") for shown, each in SHARES.items()]
        figures.append(PanelQuery(mean(name, MINUTE, CHOSEN), f"{RUN} mean"))
        panels.append(lines(title, f"Over one minute. {name.about}", "s", *figures, red_from=BAD_SECONDS))
        buckets = PanelQuery(f"sum by (le) (increase({series(name, CHOSEN, '_bucket')}[$__rate_interval]))", "{{le}}")
        about = f"Messages or batches by latency, all chosen runs together. {name.about}"
        panels.append(Panel(f"{title}, heat map", about, "s", "heatmap", (buckets,)))
    return PanelRow("Latency", tuple(panels))


def _lag() -> PanelRow:
    behind = {"committed lag": names.LAG, "outstanding": names.OUTSTANDING, "limit of backpressure": names.LIMIT}
    credit = {"in use": names.IN_USE, "limit": names.LIMIT}
    paused = PanelQuery(summed(names.PAUSED, CHOSEN))
    return PanelRow(
        "Lag and backpressure",
        (
            lines(
                "Lag", f"Outstanding: {names.OUTSTANDING.about} Committed lag: {names.LAG.about}", "short",
                *(PanelQuery(summed(name, CHOSEN), f"{RUN} {shown}") for shown, name in behind.items()),
            ),
            lines(
                "Credit", "Messages that producers may have sent before they are processed; only with credit.", "short",
                *(PanelQuery(summed(name, CHOSEN), f"{RUN} {shown}") for shown, name in credit.items()),
            ),
            Panel("Producers paused", names.PAUSED.about, "short", "steps", (paused,), 8),
            lines(
                "Buffered by consumer", names.BUFFERED.about, "short",
                PanelQuery(summed(names.BUFFERED, CHOSEN, BY_WORKER), WORKER), width=8,
            ),
            lines(
                "Client queue full", "Share of the time that producers were blocked by a full client queue.",
                "percentunit", PanelQuery(rate(names.QUEUE_FULL, SPAN, CHOSEN, BY_WORKER), WORKER), width=8,
                red_from=0.2,
            ),
        ),
    )  # fmt: skip


def _errors() -> PanelRow:
    failed = PanelQuery(rate(names.FAILED, SPAN, CHOSEN, BY_WORKER), WORKER)
    alive = PanelQuery(summed(names.UP, CHOSEN, BY_WORKER), WORKER)
    dropped = PanelQuery(summed(names.DROPPED, CHOSEN))
    return PanelRow(
        "Errors",
        (
            lines("Failed messages", "Messages a second that failed.", "cps", failed, width=8, red_from=0.01),
            Panel("Workers up", names.UP.about, "short", "steps", (alive,), 8, red_below=1),
            lines("Rows not recorded", names.DROPPED.about, "short", dropped, width=8, red_from=1),
        ),
    )


def _workers() -> PanelRow:
    def cpu(by: str, legend: str) -> PanelQuery:
        return PanelQuery(rate(names.CPU, SPAN, CHOSEN, by), legend)

    # The last look is taken before the analysis, during which nothing is known.
    known = f"unless {in_stage('ending', CHOSEN)}"
    idle = PanelQuery(f"{share(rate(names.IDLE, SPAN, CHOSEN), summed(names.CORES, CHOSEN))} {known}")
    about_idle = "Share of the CPU time of all cores that was idle, until the analysis begins."
    done = PanelQuery(summed(names.DONE, CHOSEN, BY_ROLE), ROLE)
    return PanelRow(
        "Workers and machine",
        (
            lines("CPU by role", "CPU cores used by producers, consumers and broker.", "short", cpu(BY_ROLE, ROLE)),
            lines("CPU by process", "CPU cores used by each process.", "short", cpu(BY_WORKER, WORKER)),
            Panel("Machine idle", about_idle, "percentunit", "lines", (idle,), red_below=0.05),
            Panel("Producers and consumers done", names.DONE.about, "short", "steps", (done,)),
        ),
    )
