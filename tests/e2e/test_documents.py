"""Every call of the program that a document shows, carried out: shortened, and on the suite's broker.

`make test` carries out those that a reader meets first, and looks whether the others could be; `make soak` carries out
all of them.
"""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.conftest import Call, Said

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.runs.experiment import settle

pytestmark = [pytest.mark.e2e, pytest.mark.kafka, pytest.mark.spark]

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTS += sorted((ROOT / "docs" / "how-to").glob("*.md"))
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCENARIO = re.compile(r"^```yaml\n(name: mine\n.*?)^```$", re.MULTILINE | re.DOTALL)
EXPERIMENT = re.compile(r"^```yaml\n(name: codecs\n.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM = re.compile(r"`(\w+\.py)`:\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A file that a document names and shows."""
A_RUN = "runs/20260101-120000-baseline"
"""What documents call the run that the reader has made."""
AN_OLDER_RUN = ROOT / "tests" / "report" / "golden" / "format-1"
A_RESULT = ROOT / "tests" / "data" / "results" / "results-recovery.json"
"""The result of another tool."""
SHORT = ("phases.warmup=500ms", "phases.measure=1500ms", "load.rate=500/s")
READ_FIRST = {"README.md", "docs/tutorial.md", "docs/how-to/ci.md", "docs/how-to/experiments.md"}
"""What `make test` carries out; the calls of other documents differ in settings, and are carried out by `make soak`."""
ELSEWHERE = {"calibrate", "sweep"}
"""Commands of minutes that other tests of `make test` carry out."""
STARTING = {"run", "sweep", "experiment"}
MEASURING = {"run", "analyse", "check", "sweep", "experiment", "search"}
PATIENCE_SECONDS = 300


def adapted(line: str, bootstrap: str) -> tuple[list[str], str | None]:
    """The arguments with which a line can be carried out here, and the file that its output goes to."""
    command, _, file = re.sub(r" --set phases\.\w+=\w+", "", line).partition(" > ")
    words = [word.replace("kafka-1:9092", bootstrap) for word in shlex.split(command)[1:]]
    # One broker has no three replicas.
    words = [word.replace("replication=3", "replication=1").replace("replicas=2", "replicas=1") for word in words]
    # Somebody else may have the port.
    words = ["0" if word == "9404" else word for word in words]
    if words[0] == "run":
        words = without(words, "load.rate=")
        short = SHORT[:2] if "saturate" in words else SHORT
        words += [f"--set={setting}" for setting in short]
        if not {"--bootstrap", "--client-config"} & set(words):
            words += ["--bootstrap", bootstrap]
    if words[0] in {"sweep", "experiment"} and "--dry-run" not in words:
        words += [*(f"--set={setting}" for setting in SHORT), "--bootstrap", bootstrap, "--repeat", "1"]
    if words[0] == "search":
        words = [word.replace("20 ms", "60 s") for word in words]
        words += [*(f"--set={setting}" for setting in SHORT[:1]), "--bootstrap", bootstrap, "--step", "2s"]
        words += ["--start", "500", "--least", "250", "--most", "1k"]
    if words[0] == "calibrate":
        words = ["calibrate", "--quick", *(["--json"] if "--json" in words else [])]
    return words, file.strip() or None


def without(words: list[str], setting: str) -> list[str]:
    """The words without a setting that another one replaces, so that calls that come to the same are seen to."""
    pairs = zip(words, [*words[1:], ""], strict=True)
    kept = [word for word, after in pairs if not (word == "--set" and after.startswith(setting))]
    return [word for word in kept if not word.startswith(setting)]


def shown() -> dict[str, list[str]]:
    """By document the lines that call the program, as they are read; of those that come to the same only the first."""
    found: dict[str, list[str]] = {}
    known: list[list[str]] = []
    for path in DOCUMENTS:
        for block in BLOCK.findall(path.read_text(encoding="utf-8")):
            for line in (each.partition("  #")[0].strip() for each in block.splitlines()):
                if line.startswith("streamgauge ") and (words := adapted(line, "bootstrap")[0]) not in known:
                    known.append(words)
                    found.setdefault(str(path.relative_to(ROOT)), []).append(line)
    return found


SHOWN = shown()


def test_documents_show_calls() -> None:
    """Or nothing would be carried out below."""
    assert {"README.md", "docs/tutorial.md", "docs/how-to/ci.md"} <= set(SHOWN)
    assert sum(map(len, SHOWN.values())) > 30


@pytest.fixture
def reader(broker: EmbeddedBroker, warm_spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a reader: the files that documents speak of, and a run that was made before."""
    monkeypatch.chdir(tmp_path)
    # Other tests keep the machine busy, and each run of an experiment would wait half a minute for it to be quiet.
    monkeypatch.setattr(settle, "QUIET_SHARE", 0.0)
    # Functions of the reader are looked for in this folder, which no other test should look into.
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "client.properties").write_text(f"bootstrap.servers={broker.bootstrap}\nsocket.keepalive.enable=true\n")
    shutil.copytree(AN_OLDER_RUN, tmp_path / A_RUN)
    shutil.copy(A_RESULT, tmp_path / "results-bench.json")
    for folder in ("before", "after", "now"):
        shutil.copytree(AN_OLDER_RUN, tmp_path / "runs" / folder / "1")
    return tmp_path


