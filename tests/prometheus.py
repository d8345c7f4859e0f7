"""A real Prometheus on loopback that scrapes what a test serves, and promtool."""

import json
import math
import re
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from tests.waiting import until

from streamgauge.domain import clock

CHOSEN = {
    "$__rate_interval": "5s",
    "$__range": "2m",
    "$span": "5s",
    "$datasource": "prometheus",
    "$test": ".*",
    "$run": ".*",
    "$host": ".*",
}
"""What Grafana would put in the place of the variables."""


def promtool(*arguments: str, text: str | None = None) -> str:
    """What promtool says; fails where it is not content."""
    done = subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def free_port() -> int:
    """A port of loopback that nobody has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A server that runs."""

    port: int

    def get(self, path: str, **parameters: object) -> Any:
        """The data of an answer of its API."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            return json.load(answer)["data"]

    def values(self, expression: str, *, seconds: int = 120) -> list[float]:
        """The numbers that a query finds in the last seconds, without those that are none."""
        now = clock.clock_pair().wall_ns // clock.NS_PER_SECOND
        expression = chosen(expression)
        found = self.get("query_range", query=expression, start=now - seconds, end=now + 1, step=1)["result"]
        numbers = [float(value) for series in found for _, value in series["values"]]
        return [number for number in numbers if math.isfinite(number)]

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=60):
                return True
        except (urllib.error.URLError, ConnectionError):
            return False


def chosen(expression: str) -> str:
    """The query without variables."""
    for variable, value in CHOSEN.items():
        expression = expression.replace(variable, value)
    assert "$" not in expression, expression
    return expression


@contextmanager
def scraping(folder: Path, ports: Sequence[int], rules: str) -> Iterator[Prometheus]:
    """A server that scrapes these ports and evaluates the rules every second, and has defaults as a user's has them."""
    groups = [{**group, "interval": "1s"} for group in yaml.safe_load(rules)["groups"]]
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": groups}), encoding="utf-8")
    configuration = {
        "rule_files": ["rules.yml"],
        "scrape_configs": [
            {
                "job_name": "streamgauge",
                "scrape_interval": "1s",
                "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in ports]}],
            }
        ],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
    promtool("check", "config", str(folder / "prometheus.yml"))
    server = Prometheus(free_port())
    command = [
        "prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{server.port}", "--log.level=warn",
    ]  # fmt: skip
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            until(server._is_ready)
            yield server
        finally:
            process.terminate()
            process.wait(30)


def metrics_in(expression: str) -> set[str]:
    """The names of our metrics, recorded ones included, that a query asks for; `_bucket` and the like left out."""
    found = re.findall(r"[a-z:]*streamgauge_[a-z0-9_:]+", expression)
    return {re.sub(r"(_latency_seconds)_(bucket|sum|count)$", r"\1", name) for name in found}
