"""Comparing runs: summaries, tests, intervals and the smallest effect that so many runs could have shown. Pure.

The unit is the run. A figure of a run is one number; messages of one run are not independent of each other, and are
never taken for a sample.
"""
