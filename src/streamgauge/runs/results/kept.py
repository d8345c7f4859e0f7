"""Baselines: results of runs kept in one file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import ValidationError

from streamgauge.domain.errors import BadInput
from streamgauge.experiments.record import RecordPart
from streamgauge.report.compare.variants import Alike
from streamgauge.result import Result
from streamgauge.result.reading import NotAResultError, result_of

_AGAIN: Final = "Save the baseline again"


class KeptVariant(RecordPart):
    """A variant of an experiment; its runs stand in a row."""

    name: str
    rounds: list[int]
    """Of each of its runs."""
    without_result: int = 0


class KeptBaseline(RecordPart):
    """The content of a baseline."""

    baseline: Literal[1] = 1
    """The format."""
    runs: list[dict[str, Any]]
    """Their results."""
    variants: tuple[KeptVariant, ...] = ()
    """None where the runs are of no experiment."""

    def results(self, path: Path) -> list[Result]:
        """The results of its runs; raises BadInput, naming the file, where one cannot be read."""
        try:
            return [result_of(each) for each in self.runs]
        except NotAResultError as error:
            raise BadInput.single(str(path), f"has a run that is no result: {error}", _AGAIN) from error

    def alike(self, path: Path) -> list[Alike]:
        """The variants of its experiment with their runs; raises BadInput, naming the file, where these do not fit."""
        left = self.results(path)
        if sum(len(each.rounds) for each in self.variants) != len(left):
            raise BadInput.single(str(path), "has runs of no round, or rounds without a run", _AGAIN)
        found: list[Alike] = []
        for each in self.variants:
            runs, left = left[: len(each.rounds)], left[len(each.rounds) :]
            found.append(Alike(each.name, tuple(runs), tuple(each.rounds), each.without_result))
        return found


def save_baseline(paths: Sequence[Path], out: Path) -> int:
    """Write the results of these runs into one file; returns how many there are. Raises BadInput."""
    from streamgauge.runs.results.given import given_runs, variants_of_experiment

    found = variants_of_experiment(paths) or [Alike("", tuple(each.result for each in given_runs(paths)))]
    kept = KeptBaseline(
        runs=[run.document() for each in found for run in each.runs],
        variants=tuple(
            KeptVariant(name=each.name, rounds=list(each.rounds), without_result=each.without_result)
            for each in found
            if each.rounds is not None
        ),
    )
    text = json.dumps(kept.model_dump(mode="json"), separators=(",", ":"))
    try:
        out.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise BadInput.single(f"--out {out}", f"cannot be written: {error.strerror}", "Name another file") from error
    return len(kept.runs)


def kept_baseline(path: Path) -> KeptBaseline | None:
    """What a file that `baseline save` wrote has; None for any other file. Raises BadInput for what it cannot read."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        # Whoever reads it as a result says what is wrong.
        return None
    if not isinstance(document, dict) or "baseline" not in document:
        return None
    try:
        return KeptBaseline.model_validate(document)
    except ValidationError as error:
        raise BadInput.single(str(path), "is not a baseline that this version reads", _AGAIN) from error
