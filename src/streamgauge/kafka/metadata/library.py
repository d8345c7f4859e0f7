"""kafka-python, which asks what confluent-kafka cannot: DescribeQuorum, reassignments, logs of followers.

It is loaded when it is needed first: it makes its protocol from many files, which takes a quarter of a second.
"""

import logging
import socket
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from streamgauge.domain.blocks import Settings
from streamgauge.kafka.metadata.tokens import UnsecuredTokens, tokens_of

_NOBODY: Final = -1
"""Kafka's number of the leader where there is none."""
_NAMES: Final = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
}
"""Settings of connections by their names in librdkafka, and in kafka-python."""
_SCHEME: Final = "closing"
"""Of a proxy that is none: how the library lets itself be told how to connect."""


@cache
def library() -> Any:
    """The library. It reads its protocol with a call that Python has deprecated, and logs what we say in errors."""
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    logging.getLogger("kafka").propagate = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import kafka.admin
        import kafka.errors
        import kafka.net
        import kafka.net.compat
        import kafka.net.sasl.oauth
        import kafka.protocol.consumer.offsets
        import kafka.structs

    kafka.net.sasl.oauth.AbstractTokenProvider.register(UnsecuredTokens)

    class ClosingSocket(kafka.net.KafkaNetSocket):  # type: ignore[misc]
        """Closes the socket of a connection that was refused, which the library leaves to the garbage collector."""

        SCHEMES = (_SCHEME,)

        async def sock_connect(self, net: Any, sock: socket.socket, *given: Any, **named: Any) -> socket.socket:
            """The socket, connected."""
            try:
                connected: socket.socket = await super().sock_connect(net, sock, *given, **named)
            except BaseException:
                sock.close()
                raise
            return connected

    return kafka


def opened(settings: Settings, *, request_ms: int, bootstrap_ms: int) -> Any:
    """An admin client that has found a broker; what the library raises where it finds none in time."""
    given: dict[str, Any] = {theirs: settings[ours] for ours, theirs in _NAMES.items() if ours in settings}
    if settings.get("ssl.endpoint.identification.algorithm") == "none":
        given["ssl_check_hostname"] = False
    if tokens := tokens_of(settings):
        given["sasl_oauth_token_provider"] = tokens
    connections: list[Any] = []

    def connected(**its: Any) -> Any:
        connections.append(library().net.compat.KafkaNetClient(**its))
        return connections[0]

    try:
        return library().admin.KafkaAdminClient(
            bootstrap_servers=str(settings["bootstrap.servers"]).split(","),
            client_id=str(settings.get("client.id", "streamgauge")),
            request_timeout_ms=request_ms,
            bootstrap_timeout_ms=bootstrap_ms,
            kafka_client=connected,
            proxy_url=f"{_SCHEME}://",
            **given,
        )
    except BaseException:
        # It has a thread before it knows whether anybody answers, which would go on looking.
        for each in connections:
            each.close()
        raise


def leader_of(described: Mapping[str, Any]) -> int | None:
    """The number of the node that leads a quorum that was described; None where there is none now."""
    (topic,) = described["topics"]
    (partition,) = topic["partitions"]
    leader = int(partition["leader_id"])
    return None if leader == _NOBODY else leader
