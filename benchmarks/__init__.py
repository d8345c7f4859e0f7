"""Measurements of the tool itself: each prints its command, its machine, the spread and the comparison in one run."""
