"""Brokers of our own: their jars, their nodes, and the embedded broker."""
