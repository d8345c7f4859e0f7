"""The page of the exit codes."""

from streamgauge.verdict.exits import Exit
from tools.reference.markdown import code, document, sentence, table

INTRO = """\
`streamgauge run` and `streamgauge analyse` exit with one of these codes. If several apply, it is the first of:
interrupted, failed, not valid, expectation failed. Other commands exit with 0, 1 or 2, see their help."""


def page() -> str:
    """Every exit code and what it means."""
    rows = ((code(each.value), sentence(each.about)) for each in Exit)
    return document("Exit codes", INTRO, table(("code", "meaning"), rows))
