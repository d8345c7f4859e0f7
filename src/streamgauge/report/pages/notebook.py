"""Verdict and key figures of a result as a piece of HTML, for notebooks."""

from pathlib import Path
from typing import Final

from markupsafe import Markup

from streamgauge.report.pages import belief, words
from streamgauge.report.pages.html import Card, cards
from streamgauge.result import Result

_COLOURS: Final = {"good": "#1a7f37", "bad": "#cf222e", "doubt": "#9a6700", "": "inherit"}
_TONES: Final = {True: "good", False: "bad", None: "doubt"}
_HEAD: Final = Markup('<p><b style="color:{}">{}</b> <b>{}</b>, {}{}<br>{}; {}<br><code>{}</code></p>')
_CARD: Final = Markup(
    '<div style="border:1px solid #8884;border-radius:6px;padding:.5em .8em"><small>{}</small><br>'
    '<b style="font-size:1.3em;color:{}">{}</b><br><small>{}</small></div>'
)
_DOUBTED: Final = Markup('<s title="not believed: {}">{}</s>')
_ROW: Final = Markup('<div style="display:flex;flex-wrap:wrap;gap:.6em">{}</div>')
_CHECK: Final = Markup("<li><b>{}</b> {}: {}</li>")


def notebook(result: Result, folder: Path) -> str:
    """A piece of HTML without scripts. Everything that came from outside is escaped."""
    run, verdict = result.run, result.verdict
    counts = words.checks_counted(verdict.checks)
    head = _HEAD.format(
        _COLOURS[_TONES[belief.is_good(verdict)]], belief.judgement(result), run.name, words.ending(run),
        f"; checks: {counts}" if counts else "", words.what_was_run(run),
        words.on_what(run, result.throughput.measured_seconds), folder,
    )  # fmt: skip
    troubled = Markup().join(
        _CHECK.format(check.status, words.title(check), check.evidence)
        for check in words.troubled_checks(verdict.checks)
    )
    return head + _ROW.format(Markup().join(map(_card, cards(result)))) + (Markup("<ul>{}</ul>").format(troubled))


def _card(card: Card) -> Markup:
    value = card.value
    shown = _DOUBTED.format(value.because, value) if isinstance(value, belief.Doubted) else value
    return _CARD.format(card.name, _COLOURS[card.tone], shown, card.small)
