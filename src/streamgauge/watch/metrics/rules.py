"""Recording rules and alerts for Prometheus, as YAML."""

from dataclasses import dataclass
from typing import Any, Final

import yaml

from streamgauge.watch.metrics import names
from streamgauge.watch.metrics.names import Name
from streamgauge.watch.metrics.queries import BY_RUN, in_stage, mean, quantile, rate, series, share, summed

WINDOW: Final = "1m"
RATES: Final = (names.SENT, names.ACKED, names.FAILED, names.RECEIVED, names.ACKED_BYTES, names.RECEIVED_BYTES)
LATENCIES: Final = (names.ACK, names.END_TO_END, names.SEND_BATCH)
SHARES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
BEHIND_SHARE: Final = 0.95
RISING_SHARE: Final = 0.05
SLOW_SECONDS: Final = 1.0
IDLE_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True)
class AlertRule:
    """An example of an alert; `hold` is how long its expression must be true, as Prometheus writes it."""

    name: str
    expression: str
    severity: str
    summary: str
    hold: str | None = None


def recorded_rate(name: Name) -> str:
    """The name of the recorded rate of a counter."""
    return f"run:{name.name.removesuffix('_total')}:rate{WINDOW}"


def recorded_latency(name: Name, figure: str) -> str:
    """The name of a recorded figure of latency: p50, p95, p99 or mean."""
    return f"run:{name}:{figure}_rate{WINDOW}"


def _alerts() -> tuple[AlertRule, ...]:
    measuring = in_stage("measure")
    # A mean rate does not tell how many messages are due in a minute.
    steady = series(names.TARGET, 'pace="constant"')
    rising = f"deriv({names.OUTSTANDING}[{WINDOW}]) / on ({BY_RUN}) {recorded_rate(names.SENT)} > {RISING_SHARE:g}"
    idle = share(rate(names.IDLE, WINDOW), summed(names.CORES))
    return (
        AlertRule(
            "StreamgaugeWorkerDied",
            f"{names.UP} == 0",
            "critical",
            "{{ $labels.worker }} of {{ $labels.run }} has died",
        ),
        AlertRule(
            "StreamgaugeMessagesFailed",
            f"{recorded_rate(names.FAILED)} > 0",
            "warning",
            "Messages of {{ $labels.run }} fail: {{ $value | humanize }} a second",
        ),
        AlertRule(
            "StreamgaugeRowsDropped",
            f"{summed(names.DROPPED)} > 0",
            "critical",
            "{{ $labels.run }} could not write {{ $value | humanize }} rows: the recording is incomplete",
        ),
        AlertRule(
            "StreamgaugeBehindSchedule",
            f"({recorded_rate(names.SENT)} / on ({BY_RUN}) {steady} < {BEHIND_SHARE:g}) and {measuring}",
            "warning",
            "{{ $labels.run }} sends {{ $value | humanizePercentage }} of its target rate",
            "30s",
        ),
        AlertRule(
            "StreamgaugeConsumersFallBehind",
            f"({rising}) and {measuring}",
            "warning",
            "Outstanding messages of {{ $labels.run }} grow at {{ $value | humanizePercentage }} of its send rate",
            "30s",
        ),
        AlertRule(
            "StreamgaugeSlow",
            f"{recorded_latency(names.END_TO_END, 'p99')} > {SLOW_SECONDS:g}",
            "warning",
            "End-to-end latency of {{ $labels.run }} has a p99 of {{ $value | humanizeDuration }}",
            "30s",
        ),
        AlertRule(
            "StreamgaugeMachineBusy",
            f"({idle} < {IDLE_SHARE:g}) and {measuring}",
            "warning",
            "{{ $labels.host }} is {{ $value | humanizePercentage }} idle: CPU may be the bottleneck",
            "30s",
        ),
    )


ALERTS: Final = _alerts()


def rules() -> str:
    """The file of rules: one-minute rates and latencies of each run, and examples of alerts."""
    recorded = [{"record": recorded_rate(name), "expr": rate(name, WINDOW)} for name in RATES]
    for name in LATENCIES:
        recorded += [
            {"record": recorded_latency(name, figure), "expr": quantile(each, name, WINDOW)}
            for figure, each in SHARES.items()
        ]
        recorded.append({"record": recorded_latency(name, "mean"), "expr": mean(name, WINDOW)})
    groups = [
        {"name": "streamgauge-rates", "rules": recorded},
        {"name": "streamgauge-alerts", "rules": [_rule(alert) for alert in ALERTS]},
    ]
    return yaml.safe_dump({"groups": groups}, sort_keys=False, width=1_000)


def _rule(alert: AlertRule) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        **({"for": alert.hold} if alert.hold else {}),
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary},
    }
