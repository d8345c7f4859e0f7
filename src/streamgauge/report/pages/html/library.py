"""The charting library that is in every page: Vega, Vega-Lite and Vega-Embed as one script.

To bundle it takes two seconds of CPU, as much as all the rest of a report. It is the same for every report of one
version of the library, so it is kept in the user's cache.
"""

import contextlib
import hashlib
import os
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

import vl_convert

from streamgauge.processes import disk
from streamgauge.processes.places import cache_folder

_SNIPPET: Final = "window.vegaEmbed = vegaEmbed;"
_KIND: Final = "vega-embed"


def script_folder() -> Path:
    """Where scripts are kept."""
    return cache_folder() / "scripts"


@cache
def bundle() -> str:
    """The script, which may stand in a script element; made once, and then read."""
    path = script_folder() / f"{_KIND}-{version('vl-convert-python')}.js"
    if (kept := _kept(path)) is not None:
        return kept
    made = str(vl_convert.javascript_bundle(_SNIPPET)).replace("</script", "<\\/script")
    # A report is written, too, where nothing can be kept.
    with contextlib.suppress(OSError):
        _keep(path, made.encode())
    return made


def _kept(path: Path) -> str | None:
    """The script of a file; None where there is none, or it is not what was written."""
    try:
        digest, _, script = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return script.decode() if digest == _digest(script) else None


def _keep(path: Path, script: bytes) -> None:
    """Write it beside its digest; those of other versions are removed. Raises OSError where that cannot be done."""
    # Another process may write it, too.
    with disk.whole(path, path.with_name(f"_{path.name}-{os.getpid()}")) as unfinished:
        unfinished.write_bytes(_digest(script) + b"\n" + script)
    for other in path.parent.glob(f"{_KIND}-*.js"):
        if other != path:
            other.unlink(missing_ok=True)


def _digest(script: bytes) -> bytes:
    return hashlib.sha256(script).hexdigest().encode()
