"""Recording rules and alerts, as promtool understands them."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.prometheus import metrics_in, promtool

from streamgauge.watch.metrics import names
from streamgauge.watch.metrics.names import NAMES
from streamgauge.watch.metrics.rules import ALERTS, rules

RUN = 'test="t", run="r", host="h"'
LABELS = {"test": "t", "run": "r", "host": "h"}


def test_rules_ask_for_metrics_that_exist() -> None:
    """Served ones, and those that the rules record themselves."""
    written = [rule for group in yaml.safe_load(rules())["groups"] for rule in group["rules"]]
    recorded = {rule["record"] for rule in written if "record" in rule}
    known = {name.name for name in NAMES} | recorded

    assert len(recorded) == 6 + 3 * 4
    for rule in written:
        assert metrics_in(rule["expr"]), rule
        assert metrics_in(rule["expr"]) <= known, rule


@pytest.mark.prometheus
def test_promtool_accepts_the_rules(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(rules(), encoding="utf-8")

    assert "SUCCESS" in promtool("check", "rules", str(tmp_path / "rules.yml"))


def story(series: dict[str, str], **fires: str | None) -> dict[str, Any]:
    """A test of promtool: series of samples every five seconds, and the summary of each alert that they fire."""
    tests = []
    for alert in ALERTS:
        summary = fires.get(alert.name)
        labels: dict[str, str] = {"severity": alert.severity, **LABELS}
        if alert.name == "StreamgaugeWorkerDied":
            labels |= {"worker": "c-0", "role": "consumer"}
        exp = [{"exp_labels": labels, "exp_annotations": {"summary": summary}}] if summary else []
        tests.append({"eval_time": "2m", "alertname": alert.name, "exp_alerts": exp})
    input_series = [{"series": name, "values": values} for name, values in series.items()]
    return {"interval": "5s", "input_series": input_series, "alert_rule_test": tests}


def of_run(name: names.Name, more: str = "") -> str:
    return f"{name}{{{RUN}{more}}}"


WORKER = ', worker="p-0", role="producer"'
HEALTHY = {
    of_run(names.UP, ', worker="c-0", role="consumer"'): "1x30",
    of_run(names.FAILED, WORKER): "0x30",
    of_run(names.DROPPED, WORKER): "0x30",
    of_run(names.SENT, WORKER): "0+500x30",
    of_run(names.TARGET, ', pace="constant"'): "100x30",
    of_run(names.OUTSTANDING): "7x30",
    of_run(names.STAGE, ', stage="measure"'): "1x30",
    of_run(names.IDLE): "0+5x30",
    of_run(names.CORES): "2x30",
    f'{names.END_TO_END}_bucket{{{RUN}, le="0.5"}}': "0+100x30",
    f'{names.END_TO_END}_bucket{{{RUN}, le="2"}}': "0+100x30",
    f'{names.END_TO_END}_bucket{{{RUN}, le="+Inf"}}': "0+100x30",
}
BAD = {
    of_run(names.UP, ', worker="c-0", role="consumer"'): ("0x30", "StreamgaugeWorkerDied", "c-0 of r has died"),
    of_run(names.FAILED, WORKER): ("0+10x30", "StreamgaugeMessagesFailed", "Messages of r fail: 2 a second"),
    of_run(names.DROPPED, WORKER): (
        "3x30", "StreamgaugeRowsDropped", "r could not write 3 rows: the recording is incomplete",
    ),
    of_run(names.SENT, WORKER): ("0+450x30", "StreamgaugeBehindSchedule", "r sends 90% of its target rate"),
    of_run(names.OUTSTANDING): (
        "0+50x30", "StreamgaugeConsumersFallBehind", "Outstanding messages of r grow at 10% of its send rate",
    ),
    f'{names.END_TO_END}_bucket{{{RUN}, le="0.5"}}': (
        "0x30", "StreamgaugeSlow", "End-to-end latency of r has a p99 of 1.985s",
    ),
    of_run(names.IDLE): ("0+0.2x30", "StreamgaugeMachineBusy", "h is 2% idle: CPU may be the bottleneck"),
}  # fmt: skip
ENDING = {of_run(names.STAGE, ', stage="measure"'): "0x30", of_run(names.STAGE, ', stage="ending"'): "1x30"}
QUIET: list[dict[str, str]] = [
    # During the analysis counters stand still.
    ENDING | {of_run(names.IDLE): "5x30", of_run(names.SENT, WORKER): "500x30"},
    # A burst is over, and the mean rate is not what is due.
    {
        of_run(names.TARGET, ', pace="constant"'): "_x30", of_run(names.TARGET, ', pace="mean"'): "100x30",
        of_run(names.SENT, WORKER): "0+450x30",
    },
]  # fmt: skip
"""What fires nothing."""


@pytest.mark.prometheus
def test_each_alert_fires_for_what_it_is_for_and_for_nothing_else(tmp_path: Path) -> None:
    """One bad thing at a time, and none."""
    (tmp_path / "rules.yml").write_text(rules(), encoding="utf-8")
    stories = [story(HEALTHY)]
    stories += [story(HEALTHY | quiet) for quiet in QUIET]
    stories += [story({**HEALTHY, name: values}, **{alert: summary}) for name, (values, alert, summary) in BAD.items()]
    tests = {"rule_files": ["rules.yml"], "evaluation_interval": "5s", "tests": stories}
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(tests), encoding="utf-8")

    assert {alert for _, alert, _ in BAD.values()} == {alert.name for alert in ALERTS}
    assert "SUCCESS" in promtool("test", "rules", str(tmp_path / "tests.yml"))
