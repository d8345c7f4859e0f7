"""The page of the checks of the verdict, from their docstrings."""

import inspect
import re
import sys
from collections import ChainMap
from collections.abc import Iterable

from streamgauge.verdict import RULES, evidence
from streamgauge.verdict.rule import Rule
from tools.reference.markdown import code, document, sentence, table

INTRO = """\
The verdict consists of the checks that apply to a run. A check of the **instrument** asks whether the measurement is
sound: if one fails, the result is not valid. A check of the **system** reports what the measured system did, and never
makes a result invalid. A check is `unknown` if its data are missing; this is neither a pass nor invalid. `result.json`
and the table `verdict` have each check with its evidence and advice."""

LABELS = ("Data", "Warns when", "Fails when", "Remedy")
_CONSTANTS = ChainMap(vars(evidence), *(vars(sys.modules[each.answer.__module__]) for each in RULES))
_LABELLED = re.compile(rf"^({'|'.join(LABELS)}): ", re.MULTILINE)


def page() -> str:
    """Every check: the question, its data, when it warns and fails, and the remedy."""
    overview = table(
        ("check", "title", "about", "question"),
        ((f"[{code(each.name)}](#{each.name})", each.title, about(each), question(each)) for each in RULES),
    )
    return document("Checks of the verdict", INTRO, overview, *(text for each in RULES for text in _section(each)))


def about(rule: Rule) -> str:
    """What a rule may be about: the instrument, the system, or either."""
    return " or ".join(rule.about)


def question(rule: Rule) -> str:
    """What a rule asks."""
    return sentence(_filled(rule).partition("\n\n")[0])


def labelled(rule: Rule) -> dict[str, str]:
    """The labelled parts of a rule's docstring."""
    parts = _LABELLED.split(_filled(rule))
    return {label: sentence(text) for label, text in zip(parts[1::2], parts[2::2], strict=True)}


def _section(rule: Rule) -> Iterable[str]:
    background = _LABELLED.split(_filled(rule))[0].split("\n\n")[1:]
    yield f"## {rule.name}"
    yield sentence(f"**{rule.title}.** {question(rule)} About the {about(rule)}.")
    yield from (sentence(text) for text in background if text.strip())
    yield "\n".join(f"- {label}: {text}" for label, text in labelled(rule).items())


def _filled(rule: Rule) -> str:
    """A rule's docstring, with the values of the constants that it names."""
    text = inspect.cleandoc(rule.doc).format_map(_CONSTANTS)
    return re.sub(r"(?<=\d)%", " %", text)
