"""The result as Markdown, for a pull request: the verdict first, then what was measured, then what was run on what."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.numbers import UNKNOWN, moment, size
from streamgauge.report.files import whole
from streamgauge.report.pages import belief, details, pipeline, pressure, words
from streamgauge.report.pages.pressure import redeliveries, scorecards
from streamgauge.result import Result
from streamgauge.result.model.resources import ResourcesSection
from streamgauge.result.model.verdict import CheckResult, ExpectationResult

# A backslash takes away what a sign means in CommonMark, in tables, or on GitHub; the space of no width after an @
# keeps it from calling a person.
_ESCAPES: Final = str.maketrans({sign: f"\\{sign}" for sign in r"\`*_[]<&|~$"} | {"@": "@&#8203;"})
_INTERVAL: Final = "`>`: messages that never arrived count with their age at the end, so the figure may be higher."

Rows = Iterable[Sequence[str]]


def write_markdown(folder: RunFolder, result: Result, names: Sequence[str] = words.FIGURES) -> Path:
    """Write summary.md, whole or not at all; raises AnalysisError where it cannot be written.

    `names` are the figures of latencies.
    """
    with whole(folder.summary) as unfinished:
        unfinished.write_text(to_markdown(result, names), encoding="utf-8")
    return folder.summary


def to_markdown(result: Result, names: Sequence[str] = words.FIGURES) -> str:
    """The result as text with these figures of latencies; whatever is not a word of ours is escaped."""
    sections = [
        *_verdict(result),
        *_throughput(result),
        *_latency(result, names),
        *_steps(result),
        *_delivery(result),
        *_also(result),
        *_pipeline(result),
        *_pressure(result),
        *_resources(result.resources),
        *_expected(result.expectations),
        *_what_was_run(result),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def escaped(text: object) -> str:
    """A text that means only itself wherever it stands within a line; all white space becomes single spaces."""
    return " ".join(str(text).split()).translate(_ESCAPES)


def _verdict(result: Result) -> Iterator[str]:
    verdict, run = result.verdict, result.run
    yield f"## {belief.judgement(result)}: {escaped(run.name)}, {escaped(words.ending(run))}"
    yield "\n".join(f"- {label}: {escaped(text)}" for label, text in belief.parts(result).items())
    yield f"Checks: {words.checks_counted(verdict.checks) or 'none'}."
    troubled = words.troubled_checks(verdict.checks)
    yield table(("", "check", "about", "evidence", "remedy"), (_check(each) for each in troubled))


def _check(check: CheckResult) -> Sequence[str]:
    status = "**fail**" if check.status == "fail" else check.status
    name = f"{escaped(check.title)} ({escaped(check.name)})" if check.title else escaped(check.name)
    return (status, name, *(escaped(each) for each in (check.about, check.evidence, check.advice)))


def _throughput(result: Result) -> Iterator[str]:
    yield "### Throughput"
    throughput, rates = result.throughput, words.rates(result)
    rows = [
        (stage, _figure(rates.get(stage, UNKNOWN)), escaped(throughput.reasons.get(key, "")))
        for stage, key in words.STAGES.items()
    ]
    data = words.megabytes(throughput)
    yield table(("stage", "rate:", ""), [*rows, ("data", data, "")] if data else rows)


def _latency(result: Result, names: Sequence[str]) -> Iterator[str]:
    """An interval where a figure is bounded; struck out what is not believed."""
    yield "### Latency, ms"
    lines = words.latency_lines(result.latency, result.trust, names)
    heads = (f"{head}:" for head in words.heads(names))
    yield table(
        ("path", "kind", *heads, ""),
        ((line.path, line.kind, *map(_figure, line.figures), escaped(line.reason)) for line in lines),
    )
    if any(figure.startswith(">") for line in lines for figure in line.figures):
        yield words.WHY_CENSORED if words.is_censored(lines) else _INTERVAL


def _steps(result: Result) -> Iterator[str]:
    """Each step of the load, response time in ms; nothing of a load without steps."""
    if result.steps:
        yield "### Steps"
        yield table([*_numbers(details.STEP_HEADS[:-1], 0), "held"], _escaped(details.steps(result)))
        yield f"{details.steps_held(result).capitalize()}."


def _figure(shown: str) -> str:
    return f"~~{shown}~~" if isinstance(shown, belief.Doubted) else shown


def _delivery(result: Result) -> Iterator[str]:
    yield "### Delivery"
    rows = [(each.words, _figure(each.count)) for each in words.went_well(result)]
    troubles = words.troubles(result)
    rows += [(f"**{each.words}**" if each.grave else each.words, _figure(each.count)) for each in troubles]
    yield table(("", "messages:"), rows) or "Not known."
    none = words.no_troubles(result.delivery)
    if none and not troubles:
        yield f"{none.capitalize()}."


def _also(result: Result) -> Iterator[str]:
    """What few runs have, in a line each."""
    told = details.also(result) | redeliveries.in_short(result)
    yield "\n".join(f"- {label}: {text}" for label, text in told.items())
    yield table(_numbers(redeliveries.HEADS, 1), redeliveries.rows(result))
    yield table(_numbers(redeliveries.TIME_HEADS, 1), redeliveries.times(result))


def _pressure(result: Result) -> Iterator[str]:
    """Policy, lags, and how the run came back; nothing of what it has none of."""
    facts, lags, recoveries = pressure.policy(result), pressure.lags(result), pressure.recoveries(result)
    faults = pressure.in_short(result).get("Faults")
    if not any((facts, lags, recoveries, faults)):
        return
    yield "### Lag and backpressure"
    yield "\n".join(f"- {fact.name}: {escaped(fact.text)}" for fact in facts)
    yield table(_numbers(pressure.LAG_HEADS, 2), _escaped(lags))
    yield f"Faults: {escaped(faults)}." if faults else ""
    yield table(_numbers(pressure.RECOVERY_HEADS, 3), _escaped(recoveries))
    yield table(_numbers(scorecards.HEADS, scorecards.NUMBERS), _escaped(scorecards.rows(result)))
    yield table(scorecards.PROMISE_HEADS, _escaped(scorecards.kept(result)))


def _pipeline(result: Result) -> Iterator[str]:
    """What stood in the measured path; nothing where nothing did."""
    facts, stages = pipeline.facts(result), pipeline.stages(result)
    if not facts:
        return
    yield "### Pipeline"
    yield "\n".join(f"- {name}: {escaped(text)}" for name, text in facts)
    yield table(_numbers(pipeline.STAGE_HEADS, 3), _escaped(stages)) if stages else ""


def _numbers(heads: Sequence[str], first: int) -> list[str]:
    """The heads, from this column on of numbers."""
    return [head if place < first else f"{head}:" for place, head in enumerate(heads)]


def _escaped(rows: Rows) -> Rows:
    return (
        [f"~~{escaped(cell)}~~" if isinstance(cell, belief.Doubted) else escaped(cell) for cell in row] for row in rows
    )


def _resources(resources: ResourcesSection) -> Iterator[str]:
    yield "### Resources"
    rows = [(role, f"{used} cores") for role, used in words.cores_by_role(resources.processes)]
    rows += [("machine", words.spare(resources)), ("garbage collection", words.pauses(resources))]
    yield table(("", "used"), [row for row in rows if row[1]]) or "Not known."


def _expected(expectations: Sequence[ExpectationResult]) -> Iterator[str]:
    if not expectations:
        return
    yield f"### Expectations: {words.passed(expectations)}"
    names = ("path", "expected", "found", "passed")
    yield table(names, (_expectation(each) for each in expectations))


def _expectation(each: ExpectationResult) -> Sequence[str]:
    found = words.found_value(each) if each.reason is None else each.reason
    return (*map(escaped, (each.path, each.wanted, found)), "yes" if each.passed else "**no**")


def _what_was_run(result: Result) -> Iterator[str]:
    run = result.run
    yield "### What was run"
    facts = {
        "Scenario": words.what_was_run(run),
        "Run": words.on_what(run, result.throughput.measured_seconds),
        "Machine": _machine(run.machine),
        "Versions": ", ".join(f"{name} {version}" for name, version in run.versions.items()),
        "Command": " ".join(run.command),
        "Folder": f"{run.id}, {moment(run.created)}",
    }
    yield "\n".join(f"- {label}: {escaped(text)}" for label, text in facts.items() if text)


def _machine(machine: Mapping[str, Any]) -> str:
    cores, memory = machine.get("cores"), machine.get("memory_bytes")
    known = (
        machine.get("processor"),
        cores and f"{cores} cores",
        memory and f"{size(memory)} of memory",
        " ".join(str(machine[key]) for key in ("system", "release", "architecture") if machine.get(key)),
    )
    return ", ".join(str(each) for each in known if each)


def table(heads: Sequence[str], rows: Rows) -> str:
    """Rows under their heads; a head that ends in `:` aligns to the right. A column that is empty is left out.

    Empty where there are no rows.
    """
    cells = list(rows)
    shown = [column for column in range(len(heads)) if any(row[column] for row in cells)]
    if not shown:
        return ""
    rule = ["---:" if heads[column].endswith(":") else "---" for column in shown]
    lines = [
        [heads[column].removesuffix(":") for column in shown],
        rule,
        *([row[column] for column in shown] for row in cells),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
