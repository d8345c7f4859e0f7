"""The page of the exit codes."""

from streamgauge.verdict.exits import Exit
from tools.reference.markdown import code, document, sentence, table

INTRO = """\
`streamgauge run` and `streamgauge analyse` end with one of these. Where several apply it is the first of: interrupted,
failed, not valid, an expectation broken. The other commands end with 0, 1 or 2, as their help says."""


def page() -> str:
    """Every exit code and what it means."""
    rows = ((code(each.value), sentence(each.about)) for each in Exit)
    return document("Exit codes", INTRO, table(("code", "meaning"), rows))
