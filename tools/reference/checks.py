"""The page of the checks of the verdict, from their docstrings."""

import inspect
import re
import sys
from collections import ChainMap
from collections.abc import Iterable

from streamgauge.domain.text.numbers import listed
from streamgauge.verdict import RULES, evidence
from streamgauge.verdict.rule import Rule
from streamgauge.verdict.trust import limits
from streamgauge.verdict.trust.causes import TAKES, UNKNOWN_TAKES, Taken
from tools.reference.markdown import code, document, sentence, table

INTRO = """\
The verdict consists of the checks that apply to a run. A check of the **instrument** asks whether the measurement is
sound: if one fails, the figures that it [names](#trust) are not believed. A check of the **system** reports what the
measured system did, and never makes a result invalid. A check is `unknown` if its data are missing; this is neither a
pass nor invalid. `result.json` and the table `verdict` have each check with its evidence and advice."""

LABELS = ("Data", "Warns when", "Fails when", "Remedy")
_CONSTANTS = ChainMap(vars(evidence), *(vars(sys.modules[each.answer.__module__]) for each in RULES))
_LABELLED = re.compile(rf"^({'|'.join(LABELS)}): ", re.MULTILINE)


def page() -> str:
    """Every check: the question, its data, when it warns and fails, and the remedy."""
    overview = table(
        ("check", "title", "about", "question"),
        ((f"[{code(each.name)}](#{each.name})", each.title, about(each), question(each)) for each in RULES),
    )
    sections = (text for each in RULES for text in _section(each))
    return document("Checks of the verdict", INTRO, overview, *sections, *_trust())


def _trust() -> Iterable[str]:
    """The limits of trust, and what each failing check takes."""
    yield "## Trust"
    yield "Limits of the intervals of figures, see [which figures to believe](../explanation/trust.md)."
    latency = f"up to {limits.BELIEVED_SHARE:.0%} of the value, or {limits.BELIEVED_MS:g} ms"
    doubted = f"high end above {limits.DOUBTED_FACTOR:g} times the low end, and width above {limits.DOUBTED_MS:g} ms"
    lag = f"up to {limits.FEW_MESSAGES:g} messages, or {limits.RATE_SHARE:.0%}"
    rows = [
        ("latency", latency, doubted),
        ("rate", f"up to {limits.RATE_SHARE:.0%}", f"above {limits.RATE_DOUBTED_SHARE:.0%}"),
        ("count", "exact", "no bound is known"),
        ("lag", lag, f"above {limits.SOME_MESSAGES:g} messages and {limits.RATE_DOUBTED_SHARE:.0%}"),
    ]
    yield table(("figure", "believed", "not believed"), [[cell.replace("%", " %") for cell in row] for row in rows])
    told = f"{limits.TOLD_SHARE:.1%} of the time on, of workers from {limits.TOLD_WORKERS_SHARE:.0%} on"
    waits = f"Limits for single seconds of the measure phase. A wait for a core is told from {told}."
    yield waits.replace("%", " %")
    yield table(("what", "in a second in which"), [[cell.replace("%", " %") for cell in row] for row in _seconds()])
    unknown = f"also if it is unknown: {listed([code(name) for name in sorted(UNKNOWN_TAKES)])}"
    failed = "What a check takes if it fails because of the instrument. A check that is not listed takes all figures"
    yield f"{failed}; {unknown}."
    yield table(("check", "figures"), [(code(name), _taken(takes)) for name, takes in TAKES.items()])


def _seconds() -> Iterable[tuple[str, str]]:
    waited = (
        f"its threads waited for a core for at least {limits.STARVED_SHARE:.0%} of it, and longer than the process ran"
    )
    yield "a broker, a pipeline, or the Kafka client of a worker had too little CPU", waited
    frozen = f"no worker polled for {limits.FROZEN_MS:g} ms, and a sample was late by as much"
    yield "all processes stood still", frozen
    yield "a CPU quota stopped the broker", f"its threads were stopped for at least {limits.THROTTLED_SHARE:.0%}"


def _taken(takes: Taken) -> str:
    ends = f", if they end in {', '.join(map(code, takes.ends))}" if takes.ends != ("",) else ""
    unless = "; only where their widths are not known" if takes.bounded else ""
    return f"{', '.join(code(f'{each}*') for each in takes.begins)}{ends}{unless}"


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
