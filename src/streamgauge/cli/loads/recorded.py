"""What is said of a run that was recorded and not analysed."""

from streamgauge.domain.folder.facts import RunFolder


def recorded_text(folder: RunFolder) -> str:
    """Where it is, and how it is analysed."""
    return f"Recorded in {folder.root}\nAnalyse it: {folder.analyse_again}"
