"""Tokens of OAUTHBEARER that nobody signs, from the settings from which librdkafka makes them.

A broker takes them only if it is told to trust anybody: they show what tokens cost, and protect nothing.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamgauge.domain import clock
from streamgauge.domain.blocks import Settings
from streamgauge.domain.clock import NS_PER_MS

_LIFE_SECONDS: Final = 3_600
"""How long a token is good for, as in librdkafka."""
_EXTENSION: Final = "extension_"


@dataclass(frozen=True, slots=True)
class UnsecuredTokens:
    """A token provider of kafka-python, which asks it for each connection."""

    config: str
    """`principal=NAME`, and what else `sasl.oauthbearer.config` says."""

    def token(self) -> str:
        """A token that is good from now on."""
        return unsecured_token(self.config, clock.clock_pair().wall_ns)

    def extensions(self) -> dict[str, str]:
        """What is told beside the token."""
        given = _said(self.config)
        return {name.removeprefix(_EXTENSION): value for name, value in given.items() if name.startswith(_EXTENSION)}


def tokens_of(settings: Settings) -> UnsecuredTokens | None:
    """Who makes tokens for these settings of a client; None where they ask for no such tokens."""
    mechanism = settings.get("sasl.mechanisms", settings.get("sasl.mechanism", ""))
    is_unsecured = str(settings.get("enable.sasl.oauthbearer.unsecure.jwt", "")).lower() == "true"
    if not is_unsecured or str(mechanism).upper() != "OAUTHBEARER":
        return None
    return UnsecuredTokens(str(settings.get("sasl.oauthbearer.config", "")))


def unsecured_token(config: str, wall_ns: int) -> str:
    """The token, made at this time: a JSON Web Token without a signature."""
    # Brokers round the time of issue to milliseconds, cut their own, and refuse what was issued after now.
    given, now = _said(config), wall_ns // NS_PER_MS / 1000
    claims: dict[str, Any] = {
        given.get("principalClaimName", "sub"): given.get("principal", ""),
        "iat": now,
        "exp": now + int(given.get("lifeSeconds", _LIFE_SECONDS)),
    }
    if scope := given.get("scope"):
        claims[given.get("scopeClaimName", "scope")] = scope.split(",")
    return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."


def _said(config: str) -> dict[str, str]:
    return {name: value for name, _, value in (each.partition("=") for each in config.split())}


def _encoded(part: Mapping[str, Any]) -> str:
    text = json.dumps(part, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()
