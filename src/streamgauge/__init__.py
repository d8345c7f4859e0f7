"""Streamgauge measures what an event stream on Apache Kafka really delivers.

`run` runs a scenario, `open` opens a run that was recorded before; both return a `Run`. `broker` starts a broker that
many runs share.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamgauge.runs.api import Run, broker, open, run  # noqa: A004 - as in `gzip.open`

__all__ = ["Run", "broker", "open", "run"]


def __getattr__(name: str) -> Any:
    """Load the API when it is used: worker processes import this package, too, and start without it."""
    if name not in __all__:
        raise AttributeError(f"module 'streamgauge' has no attribute {name!r}")
    from streamgauge.runs import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
