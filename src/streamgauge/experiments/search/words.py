"""A search in words: its values, what a run of it says, and its answer."""

from collections.abc import Iterator

from streamgauge.domain.text.numbers import UNKNOWN, per_second, percent, significant, whole
from streamgauge.experiments.search.record import RATE, SearchRecord, SearchStep


def shown_value(value: float, path: str) -> str:
    """A value of the setting that is searched, as people read it."""
    return per_second(value) if path == RATE else whole(value)


def shown_figure(value: float | None) -> str:
    """The figure of an objective; what never arrived makes it infinite."""
    return "infinite" if value is None else significant(value)


def said(step: SearchStep) -> str:
    """Whether a run held, and whether that is certain."""
    if step.is_untold:
        return "cannot be told"
    return f"{'held' if step.held else 'did not hold'}{', doubtful' if step.is_doubtful else ''}"


def answer_lines(record: SearchRecord) -> Iterator[str]:
    """The answer of a search in sentences, and why it ended early. Parts of it may come from outside."""
    yield from (_conforming if record.staircase else _found)(record)
    yield from (f"{record.ending}: {reason}" for reason in record.reasons)


def _found(record: SearchRecord) -> Iterator[str]:
    found, path = record.answer, record.path
    hardest, easiest = ("Highest", "Lowest") if record.find == "largest" else ("Lowest", "Highest")
    if found.held is not None:
        yield f"{hardest} {path} that held: {shown_value(found.held, path)}  ({'; '.join(record.objectives)})"
    told = record.broke_for_certain
    if found.broke is not None and told != found.broke:
        yield f"Cannot be told at {shown_value(found.broke, path)}{_because(record, found.broke)}"
    if told is not None:
        yield f"{easiest} that did not: {shown_value(told, path)}{_because(record, told)}"
    elif found.broke is not None:
        yield "No run failed for certain: the limit may be that of the load generator, not of the system."
    if (found.surely_held, found.surely_broke) != (found.held, found.broke):
        yield f"Runs of some values did not agree; {_agreed(record)}."
    if record.ending == "never_held":
        limit = record.least if record.find == "largest" else record.most
        yield f"No value held, not even the limit of {shown_value(limit, path)}."
    if record.ending == "at_limit":
        yield "That is the limit of the search; nothing beyond it was tried."
    if record.ending == "steps":
        yield f"The search ended after {len(record.steps)} runs, before the answer was as narrow as asked."
    yield from _down(record)


def _because(record: SearchRecord, value: float) -> str:
    """Why the first run of a value did not hold; one that tells for certain goes before the others."""
    broke = [step for step in record.steps if step.value == value and step.held is False and step.reasons]
    first = min(broke, key=lambda step: step.is_untold, default=None)
    return f" ({'; '.join(first.reasons)})" if first else ""


def _agreed(record: SearchRecord) -> str:
    """As far as where all runs of a value held, and from where on none of them did."""
    found, path, to = record.answer, record.path, "up to" if record.find == "largest" else "down to"
    held = "no value held in all runs"
    if found.surely_held is not None:
        held = f"all runs held {to} {shown_value(found.surely_held, path)}"
    broke = "some run held at every value"
    if found.surely_broke is not None:
        broke = f"no run held from {shown_value(found.surely_broke, path)} on"
    return f"{held}, and {broke}"


def _conforming(record: SearchRecord) -> Iterator[str]:
    """The conforming rate of each objective of a staircase."""
    bound = record.bound
    if bound is None:
        yield "The high bound is not known yet."
        return
    yield f"High bound: {per_second(bound)}"
    for text, found in record.conforming.items():
        ends = [f"held up to {per_second(found.held)}, {percent(found.held / bound)} of it"] if found.held else []
        ends += [f"cannot be told at {per_second(found.unknown)}"] if found.unknown else []
        ends += [f"did not hold at {per_second(found.broke)}"] if found.broke else []
        ends += ["held at every step"] if found.held and not (found.broke or found.unknown) else []
        yield f"{text}: {'; '.join(ends) or UNKNOWN}"


def _down(record: SearchRecord) -> Iterator[str]:
    """What the way down says."""
    tried, found, again = record.trials("down"), record.answer, record.held_again
    if not tried or found.held is None:
        return
    if again is None:
        yield f"After overload it did not hold again, down to {shown_value(tried[-1].value, record.path)} (hysteresis)."
    elif record.plan.hardness(again) > record.plan.hardness(found.held):
        yield f"After overload {shown_value(again, record.path)} held, which it had not on the way up."
    elif again == found.held:
        yield f"After overload it held again at {shown_value(again, record.path)}."
    else:
        apart = f"{percent(abs(1 - again / found.held))} {'less' if again < found.held else 'more'}"
        yield f"After overload it held again at {shown_value(again, record.path)} only, {apart} (hysteresis)."
