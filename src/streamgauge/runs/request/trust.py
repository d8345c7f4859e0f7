"""What a scenario may do on this machine: which of the powers that it asks for the command line has granted."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from streamgauge.domain.errors import BadInput, Fault, WorkerError
from streamgauge.domain.text.secrets import MASK, is_secret
from streamgauge.domain.text.shown import one_line
from streamgauge.processes.functions import files_of, find_function, home_of, not_of_users
from streamgauge.runs.request.scenario_file import home_of_scenario
from streamgauge.scenario import Scenario
from streamgauge.scenario.powers import Keys, Power, PowerKind, powers
from streamgauge.scenario.written.paths import keys_of

_ALLOW: Final = "Use --allow-code if you trust this scenario"
_FOLDER: Final = f"{_ALLOW}, or --trust FOLDER to trust a folder"
_WHY: Final[Mapping[PowerKind, str]] = {
    PowerKind.FUNCTION: "is code that would run",
    PowerKind.READ: "is outside the scenario's folder and the current folder, and would be sent",
    PowerKind.WRITE: "is outside the run folder, and would be written",
    PowerKind.MASTER: "is a remote Spark cluster, which would receive the messages and the credentials of Kafka",
    PowerKind.CLIENT: "would load a library or run a command",
    PowerKind.GUARD: "changes how the secrets of --client-config are protected",
    PowerKind.BROKER: "may name code, a file or another machine",
    PowerKind.SPARK: "may name code, a program, a file or another machine",
}
"""Why each needs a word."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What was said on the command line about a scenario; nothing unless it is said."""

    allow_code: bool = False
    """Everything that it asks for is granted."""
    folders: tuple[Path, ...] = ()
    """Functions whose files lie there are granted, and files that are read."""
    typed: tuple[Keys, ...] = ()
    """What `--set` and `--job` gave is the word of the one who types, with all that is below it."""
    home: Path | None = None
    """Folder of the scenario's file; None for one that is shipped."""
    has_secrets: bool = False
    """Whether clients are given secrets that are not the scenario's own, by `--client-config`."""

    def said(self, power: Power) -> bool:
        """Whether the command line itself asks for it, or grants all."""
        return self.allow_code or any(power.keys[: len(keys)] == keys for keys in self.typed)


def trust_of(
    scenario: str | Mapping[str, Any],
    settings: Sequence[str],
    *,
    allow_code: bool = False,
    folders: Sequence[Path] = (),
    has_secrets: bool = False,
    home: Path | None = None,
) -> Trust:
    """What the options grant; `settings` are those of `--set`, `home` the folder of a scenario that is in no file."""
    typed = tuple(tuple(keys_of(setting.partition("=")[0])) for setting in settings if "=" in setting)
    trusted = tuple(each.resolve() for each in folders)
    return Trust(allow_code, trusted, typed, home or home_of_scenario(scenario), has_secrets)


def wrong_folders(folders: Sequence[Path]) -> list[Fault]:
    """Folders of `--trust` that are none."""
    return [
        Fault(f"--trust {one_line(str(each))}", "there is no such folder", "Name one")
        for each in folders
        if not each.is_dir()
    ]


def check_trust(scenario: Scenario, trust: Trust) -> None:
    """Raise BadInput with all that the scenario asks for and was not granted.

    Nothing of the user's is imported before it is granted: where a function is comes from its module's name. Where a
    folder is trusted and nothing more, what was imported is looked at again, since a module may hand on what others
    have.
    """
    asked = list(powers(scenario))
    faults = [fault for power in asked for fault in _refused(power, trust)]
    if not faults:
        faults = [fault for power in asked for fault in _handed_on(power, trust)]
    if faults:
        raise BadInput(faults)


def _refused(power: Power, trust: Trust) -> Iterator[Fault]:
    value = MASK if is_secret(power.keys[-1]) else one_line(power.value)
    if power.kind is PowerKind.FUNCTION and (why := not_of_users(power.value.partition(":")[0])):
        yield why.at(power.where, value)
    elif not trust.said(power) and not _granted(power, trust):
        mend = _FOLDER if power.kind in {PowerKind.FUNCTION, PowerKind.READ} else _ALLOW
        yield Fault(power.where, f"{value} {_WHY[power.kind]}{_from(power, trust)}", mend)


def _granted(power: Power, trust: Trust) -> bool:
    """Whether it needs no word, or a folder that is trusted is enough."""
    match power.kind:
        case PowerKind.FUNCTION:
            return _in_folders(_files(power), trust.folders)
        case PowerKind.READ:
            return _may_be_read(power.value, trust)
        case PowerKind.GUARD:
            return not trust.has_secrets
    return False


def _handed_on(power: Power, trust: Trust) -> Iterator[Fault]:
    """A function that a module in a trusted folder has from elsewhere."""
    if power.kind is not PowerKind.FUNCTION or trust.said(power):
        return
    try:
        home = home_of(find_function(power.value))
    except WorkerError:
        # Whoever loads it says so.
        return
    if not _in_folders(files_of(home), trust.folders):
        yield Fault(power.where, f"{power.value} comes from {home}, which is outside the folders of --trust", _ALLOW)


def _files(power: Power) -> list[Path] | None:
    return files_of(power.value.partition(":")[0])


def _from(power: Power, trust: Trust) -> str:
    """Where the code is, for one who has trusted other folders."""
    files = _files(power) if power.kind is PowerKind.FUNCTION and trust.folders else None
    return f", from {files[-1]}" if files else ""


def _in_folders(files: Sequence[Path] | None, folders: Sequence[Path]) -> bool:
    """Whether there are files, and all of them lie below one of the folders, wherever links lead."""
    return bool(files) and all(_is_below(file, folders) for file in files or ())


def _may_be_read(path: str, trust: Trust) -> bool:
    near = [Path.cwd(), *([trust.home] if trust.home else []), *trust.folders]
    return _is_below(Path(os.path.expanduser(path)), near)  # noqa: PTH111 - pathlib raises for users that are unknown


def _is_below(path: Path, folders: Sequence[Path]) -> bool:
    real = path.resolve()
    return any(real.is_relative_to(folder.resolve()) for folder in folders)
