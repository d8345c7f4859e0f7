"""What runs say together: which of them are alike, in what they differ, and how far apart their figures are."""

from streamgauge.report.compare.answers import Together, together

__all__ = ["Together", "together"]
