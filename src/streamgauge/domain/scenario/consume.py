"""Who reads the topic, and how."""

from typing import Literal

from pydantic import Field

from streamgauge.domain.scenario.values import ClientSettings, Part


class Consume(Part):
    """Who reads the topic."""

    consumers: int = Field(default=2, ge=1, le=256, strict=True)
    """Consumers of one group, each a process of its own."""
    start: Literal["auto", "earliest", "latest"] = "auto"
    """Where the group starts: `latest` is the log end before the load, `earliest` the log start; `auto` is latest, or
    earliest where nothing is produced."""
    client: ClientSettings = Field(default={})
    """Settings of the consuming client, by librdkafka's names, like `fetch.min.bytes`."""
