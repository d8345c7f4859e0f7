"""The page of the metrics for Prometheus, recorded series and alerts."""

import yaml

from streamgauge.watch.metrics.names import NAMES, RUN_LABELS
from streamgauge.watch.metrics.rules import ALERTS, rules
from tools.reference.markdown import code, document, sentence, table

INTRO = f"""\
`streamgauge run --metrics-port` serves these metrics until the report is written. Every sample has the labels
{", ".join(map(code, RUN_LABELS))}: name of the scenario, of the run folder and of the machine. A metric without a
value is absent: for example, only runs that send in batches have
`streamgauge_send_batch_latency_seconds`. Times are in seconds, sizes in bytes.

The metrics show a run while it is under way; results come from the recorded events. Latencies are counted in buckets,
each at most a fifth wider than the one below. How to use the metrics:
[Watch runs with Prometheus and Grafana](../how-to/prometheus.md)."""

RULES = """\
`streamgauge dashboard --rules` prints them. All rates and latencies are over one minute, with the labels of the run."""

ALERT = """\
Examples: adapt their limits to your runs."""


def page() -> str:
    """Every metric, recorded series and alert."""
    metrics = ((code(name), name.kind, ", ".join(map(code, name.labels)), sentence(name.about)) for name in NAMES)
    recorded = [
        (code(rule["record"]), code(rule["expr"]))
        for group in yaml.safe_load(rules())["groups"]
        for rule in group["rules"]
        if "record" in rule
    ]
    alerts = ((code(alert.name), code(alert.expression), alert.hold or "", alert.severity) for alert in ALERTS)
    return document(
        "Metrics",
        INTRO,
        table(("metric", "type", "labels", "description"), metrics),
        "## Recording rules",
        RULES,
        table(("series", "expression"), recorded),
        "## Alerts",
        ALERT,
        table(("alert", "expression", "for", "severity"), alerts),
    )
