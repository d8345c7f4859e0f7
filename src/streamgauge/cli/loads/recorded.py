"""Runs that are recorded and not analysed."""

from collections.abc import Mapping

from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.folder.facts import RunFolder


def check_record_only(options: Mapping[str, bool]) -> None:
    """Refuse the options that show a result, where they are given; raises BadInput with all of them."""
    what, mend = "cannot be combined with --record-only, which makes no result", "Use it with `streamgauge analyse`"
    if faults := [Fault(name, what, mend) for name, is_given in options.items() if is_given]:
        raise BadInput(faults)


def recorded_text(folder: RunFolder) -> str:
    """What is said of a run once it is recorded."""
    return f"Recorded in {folder.root}\nAnalyse it: {folder.analyse_again}"
