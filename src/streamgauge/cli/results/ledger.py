"""The commands `audit` and `trace`: what became of all messages of a run, and of one of them."""

import json
from collections.abc import Callable
from pathlib import Path

from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.record.facts import read_facts
from streamgauge.report.files import rows_of, table_file
from streamgauge.report.ledger.audited import ledger_of
from streamgauge.report.ledger.life import life_of
from streamgauge.report.ledger.printed import ledger_text, life_text
from streamgauge.report.ledger.rows import rows_of_message, wanted_of
from streamgauge.report.publish import read_result


def audit(path: Path, first: int, *, as_json: bool, out: Callable[[str], None]) -> None:
    """Print the ledger of a run; raises BadInput where it was not analysed, AnalysisError where tables are damaged."""
    folder = RunFolder(path)
    read_facts(folder)
    if not folder.result.exists():
        raise BadInput.single(f"RUN {path}", "was not analysed", f"Analyse it first: {folder.analyse_again}")
    ledger = ledger_of(folder, read_result(folder.result), first)
    out(json.dumps(ledger.document(), indent=2) if as_json else ledger_text(ledger))


def trace(path: Path, message: str, *, as_json: bool, out: Callable[[str], None]) -> None:
    """Print the life of one message; raises BadInput where the run has no such message."""
    folder = RunFolder(path)
    facts = read_facts(folder)
    found = rows_of_message(folder, wanted_of(message, facts))
    if not found:
        what = f"{message}: no row of the run is of this message"
        raise BadInput.single("MESSAGE", what, f"See the first ones of each class: streamgauge audit {path}")
    problems = rows_of(folder, "problems") if table_file(folder, "problems").exists() else []
    lives = [life_of(rows, facts, problems) for rows in found]
    out(json.dumps([life.document() for life in lives], indent=2) if as_json else life_text(lives))
