"""The calibrations of this user, kept in one file between commands."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from streamgauge.domain.clock import utc_text
from streamgauge.domain.errors import RecordError
from streamgauge.processes.disk import whole
from streamgauge.processes.places import state_folder
from streamgauge.verdict.calibration import Calibration


def calibrations_file() -> Path:
    """Where they are kept."""
    return state_folder() / "calibrations.json"


def read_calibrations(file: Path | None = None) -> list[Calibration]:
    """What is kept; nothing where there is no file, or none that can be understood."""
    try:
        kept = json.loads((file or calibrations_file()).read_bytes())["calibrations"]
        return [_calibration(each) for each in kept]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def keep_calibrations(new: Sequence[Calibration], file: Path | None = None) -> Path:
    """Keep these, instead of earlier ones of the same machine, version and rate; returns where.

    The file is written whole or not at all. Raises RecordError where it cannot be written.
    """
    file = file or calibrations_file()
    replaced = [(each.machine, each.version, each.rate) for each in new]
    stay = [each for each in read_calibrations(file) if (each.machine, each.version, each.rate) not in replaced]
    # The date is there for people.
    kept = [{"at": utc_text(each.wall_ns), **asdict(each)} for each in (*stay, *new)]
    try:
        with whole(file) as draft:
            draft.write_text(json.dumps({"format": 1, "calibrations": kept}, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise RecordError(f"{file}: cannot be written: {error.strerror}") from error
    return file


def _calibration(kept: Mapping[str, Any]) -> Calibration:
    """One entry of the file; raises KeyError, TypeError, AttributeError or ValueError where it is none."""
    errors_ms = {str(name): float(error) for name, error in kept["errors_ms"].items()}
    rate, wall_ns = float(kept["rate"]), int(kept["wall_ns"])
    if rate <= 0:
        raise ValueError("a rate that is none")
    miscounted = tuple(str(name) for name in kept["miscounted"])
    return Calibration(dict(kept["machine"]), str(kept["version"]), rate, wall_ns, errors_ms, miscounted)
