"""Imported by every Python process of a case: the wall clock leaps by an hour once a file is there."""

import os
import time  # noqa: TID251 - it is the clock that is replaced

if "TORTURE_CLOCK" in os.environ:
    import psutil

    _STEP_SECONDS = 3600
    _time, _time_ns, _boot_time = time.time, time.time_ns, psutil._pslinux.boot_time

    def _step() -> int:
        return _STEP_SECONDS if os.access(os.environ["TORTURE_CLOCK"], os.F_OK) else 0

    time.time = lambda: _time() + _step()
    time.time_ns = lambda: _time_ns() + _step() * 1_000_000_000
    # When the machine was started is computed from the wall clock.
    psutil._pslinux.boot_time = lambda: _boot_time() + _step()
