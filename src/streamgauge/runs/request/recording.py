"""Runs that are recorded and not analysed."""

from collections.abc import Mapping

from streamgauge.domain.errors import BadInput, Fault


def check_record_only(options: Mapping[str, bool], by: str = "--record-only") -> None:
    """Refuse the options that are given and are of a result; raises BadInput with all of them."""
    what, mend = f"cannot be combined with {by}, which makes no result", "Ask for it when the run is analysed"
    if faults := [Fault(name, what, mend) for name, is_given in options.items() if is_given]:
        raise BadInput(faults)
