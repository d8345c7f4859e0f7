"""The paths inside a run folder."""

import shlex
from pathlib import Path

from streamgauge.domain.folder.paths import RunFolder


def test_the_command_to_analyse_again_can_be_given_to_a_shell() -> None:
    """Also where a folder has blanks and quotes in its name."""
    assert RunFolder(Path("runs/a")).analyse_again == "streamgauge analyse runs/a"
    assert shlex.split(RunFolder(Path("my runs/it's")).analyse_again)[-1] == "my runs/it's"
