"""Processes of our own: how they end with who started them, and how the two talk."""
