"""Markers in a topic of their own acknowledge single messages, as kmq does: formats and decisions, without I/O."""
