"""What producers send, and when."""

from typing import Literal

from pydantic import Field

from streamgauge.domain import stamp
from streamgauge.domain.payload import PayloadKind
from streamgauge.domain.scenario.values import MAX_SIZE_BYTES, ClientSettings, Part, Rate, Size


class Load(Part):
    """What producers send, and when."""

    rate: Rate = Field(default="10k/s", validate_default=True)
    """Messages a second of all producers together, like `10k/s`; `max` sends as fast as the client takes them."""
    producers: int = Field(default=2, ge=1, le=256, strict=True)
    """Producers, each a process of its own."""
    size: Size = Field(default=512, ge=0, le=MAX_SIZE_BYTES)
    """Bytes of value, at most 100MiB."""
    payload: PayloadKind = "mixed"
    """What the value contains besides the stamp."""
    stamp: Literal["auto", "value", "headers"] = "auto"
    """Where the 40-byte stamp travels; `auto` takes the value, or headers for json and for values below 40 bytes."""
    client: ClientSettings = Field(default={})
    """Settings of the producing client, by librdkafka's names, like `linger.ms`."""

    @property
    def rate_per_second(self) -> float | None:
        """The asked rate; None for `max`."""
        return None if isinstance(self.rate, str) else self.rate

    @property
    def stamped_in_headers(self) -> bool:
        """Whether the stamp travels in a record header."""
        if self.stamp == "auto":
            return self.payload == "json" or self.size < stamp.SIZE
        return self.stamp == "headers"
