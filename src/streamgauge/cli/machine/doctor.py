"""The command `doctor`: what this machine is as a place to measure on."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from streamgauge.record.probe import probe
from streamgauge.report.pages.fitness import diagnosis
from streamgauge.runs.machine.examine import examined
from streamgauge.verdict.exits import Exit
from streamgauge.verdict.fitness import Machine, findings, is_ready


def doctor(
    runs: Path,
    *,
    as_json: bool,
    out: Callable[[str], None],
    look: Callable[[Path], Machine] = probe,
    prepare: bool = False,
) -> Exit:
    """Look at the machine and say what was found; FAILED where something is missing that a run cannot do without.

    With `prepare`, make archives of Java classes before; FAILED where they cannot be made, too.
    """
    prepared = _prepared() if prepare else True
    found = findings(examined(runs, look))
    ready = is_ready(found)
    if as_json:
        out(json.dumps({"ready": ready, "findings": [asdict(each) for each in found]}, indent=2))
    else:
        out(diagnosis(found))
    return Exit.DONE if ready and prepared else Exit.FAILED


def _prepared() -> bool:
    """Make the archives unless they are there; whether they are."""
    from streamgauge.runs.machine import archives
    from streamgauge.runs.request.options import checked_java

    java = checked_java()
    return archives.are_made(java) or archives.make(java, tell)


def tell(line: str) -> None:
    """Say on standard error what goes on."""
    sys.stderr.write(f"{line}\n")
