"""Experiments: many runs that differ in what is varied, carried out in one go or in several, and answered together."""
