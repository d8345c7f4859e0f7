"""Scenarios as they are written: their YAML, and single values by their paths."""
