"""What must not be written anywhere: secrets are known by their names, and masked."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

MASK: Final = "***"
_SECRET: Final = re.compile(
    r"passw|passphrase|secret|token|credential|jaas|private|assertion|\.pem\b|ssl[._]key"
    r"|sasl\.(?!mechanisms?\b)",
    re.IGNORECASE,
)
_TELLING: Final = 3
"""Values of so few characters stand in many words that are no secrets; in quotes they are values."""
_Value = TypeVar("_Value")


def is_secret(name: str) -> bool:
    """Whether the value of a setting of this name must not be written anywhere; in doubt it must not."""
    return _SECRET.search(name) is not None


def masked(config: Mapping[str, _Value]) -> dict[str, _Value | str]:
    """The settings with `***` in place of every secret, fit to be written and shown."""
    return {key: MASK if is_secret(key) else value for key, value in config.items()}


def mask_command(argv: Sequence[str]) -> list[str]:
    """A command line with `***` in place of what follows `=` in every argument that speaks of a secret."""
    return [_mask_argument(argument) for argument in argv]


def mask_setting(setting: str) -> str:
    """A `path=value`, or what was meant to be one, with `***` in place of a secret."""
    if not is_secret(setting):
        return setting
    name, equals, _ = setting.partition("=")
    return f"{name}={MASK}" if equals else f"{re.split('[^a-zA-Z0-9._-]', name, maxsplit=1)[0]} {MASK}"


def without_secrets(text: str, config: Mapping[str, object]) -> str:
    """What somebody says about settings, with `***` wherever it repeats a secret."""
    for name, value in config.items():
        if is_secret(name) and str(value):
            text = text.replace(f'"{value}"', MASK)
            text = text.replace(str(value), MASK) if len(str(value)) > _TELLING else text
    return text


def _mask_argument(argument: str) -> str:
    option, assignment = ("--set=", argument[6:]) if argument.startswith("--set=") else ("", argument)
    # A value may be a mapping with names of its own: `load.client={sasl.password: x}`.
    return f"{option}{mask_setting(assignment)}" if "=" in assignment else argument
