"""Runs against a modelled broker: what was planted beside what was measured."""
