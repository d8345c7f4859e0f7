"""Which figures may be believed, and what each can have been without the instrument."""

from typing import Literal

from streamgauge.result.model.base import Number, Section, Text

Trust = Literal["believed", "bounded", "not_believed"]


class FigureTrust(Section):
    """One figure of the result: its value, what it can have been without the instrument's own doing, and whether it may
    be believed.
    """

    value: Number
    """The value, as it stands at its path."""
    low: Number | None
    """The least that it can have been; null where no bound is known."""
    high: Number | None
    """The most that it can have been; null where no bound is known."""
    sample_low: Number | None = None
    """Percentiles: low end of the 95 % interval by chance, see the table `sampling`; null where there is none. It does
    not lower the trust."""
    sample_high: Number | None = None
    """Percentiles: high end of that interval."""
    trust: Trust
    """`believed`: the interval is narrow. `bounded`: it is not, but it is known. `not_believed`: it is too wide, or no
    bound is known."""
    place: Text | None = None
    """Latencies: why it may be this machine's, or this generator's, and not the system's; null where it is not known to
    be. It does not lower the trust."""
    because: list[Text]
    """Why it is not simply believed; empty where it is."""
