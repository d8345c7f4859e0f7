"""What a search leaves beside its runs: result.json, summary.md and report.html."""

import json
from dataclasses import asdict
from typing import Any

from streamgauge.experiments.paths import SearchFolder
from streamgauge.experiments.search.record import SearchRecord
from streamgauge.report.search.markdown import search_markdown
from streamgauge.runs.experiment.folder import write_whole


def search_document(record: SearchRecord) -> dict[str, Any]:
    """A search as JSON: its record, and its answer."""
    found = record.answer
    return {
        "search": record.model_dump(mode="json", exclude={"scenario"}),
        "answer": {
            "held": found.held,
            "broke": found.broke,
            "broke_for_certain": record.broke_for_certain,
            "between": list(record.between),
            "held_again": record.held_again,
            "bound": record.bound,
            "objectives": {text: asdict(each) for text, each in record.conforming.items()},
        },
    }


def write_search_results(folder: SearchFolder, record: SearchRecord) -> None:
    """Write result.json and, where any run has ended, summary.md and report.html; raises RecordError."""
    write_whole(folder.result, json.dumps(search_document(record), indent=2) + "\n")
    if record.done:
        write_whole(folder.summary, search_markdown(record))
        # Figures need a library of their own, which takes long to load.
        from streamgauge.report.search.html import search_html

        write_whole(folder.report, search_html(record))
