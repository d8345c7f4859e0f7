"""A search as Markdown, for a pull request."""

from streamgauge.domain.text.numbers import plural
from streamgauge.experiments.search.record import SearchRecord
from streamgauge.experiments.search.words import answer_lines
from streamgauge.report.pages.markdown import escaped, table
from streamgauge.report.search.runs import TEXTS, run_table


def search_markdown(record: SearchRecord) -> str:
    """The answer first, then every run; whatever is not a word of ours is escaped."""
    heads, rows = run_table(record)
    marked = [f"{escaped(each)}:" if place >= TEXTS else each for place, each in enumerate(heads)]
    return "\n\n".join(
        [
            f"## Search: {escaped(record.name)}",
            "\n".join(f"- **{escaped(line)}**" for line in answer_lines(record)),
            counted(record),
            table(marked, ([escaped(cell) for cell in row] for row in rows)) + "\n",
        ]
    )


def counted(record: SearchRecord) -> str:
    """How many runs there were, and how long each measured at least."""
    count = len(record.steps)
    return f"{count} {plural(count, 'run')} of {record.step_seconds:g} s or longer."
