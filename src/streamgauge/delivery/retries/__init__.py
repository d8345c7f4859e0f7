"""Retry topics, from which messages that failed come again after a delay: names, headers and decisions, without I/O."""