@pytest.mark.parametrize("document", sorted(set(SHOWN) - READ_FIRST))
def test_every_run_that_is_shown_could_be_started(
    document: str, reader: Path, broker: EmbeddedBroker, call: Call
) -> None:
    """Nothing of it is refused: not a setting, an option, an expectation, nor a client's setting."""
    write_files(document, reader)
    for line in SHOWN[document]:
        words, _ = adapted(line, broker.bootstrap)
        if words[0] in STARTING:
            done = call(*words, *(["--dry-run"] if "--dry-run" not in words else []))
            assert done.code == 0, (line, done.err)
            assert done.out.strip(), line


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("document", "all_of_it"),
    [
        *(pytest.param(document, False, id=document) for document in SHOWN if document in READ_FIRST),
        *(pytest.param(document, True, id=f"all of {document}", marks=pytest.mark.soak) for document in SHOWN),
    ],
)
def test_every_call_that_is_shown_can_be_carried_out(
    document: str, all_of_it: bool, reader: Path, broker: EmbeddedBroker, call: Call
) -> None:
    """In the order of the document, in one folder, as a reader would; each ends as the documents say that it may."""
    for line in SHOWN[document]:
        write_files(document, reader)
        words, file = adapted(line, broker.bootstrap)
        if words[0] in ELSEWHERE and not all_of_it:
            words = [*words, "--dry-run"] if words[0] in STARTING else [words[0], "--help"]
        latest = max(path.name for path in (reader / "runs").glob("*-baseline"))
        done = carried_out([word.replace(A_RUN, f"runs/{latest}") for word in words], call)
        # An expectation may be broken, and so short a run may be no measurement.
        assert done.code in ({0, 3, 4} if words[0] in MEASURING else {0}), (line, done.err)
        assert "Traceback" not in done.err, line
        assert done.out.strip(), line
        if file:
            (reader / file).write_text(done.out)


def write_files(document: str, folder: Path) -> None:
    """The files that a document shows; of a scenario file, what is shown of it in the tutorial."""
    text = (ROOT / document).read_text(encoding="utf-8")
    (scenario,) = SCENARIO.findall((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    files = [*PROGRAM.findall(text), *(("codecs.yaml", experiment) for experiment in EXPERIMENT.findall(text))]
    for name, content in [*files, ("mine.yaml", scenario), ("gate.yaml", scenario)]:
        (folder / name).write_text(content)


def carried_out(words: list[str], call: Call) -> Said:
    """One call; a broker belongs to the process that starts it, which is then one of its own."""
    if words[:2] != ["broker", "start"]:
        return call(*words)
    try:
        return as_a_process(*words)
    finally:
        assert as_a_process("broker", "stop").code == 0


def as_a_process(*words: str) -> Said:
    done = subprocess.run(
        [sys.executable, "-m", "streamgauge", *words],
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip
    return Said(done.returncode, done.stdout, done.stderr)
