"""Spark's session: its settings, and who uses it when."""
