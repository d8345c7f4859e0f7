"""What a comparison says, in a sentence."""

from typing import Final

from streamgauge.domain.text.numbers import percent
from streamgauge.statistics.comparison import SENSITIVE, Comparison, Effect

_FASTER: Final = {"higher": "slower", "lower": "faster"}


def sentence(found: Comparison, label: str, *, is_duration: bool = False) -> str:
    """The verdict on a metric, e.g. `zstd is 1.08 to 1.21 times slower than lz4 at end-to-end p99`.

    `label` names the metric. Of durations it is said who is faster, and by how many times.
    """
    notes = "".join(f"; {_note(each, found)}" for each in found.because)
    if found.verdict == "no_verdict":
        return f"no verdict on {label} of {found.other} and {found.one}: {'; '.join(found.because)}"
    if found.verdict == "not_shown":
        return f"no difference in {label} shown between {found.one} and {found.other}; {_could(found)}{notes}"
    assert found.effect is not None
    low, high = _ends(found.effect)
    if low <= (1 if found.effect.is_ratio else 0) <= high:
        typical = f"with {_typical(found.effect)}"
        return f"{label} of {found.other} is {found.verdict} than that of {found.one}, {typical}{notes}"
    if not found.effect.is_ratio:
        low, high = sorted((abs(low), abs(high)))
        how = f"{low:.3g} to {high:.3g} {found.verdict} than that of {found.one}"
        return f"{label} of {found.other} is {how}{notes}"
    if not is_duration:
        return f"{label} of {found.other} is {low:.3g} to {high:.3g} times that of {found.one}{notes}"
    if found.verdict == "lower":
        low, high = 1 / high, 1 / low
    times = f"{low:.3g} to {high:.3g} times {_FASTER[found.verdict]}"
    return f"{found.other} is {times} than {found.one} at {label}{notes}"


def _note(text: str, found: Comparison) -> str:
    """What to know about a verdict; where intervals could turn it, with the effects at their ends."""
    if text != SENSITIVE or not found.at_ends:
        return text
    return f"{text}: at the ends that lie farthest apart, with {' or '.join(map(_typical, found.at_ends))}"


def _typical(effect: Effect) -> str:
    low, high = _ends(effect)
    return (
        f"a typical {'ratio' if effect.is_ratio else 'difference'} of {effect.estimate:.3g} ({low:.3g} to {high:.3g})"
    )


def _ends(effect: Effect) -> tuple[float, float]:
    """Its interval; the estimate where so few runs have none."""
    low, high = (effect.estimate if end is None else end for end in (effect.low, effect.high))
    return low, high


def _could(found: Comparison) -> str:
    """What so many runs could have shown."""
    assert found.could_show is not None
    assert found.effect is not None
    runs = f"{found.pairs} rounds" if found.pairs is not None else f"{found.runs[0]} and {found.runs[1]} runs"
    size = percent(found.could_show - 1) if found.effect.is_ratio else f"{found.could_show:.3g}"
    return f"{runs} could show a difference of {size}"
