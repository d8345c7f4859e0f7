"""Every call of the program that a document shows, carried out: shortened, and on the suite's broker."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from streamgauge.kafka.embedded import EmbeddedBroker

pytestmark = [pytest.mark.e2e, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTS += sorted((ROOT / "docs" / "how-to").glob("*.md"))
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCENARIO = re.compile(r"^```yaml\n(name: mine\n.*?)^```$", re.MULTILINE | re.DOTALL)
A_RUN = re.compile(r"runs/\d{8}-\d{6}-baseline")
SHORT = ("phases.warmup=500ms", "phases.measure=1500ms", "load.rate=500/s")
PATIENCE_SECONDS = 300


def shown() -> list[str]:
    """The lines that call the program, each once, in the order in which they are read."""
    lines = [
        line.partition("  #")[0].strip()
        for path in DOCUMENTS
        for block in BLOCK.findall(path.read_text(encoding="utf-8"))
        for line in block.splitlines()
    ]
    return list(dict.fromkeys(line for line in lines if line.startswith("streamgauge ")))


def adapted(line: str, bootstrap: str) -> tuple[list[str], str | None]:
    """The arguments with which a line can be carried out here, and the file that its output goes to."""
    command, _, file = re.sub(r" --set phases\.\w+=\w+", "", line).partition(" > ")
    words = [word.replace("kafka-1:9092", bootstrap) for word in shlex.split(command)[1:]]
    # One broker has no three replicas.
    words = [word.replace("replication=3", "replication=1") for word in words]
    if words[0] == "run":
        short = SHORT[:2] if "saturate" in words else SHORT
        words += [f"--set={setting}" for setting in short]
        if not {"--bootstrap", "--client-config"} & set(words):
            words += ["--bootstrap", bootstrap]
    return words, file.strip() or None


@pytest.mark.timeout(1200)
def test_every_call_that_is_shown_can_be_carried_out(broker: EmbeddedBroker, tmp_path: Path) -> None:
    """In the order of the documents, in one folder, as a reader would; each ends as the documents say that it may."""
    (scenario,) = SCENARIO.findall((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    (tmp_path / "client.properties").write_text(f"bootstrap.servers={broker.bootstrap}\nsocket.keepalive.enable=true\n")
    lines = shown()
    assert len(lines) > 12
    # A run that others look at comes first; what is shown of a scenario file is in it.
    lines.sort(key=lambda line: not line.startswith("streamgauge run baseline"))
    carried_out: list[list[str]] = []
    for line in lines:
        for name in ("mine.yaml", "gate.yaml"):
            (tmp_path / name).write_text(scenario)
        words, file = adapted(line, broker.bootstrap)
        if words in carried_out:
            # It differs from another one in how long it takes.
            continue
        carried_out.append(words)
        folders = sorted((tmp_path / "runs").glob("*-baseline"))
        if folders:
            words = [A_RUN.sub(f"runs/{folders[-1].name}", word) for word in words]
        done = call(words, tmp_path)
        try:
            # An expectation may be broken, and so short a run may be no measurement.
            assert done.returncode in ({0, 3, 4} if words[0] in {"run", "analyse"} else {0}), (line, done.stderr)
            assert "Traceback" not in done.stderr, line
            assert done.stdout.strip(), line
        finally:
            if words[:2] == ["broker", "start"]:
                assert call(["broker", "stop"], tmp_path).returncode == 0
        if file:
            (tmp_path / file).write_text(done.stdout)


def call(words: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    program = [sys.executable, "-m", "streamgauge.cli.main"]
    return subprocess.run(
        [*program, *words], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
