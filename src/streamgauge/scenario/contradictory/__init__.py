"""Faults that lie between parts of a scenario, each of which is right by itself."""
