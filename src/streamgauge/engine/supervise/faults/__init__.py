"""Faults that are injected into a run: when, into what, and how."""
