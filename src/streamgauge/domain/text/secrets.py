"""What must not be written anywhere: secrets are known by their names or by what they look like, and masked."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

MASK: Final = "***"
NAMES: Final = (
    r"passw|passphrase|(?<![a-z])pwd|secret|token|credential|jaas|private|assertion|authorization|\.pem\b|ssl[._]key"
    r"|(?:access|account|api|shared)[._-]?key|encryption[._-]key(?![a-z])|user[._]?info|(?<![a-z0-9])sas(?![a-z0-9])"
    r"|sasl\.(?!mechanisms?\b)"
)
"""The names of secrets, as a regular expression that Python and Java read alike, without regard to case."""
_NAMED: Final = re.compile(NAMES, re.IGNORECASE)
# Everything that repeats is bounded, or a long text would take minutes.
_IN_URL: Final = r"://[^/\s:@]{0,200}:(?!\d+/)(?P<in_url>[^\s@]{1,500})@"
_CARRIED: Final = re.compile(
    rf"""(?:{NAMES})[\w.$-]{{0,100}}["']?\s{{0,20}}[=:]\s{{0,20}}(?!\*\*\*)"""
    r"""(?P<assigned>"[^"]{1,2000}"?|'[^']{1,2000}'?|[^\s;,&"']{1,2000})"""
    rf"|{_IN_URL}"
    r"|[^\s:@/]:(?P<in_address>[^\s:@/]{1,200})@[\w\[]"
    r"|[?&](?:x-amz-)?sig(?:nature)?=(?P<signature>[^\s&]{1,2000})"
    r"|\bbearer\s{1,20}(?P<bearer>[\w.~+/-]{16,2000})"
    r"|(?P<id>(?-i:\b(?:AKIA|ASIA)[0-9A-Z]{16}\b))"
    r"|(?P<jwt>(?-i:\beyJ[\w-]{8,2000}\.eyJ[\w-]{8,2000}))"
    r"|LoginModule\s|-----BEGIN [A-Z ]{0,30}PRIVATE KEY",
    re.IGNORECASE,
)
"""A secret within a text: assigned to a name of one, in an address, or known by its form."""
_TELLING: Final = 3
"""Values of so few characters stand in many words that are no secrets; in quotes they are values."""


def is_secret(name: str) -> bool:
    """Whether the value of a setting of this name must not be written anywhere; in doubt it must not."""
    return _NAMED.search(name) is not None


def carries_secret(text: str) -> bool:
    """Whether a text has a secret in it, whatever it is called: `password="x"`, `https://user:password@host`."""
    return _CARRIED.search(text) is not None


def masked(value: Any, name: str = "") -> Any:
    """A value of this name with `***` in place of every secret, at any depth of mappings and lists.

    A text that carries a secret is masked as a whole, but for an address, which keeps its host. Names and shape stay: a
    scenario that could be parsed before still can.
    """
    if is_secret(name):
        return MASK
    if isinstance(value, Mapping):
        return {key: masked(each, str(key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked(each) for each in value]
    return _masked_text(value) if isinstance(value, str) else value


def _masked_text(text: str) -> str:
    hosts = re.sub(_IN_URL, f"://{MASK}@", text)
    return MASK if carries_secret(hosts) else hosts


def left_out(value: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Where `***` stands for a secret that was masked once, as dotted paths."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from left_out(each, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for place, each in enumerate(value):
            yield from left_out(each, (*path, str(place)))
    elif value == MASK and is_secret(path[-1]):
        yield ".".join(path)


def mask_command(argv: Sequence[str]) -> list[str]:
    """A command line with `***` in place of what follows `=` in every argument that speaks of a secret."""
    return [_mask_argument(argument) for argument in argv]


def mask_setting(setting: str) -> str:
    """A `path=value`, or what was meant to be one, with `***` in place of a secret."""
    if not is_secret(setting) and not carries_secret(setting):
        return setting
    name = re.split(r"[^a-zA-Z0-9._-]", setting, maxsplit=1)[0]
    return f"{name}{'=' if setting[len(name) :].startswith('=') else ' '}{MASK}"


def without_secrets(text: str, given: Mapping[str, object]) -> str:
    """What somebody says about settings, with `***` wherever it repeats a secret of theirs, at any depth."""
    for secret in sorted(set(_secrets(given)), key=len, reverse=True):
        text = text.replace(f'"{secret}"', MASK)
        text = text.replace(secret, MASK) if len(secret) > _TELLING else text
    return text


def _secrets(value: object, name: str = "", *, below: bool = False) -> Iterator[str]:
    """Every secret in a value of this name: all that stands below a name of one, and what texts carry."""
    below = below or is_secret(name)
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _secrets(each, str(key), below=below)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _secrets(each, below=below)
    elif below:
        yield from [str(value)] if value is not None and str(value) else []
    elif isinstance(value, str) and carries_secret(value):
        yield value
        for found in _CARRIED.finditer(value):
            yield from (part.strip("\"'{}[]()") for part in found.groups() if part)


def _mask_argument(argument: str) -> str:
    option, assignment = ("--set=", argument[6:]) if argument.startswith("--set=") else ("", argument)
    # A value may be a mapping with names of its own: `load.client={sasl.password: x}`.
    if "=" in assignment:
        return f"{option}{mask_setting(assignment)}"
    return _masked_text(argument)
