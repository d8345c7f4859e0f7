"""The paths inside a run folder, the only door between load and analysis.

Apart from the model of run.json, so that workers, which need the paths only, start without a validation library.
"""

import shlex
from pathlib import Path


class RunFolder:
    """The paths inside one run folder; makes and reads nothing."""

    def __init__(self, root: Path) -> None:
        first = "".join(root.parts[:1])
        if ":" in first or first.startswith("~"):
            # Arrow and Hadoop would take `s3:x/run` for an address, and Arrow `~/run` for the home of the user.
            root = root.absolute()
        self.root = root
        self.facts = root / "run.json"
        self.result = root / "result.json"
        self.events = root / "events"
        self.tables = root / "tables"
        self.replacing = root / "tables" / "_replacing"
        """Is there while the tables are replaced by those of another analysis, and after one that was cut off then."""
        self.logs = root / "logs"
        self.report = root / "report.html"
        self.summary = root / "summary.md"
        self.figures = root / "figures"
        self.csv = root / "csv"
        self.hlog = root / "hlog"

    @property
    def analyse_again(self) -> str:
        """The command that analyses it, as a shell takes it."""
        return f"streamgauge analyse {shlex.quote(str(self.root))}"

    def worker_events(self, kind: str, worker: str) -> Path:
        """Where one worker keeps its parts of one kind of event."""
        return self.events / kind / f"worker={worker}"

    def table(self, name: str) -> Path:
        """The file of one gold table."""
        return self.tables / f"{name}.parquet"

    def gc_log(self, process: str) -> Path:
        """The `-Xlog:gc` file of one JVM, like `broker-1`."""
        return self.logs / f"{process}-gc.log"
