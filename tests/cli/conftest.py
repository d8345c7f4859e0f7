"""What tests of the command line share."""

from collections.abc import Iterator
from functools import cache

import pytest
import typer.main
import typer.testing


@pytest.fixture(scope="session", autouse=True)
def _commands_made_once() -> Iterator[None]:
    """Typer makes all commands anew for every call, which takes longer than most calls here."""
    made = cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", made)
        patch.setattr(typer.testing, "_get_command", made)
        yield
