"""Limits that several parts share."""

from typing import Final

MOST_NODES: Final = 7
"""Nodes of an embedded cluster that one machine is asked to run."""
