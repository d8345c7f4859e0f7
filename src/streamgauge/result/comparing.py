"""What keeps runs from being compared as they are."""

from collections.abc import Mapping
from typing import Final

from streamgauge.domain.text.numbers import listed

_MOST_NAMED: Final = 3


def archives_differ(archives: Mapping[str, bool | None]) -> str | None:
    """A warning that brokers were not started alike, from `run.broker.class_archive` by run; None for nothing to say.

    Brokers of which it is not known (None), as those of your own cluster, are not spoken of.
    """
    used = [run for run, archive in archives.items() if archive]
    unused = [run for run, archive in archives.items() if archive is False]
    if not used or not unused:
        return None
    return (
        f"The brokers were not started alike: with a Java class data sharing archive in {_named(used)}, without one in "
        f"{_named(unused)}. Create it with `streamgauge doctor --prepare` and repeat the runs without one."
    )


def _named(runs: list[str]) -> str:
    """The runs by their names; of many the first."""
    if len(runs) <= _MOST_NAMED:
        return listed(runs)
    return f"{', '.join(runs[: _MOST_NAMED - 1])} and {len(runs) - _MOST_NAMED + 1} more"
