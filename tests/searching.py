"""Records of searches, made of letters."""

from typing import Any

from streamgauge.experiments.search.record import SearchRecord, SearchStep


def record_of(*tried: tuple[float, str], down: str = "", **more: Any) -> SearchRecord:
    """A search whose runs said so, in capitals where they were in doubt: `h` held, `b` broke, `U` cannot be told."""
    steps = [step(value, word) for value, words in tried for word in words]
    # What held comes first on the way up, and the way down begins at what broke.
    steps += [step(value, word, "down") for (value, _), word in zip(reversed(tried), down, strict=False)]
    asked = {"path": "load.rate", "find": "largest", "objectives": ["p99 <= 20 ms"], "start": 1000, "least": 1}
    about = {"id": "s", "name": "search-x", "created": "2026-01-01T00:00:00Z", "command": ["streamgauge", "search"]}
    rest = {"most": 1e6, "width": 0.05, "whole": False, "step_seconds": 10, "scenario": {"name": "x"}}
    record = SearchRecord.model_validate({**about, **asked, **rest, **more})
    record.steps = steps
    return record


def step(value: float, word: str, phase: Any = "up") -> SearchStep:
    """A run of a search."""
    held = word in "hH"
    return SearchStep(
        begun="",
        phase=phase,
        value=value,
        outcome="done",
        held=held,
        is_doubtful=word.isupper(),
        reasons=[] if held else ["p99 <= 20 ms: 50.0"],
        figures={"p99 <= 20 ms": 10.0 if held else 50.0},
        objectives={"p99 <= 20 ms": {"h": True, "b": False, "B": False}.get(word)},
    )
