"""The command `trogdor`: one specification carried out as Trogdor's agent does with `--exec`."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from streamgauge.domain.errors import BadInput, StreamgaugeError
from streamgauge.domain.text.secrets import masked
from streamgauge.runs.foreign.trogdor import TaskEnded, carry_out_task, task_of
from streamgauge.runs.request.options import RunOptions
from streamgauge.watch.display import Display

_SUCCEEDED: Final = 0
_FAILED: Final = 1


def trogdor_exec(
    given: str, display: Display, print_out: Callable[[str], None], *,
    bootstrap: str | None, client_config: Path | None, out: Path, allow_code: bool,
) -> int:  # fmt: skip
    """Carry out one specification, and print its status; 0 where it succeeded, 1 for everything else, as there.

    `given` is a specification, the path of one, or `-` for standard input. It runs on the cluster that is named, or
    that the specification names, as an agent takes it.
    """
    try:
        task = task_of(given)
    except BadInput as error:
        print_out(f"Unable to parse the supplied task spec. {error}")
        return _FAILED
    options = RunOptions(
        out=out, command=["streamgauge", *sys.argv[1:]], bootstrap=bootstrap, client_config=client_config,
        allow_code=allow_code,
    )  # fmt: skip
    print_out(f"Waiting for completion of task:{_pretty(masked(task.spec))}")
    try:
        ended = carry_out_task(task, options, display)
    except StreamgaugeError as error:
        ended = TaskEnded(None, str(error))
    if ended.error:
        print_out(f"Task failed with status {_pretty(ended.status)} and error {ended.error}")
        return _FAILED
    print_out(f"Task succeeded with status {_pretty(ended.status)}")
    return _SUCCEEDED


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2)
