"""The paths inside the folder of an experiment."""

import shlex
from pathlib import Path


class ExperimentFolder:
    """The paths inside the folder of one experiment; makes and reads nothing."""

    command = "experiment"
    """What makes it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.record = root / "experiment.json"
        self.runs = root / "runs"
        """Its run folders."""
        self.tables = root / "tables"
        """Its gold tables."""
        self.result = root / "result.json"
        self.summary = root / "summary.md"
        self.report = root / "report.html"

    @property
    def resume(self) -> str:
        """The command that goes on with it, as a shell takes it."""
        return f"streamgauge {self.command} --resume {shlex.quote(str(self.root))}"


class SearchFolder(ExperimentFolder):
    """The paths inside the folder of one search."""

    command = "search"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.record = root / "search.json"
