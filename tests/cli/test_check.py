"""The command `check`: its exit codes, what it writes, and what it refuses before it looks at anything."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import Row, Tables, changed
from typer.testing import CliRunner

from streamgauge.cli.main import app
from streamgauge.cli.results.check import check
from streamgauge.domain.errors import BadInput
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord, RecordedRun, RecordedVariant
from streamgauge.report.assemble.result import write_result
from streamgauge.runs.experiment.folder import write_record

P99 = "latency.end_to_end.response.p99_ms"
Made = Callable[..., Path]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    def nothing(_facts: Row, _tables: Tables) -> None:
        """A healthy run."""

    folder = changed(tmp_path_factory.mktemp("template") / "run", nothing)
    return dict(write_result(folder).document())


@pytest.fixture
def made(tmp_path: Path, template: dict[str, Any]) -> Made:
    """A maker of folders with so many runs, whose p99 is about so many times 10 ms: `made("now", 5, 1.2)`."""

    def make(name: str, count: int, by: float = 1.0) -> Path:
        for number in range(count):
            value = 10 * by * (1 + 0.01 * number)
            trust = template["trust"] | {P99: template["trust"][P99] | {"value": value, "low": value, "high": value}}
            run = tmp_path / name / str(number)
            run.mkdir(parents=True)
            (run / "result.json").write_text(json.dumps(template | {"trust": trust}), encoding="utf-8")
        return tmp_path / name

    return make


def ran(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["check", *map(str, arguments)], catch_exceptions=False)
    return result.exit_code, result.stdout


@pytest.mark.parametrize(
    ("count", "by", "code", "outcome"),
    [(5, 1.0, 0, "passed"), (5, 1.5, 3, "WORSE"), (1, 1.5, 4, "not known")],
)
def test_the_exit_code_says_what_was_shown(made: Made, count: int, by: float, code: int, outcome: str) -> None:
    found, text = ran(made("now", count, by), "--baseline", made("before", 5), "--max-worse", "p99=10%")
    assert (found, text.startswith(outcome)) == (code, True)


def test_a_kept_result_is_a_baseline(made: Made) -> None:
    """One run beside one run is not enough, and says what would be."""
    before = made("before", 1) / "0" / "result.json"
    found, text = ran(made("now", 1), "--baseline", before, "--max-worse", "p99=10%", "--json")
    [limit] = json.loads(text)["limits"]
    assert (found, limit["outcome"], limit["runs_wanted"]) == (4, "unknown", 5)


def test_several_baselines_are_one(made: Made) -> None:
    before = made("before", 3), made("earlier", 2)
    code, _ = ran(made("now", 5), "--baseline", before[0], "--baseline", before[1], "--max-worse", "p99=10%")
    assert code == 0


def test_junit_is_written(made: Made, tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    arguments: list[str | Path] = [made("now", 5), "--baseline", made("before", 5), "--max-worse", "p99=10%", "--junit"]
    assert ran(*arguments, file)[0] == 0
    assert file.read_text(encoding="utf-8").startswith("<?xml version='1.0' encoding='utf-8'?>\n<testsuite ")
    with pytest.raises(BadInput, match=r"--junit: .* cannot be written"):
        ran(*arguments, tmp_path / "missing" / "report.xml")


def test_in_github_actions_it_annotates_and_adds_to_the_summary(made: Made, tmp_path: Path) -> None:
    summary, said = tmp_path / "summary.md", list[str]()
    summary.write_text("before\n", encoding="utf-8")
    environment = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    runs, before = [made("now", 5, 1.5)], [made("before", 5)]
    code = check(runs, before, ["p99=10%"], as_json=False, junit_file=None, out=said.append, environment=environment)
    assert code == 3
    assert said[-1].startswith("::error title=streamgauge check::")
    assert summary.read_text(encoding="utf-8").startswith("before\n| limit | outcome |  |\n")


def test_all_that_is_wrong_with_limits_is_said_at_once(made: Made) -> None:
    arguments: list[str | Path] = [made("now", 1), "--baseline", made("before", 1)]
    with pytest.raises(BadInput) as caught:
        ran(*arguments, "--max-worse", "p99", "--max-worse", "p50=x")
    assert [fault.where for fault in caught.value.faults] == ["--max-worse"] * 2
    with pytest.raises(BadInput) as caught:
        ran(*arguments, "--max-worse", "p98=1%", "--max-worse", "p99=1%", "--max-worse", "lag=1%")
    assert [str(fault).split(". ")[0] for fault in caught.value.faults] == [
        "--max-worse: p98: no run has this figure", "--max-worse: lag: no run has this figure",
    ]  # fmt: skip


def test_a_baseline_is_saved_in_one_file_and_stands_for_its_runs(made: Made, tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    saved = CliRunner().invoke(
        app, ["baseline", "save", str(made("before", 5)), "--out", str(file)], catch_exceptions=False
    )
    assert (saved.exit_code, saved.stdout) == (0, f"5 runs written to {file}\n")
    limit = ("--max-worse", "p99=10%", "--json")
    now = made("now", 5, 1.5)
    assert ran(now, "--baseline", file, *limit) == ran(now, "--baseline", tmp_path / "before", *limit)


@pytest.fixture
def experiments(tmp_path: Path, template: dict[str, Any]) -> Callable[[], tuple[Path, Path]]:
    """Two experiments that took turns, of two sizes and five rounds; of the second, one size is half slower."""

    def make() -> tuple[Path, Path]:
        for begins, (name, slower) in enumerate((("before", 1.0), ("now", 1.5))):
            folder = ExperimentFolder(tmp_path / name)
            runs = []
            for number in range(10):
                round_, variant = divmod(number, 2)
                value = 10 * 1.4**round_ * (slower if variant else 1.0) * (1 + 0.01 * ((number + begins * round_) % 3))
                trust = template["trust"] | {
                    P99: template["trust"][P99] | {"value": value, "low": value, "high": value}
                }
                about = template["run"] | {"created": f"2026-01-01T00:{round_:02}:{20 * begins + variant:02}Z"}
                run = folder.runs / str(number)
                run.mkdir(parents=True)
                (run / "result.json").write_text(
                    json.dumps(template | {"trust": trust, "run": about}), encoding="utf-8"
                )
                runs.append(
                    RecordedRun(round=round_ + 1, variant=variant, begun="", outcome="measured", folder=str(number))
                )
            variants = [RecordedVariant(name=each, settings={}) for each in ("size=64", "size=1KiB")]
            record = ExperimentRecord(
                id="x", name="x", created="", command=[], asked={}, variants=variants, order="interleaved", seed=1,
                repeat=5, runs=runs,
            )  # fmt: skip
            write_record(folder, record)
        return tmp_path / "before", tmp_path / "now"

    return make


def test_experiments_are_compared_variant_by_variant_in_pairs_of_rounds(
    experiments: Callable[[], tuple[Path, Path]], tmp_path: Path
) -> None:
    """The machine got four times slower meanwhile, which only pairs do not see. A kept baseline says the same."""
    before, now = experiments()
    code, text = ran(now, "--baseline", before, "--max-worse", "p99=10%", "--json")
    limits = json.loads(text)["limits"]
    assert [(each["variant"], each["outcome"], each["paired_rounds"]) for each in limits] == [
        ("size=64", "within", 5), ("size=1KiB", "worse", 5),
    ]  # fmt: skip
    assert code == 3
    file = tmp_path / "baseline.json"
    CliRunner().invoke(app, ["baseline", "save", str(before), "--out", str(file)], catch_exceptions=False)
    assert ran(now, "--baseline", file, "--max-worse", "p99=10%", "--json") == (code, text)
    kept = json.loads(file.read_text())
    kept["variants"][0]["rounds"].append(6)
    file.write_text(json.dumps(kept))
    with pytest.raises(BadInput, match="has runs of no round, or rounds without a run"):
        ran(now, "--baseline", file, "--max-worse", "p99=10%")


def test_runs_that_are_not_alike_are_no_side(made: Made, tmp_path: Path) -> None:
    before = made("before", 2)
    run = before / "1" / "result.json"
    document = json.loads(run.read_text())
    document["run"]["scenario"]["load"]["size"] = 64
    run.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        ran(made("now", 1), "--baseline", before, "--max-worse", "p99=10%")
    assert str(caught.value) == (
        "--baseline: these runs are not alike, and would be mixed: size=512 and size=64. Name runs of the same "
        "settings, or an experiment, each variant of which is compared with its own"
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"baseline": 9, "runs": []}', "is not a baseline that this version reads"),
        ('{"baseline": 1, "runs": {}}', "is not a baseline that this version reads"),
        ('{"baseline": 1, "runs": [{"a": 1}]}', "has a run that is no result"),
        ('{"a": 1}', "is not a result of streamgauge"),
        ("nothing", "cannot be read"),
    ],
)
def test_a_file_that_is_no_baseline_is_told(made: Made, tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(content)
    with pytest.raises(BadInput, match=says):
        ran(made("now", 5), "--baseline", file, "--max-worse", "p99=10%")


def test_a_baseline_that_cannot_be_written_is_told(made: Made, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be written"):
        CliRunner().invoke(
            app, ["baseline", "save", str(made("before", 1)), "--out", str(tmp_path)], catch_exceptions=False
        )
