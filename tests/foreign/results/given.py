"""The sample results in tests/data/results, one or more of each format, written by hand in the form of the tools."""

from pathlib import Path
from typing import Final

from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import Measured, MeasuredLatency
from streamgauge.foreign.results.reading import read_results

SAMPLES: Final = Path(__file__).parents[2] / "data" / "results"
NOTHING_ASKED: Final = Asked()


def sample(name: str) -> ForeignFile:
    """A sample by its name."""
    path = SAMPLES / name
    return ForeignFile(path.name, str(path.parent), path.read_bytes())


def runs_of(*names: str, asked: Asked = NOTHING_ASKED, form: str | None = None) -> list[Measured]:
    """The runs of these samples, imported together."""
    return [run for each in read_results([sample(name) for name in names], asked, form) for run in each.runs]


def all_samples() -> list[str]:
    """The names of all samples, from their folder."""
    return sorted(str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*") if path.is_file())


def latency(run: Measured, path: str) -> MeasuredLatency:
    """A latency of a run by its place in the result."""
    return next(each for each in run.latencies if each.path == path)
