"""The folders of a case, and the environment of its processes."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.torture.child import HERE


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of a case, in which it keeps everything."""

    root: Path

    @property
    def out(self) -> Path:
        """Where the run folders are."""
        return self.root / "runs"

    @property
    def state(self) -> Path:
        """What its processes remember, as of brokers."""
        return self.root / "state"

    @property
    def temporary(self) -> Path:
        """Where they put what is to go with them."""
        return self.root / "tmp"

    @property
    def clock(self) -> Path:
        """Once it is there, the wall clock of its processes leaps."""
        return self.root / "clock"

    @property
    def begun(self) -> Path:
        """Is there once its program has loaded what it needs."""
        return self.root / "begun"

    @property
    def mark(self) -> dict[str, str]:
        """What stands in the environment of every process of this case."""
        return {"TORTURE_CASE": str(self.root)}

    @property
    def environ(self) -> dict[str, str]:
        """How the environment of its processes differs from ours."""
        return {
            **self.mark, "XDG_STATE_HOME": str(self.state), "TMPDIR": str(self.temporary),
            "NO_COLOR": "1", "COLUMNS": "200",
            "TORTURE_CLOCK": str(self.clock), "TORTURE_BEGUN": str(self.begun),
            "PYTHONPATH": os.pathsep.join([str(HERE / "startup"), os.environ.get("PYTHONPATH", "")]),
        }  # fmt: skip

    def make(self) -> None:
        """Make its folders."""
        for folder in (self.out, self.state, self.temporary):
            folder.mkdir()

    def call(self, *words: str, seconds: float) -> "subprocess.CompletedProcess[str]":
        """A command of the program, to its end."""
        return subprocess.run(
            [sys.executable, "-m", "streamgauge", *words], capture_output=True, text=True, timeout=seconds,
            check=False, env={**os.environ, **self.environ},
        )  # fmt: skip

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Within the block, this process finds what those of the case remember."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", str(self.state))
            patch.setenv("TMPDIR", str(self.temporary))
            # So that it is asked for again.
            patch.setattr(tempfile, "tempdir", None)
            yield
