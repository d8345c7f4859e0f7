"""The logs of topics, read by a plain client."""

from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer

PATIENCE_SECONDS = 15.0


def read_again(bootstrap: str, topics: Sequence[str], at_least: int) -> list[Any]:
    """The messages of topics from their begin on, until there are so many, or no more come."""
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": f"{topics[0]}-read", "auto.offset.reset": "earliest",
    })  # fmt: skip
    consumer.subscribe(list(topics))
    found: list[Any] = []
    while len(found) < at_least and (messages := consumer.consume(10_000, PATIENCE_SECONDS)):
        found += [each for each in messages if not each.error()]
    consumer.close()
    return found
