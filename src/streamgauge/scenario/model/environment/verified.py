"""What is verified of the messages of a run: their content as they are received, and the log after the drain."""

from collections.abc import Iterable
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, Tag

from streamgauge.scenario.model.values import EITHER, MADE, PLAIN, ScenarioPart, share_as_text

TOLD_BY_LOG: Final = ("truncated", "vanished", "offset_conflicts", "skipped_polls")
"""Counts of `delivery` that are known only where the log was read again."""

Verified = Annotated[str, BeforeValidator(share_as_text), Field(pattern=r"^(all|off|1/[1-9][0-9]{0,8})$")]


class Verification(ScenarioPart):
    """Content and log, each for itself."""

    content: Verified = "all"
    """Share of messages whose checksum consumers verify: `all`, `1/16` (every sixteenth), or `off`."""
    log: Annotated[bool | None, Field(strict=True)] = None
    """Read the topics once more after the drain, to find acknowledged messages that the log no longer holds. By default
    where messages can vanish, or a loss has to be told from a gap of consumers: with several replicas, or with faults;
    and where `expect` names a count that only the log tells."""


VerifyField = Annotated[Annotated[Verified, Tag(PLAIN)] | Annotated[Verification, Tag(MADE)], EITHER]
"""A share of the contents, or a mapping that says more."""


def every_of(verify: str | Verification) -> int | None:
    """The n where every n-th message is verified; None for none."""
    share = verify if isinstance(verify, str) else verify.content
    if share == "off":
        return None
    return 1 if share == "all" else int(share.removeprefix("1/"))


def log_asked(verify: str | Verification) -> bool | None:
    """Whether the scenario asks for the log to be read again; None where it does not say."""
    return None if isinstance(verify, str) else verify.log


def is_read_again(verify: str | Verification, expected: Iterable[str], *, may_vanish: bool) -> bool:
    """Whether the log is read again: as the scenario says, or else where something may vanish, or is expected of it."""
    asked = log_asked(verify)
    is_expected = any(path.startswith("delivery.") and path.rpartition(".")[2] in TOLD_BY_LOG for path in expected)
    return may_vanish or is_expected if asked is None else asked
