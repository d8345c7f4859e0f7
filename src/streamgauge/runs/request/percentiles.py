"""The figures of a latency by the names that users write: `p50,p99.9,max`."""

from collections.abc import Sequence
from typing import Final

from streamgauge.domain.errors import BadInput
from streamgauge.domain.latency.percentiles import PERCENTILES
from streamgauge.domain.text.numbers import listed
from streamgauge.domain.text.shown import one_line

FIGURES: Final = (*PERCENTILES, "min", "mean", "max")
"""The figures of a latency that a result holds."""


def figures_of(text: str | None) -> tuple[str, ...] | None:
    """The figures that `p50,p99.99,max` names, each once; None where nothing is asked for.

    Raises BadInput for those that no result holds.
    """
    if text is None:
        return None
    asked = [each.strip() for each in text.split(",")]
    names = [each.lower().replace(".", "_") for each in asked]
    unknown = [each for each, name in zip(asked, names, strict=True) if name not in FIGURES]
    if unknown:
        what = f"{listed([f'`{one_line(each)}`' for each in unknown])}: not in a result"
        raise BadInput.single(
            "--percentiles", what, f"Choose from {', '.join(spelled(FIGURES))}; RUN/hlog has the others"
        )
    return tuple(dict.fromkeys(names))


def spelled(names: Sequence[str]) -> list[str]:
    """Figures as they are written: `p99.9` for `p99_9`."""
    return [name.replace("_", ".") for name in names]
